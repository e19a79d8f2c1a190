"""What a study is asked for and returns: rows of figures, panels, and what is needed to repeat it.

Knows numbers and labels.  Must not know mechanisms, files or plotting libraries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dpsan.analysis.figures.panels import Panel as Panel
from dpsan.analysis.figures.panels import Series as Series

if TYPE_CHECKING:
    from dpsan.embeddings.base import Embeddings
    from dpsan.outcomes.calibrate.target import Draft
    from dpsan.outcomes.distributions import Progress


@dataclass(frozen=True)
class Asked:
    """What a study is asked for; not every study has a use for all of it."""

    mechanisms: Sequence[Draft] = ()
    """Which to compare; empty: the study's own choice."""
    epsilons: Sequence[float] = ()
    """In the unit of the study; empty: its own grid."""
    words: int | None = None
    """How many words are looked at (0: all); None: the study's default."""
    draws: int | None = None
    """How often; None: the study's default."""
    seed: str = "1"
    """Public key of all draws: studies look at public data only, and are repeatable."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The study's own parameters."""
    embeddings: Embeddings | None = None
    """The words of the vocabulary, for studies that read texts."""
    progress: Progress | None = None
    """Called with the share that is done."""


@dataclass(frozen=True)
class Result:
    """The outcome of a study."""

    rows: Sequence[Mapping[str, Any]]
    """Figures by column, at least one row: the table, the CSV, and ``rows`` of the JSON."""
    parameters: Mapping[str, Any]
    """All that is needed to repeat it: mechanisms, parameters, draws, seed."""
    summary: Mapping[str, Any] = field(default_factory=dict)
    """Single figures, at the top level of the JSON."""
    panels: Sequence[Panel] = ()
    caption: str = ""
    """One or two sentences: what is shown, on which vocabulary, with which parameters."""
    notes: Sequence[str] = ()
    """What a reader must know: bounds, what was left out and why."""
    order: tuple[str, ...] = ()
    """Of the columns; default that of the first row."""
    name: str = ""
    """Of the study, which :func:`dpsan.analysis.study.study` knows."""
    source: str = ""
    """Which table or figure of which paper it is; default: what the list of studies says."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return self.order or tuple(self.rows[0])
