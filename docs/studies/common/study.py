"""A study: one function that makes one table, figure or theorem, and what it needs and returns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Final

from common.panels import Panel
from dpsan.embeddings.words import Embeddings
from dpsan.errors import ExtraMissingError, UsageError
from dpsan.mechanisms.registry import space_for
from dpsan.outcomes.calibrate import Draft
from dpsan.outcomes.distributions import Progress
from dpsan.space.metric_space import MetricSpace

ALL: Final = frozenset({"mechanisms", "epsilons", "words", "draws"})


@dataclass(frozen=True)
class Asked:
    """The request; a study uses only some of its fields."""

    mechanisms: Sequence[Draft] = ()
    """Mechanisms to compare; empty: the study's own choice."""
    epsilons: Sequence[float] = ()
    """In the unit of the study; empty: its own grid."""
    words: int | None = None
    """Number of words (0: all); None: the study's default."""
    draws: int | None = None
    """Number of draws; None: the study's default."""
    seed: str = "1"
    """Public key of all draws."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The study's own parameters, as typed; those that were not given are absent."""
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
    """Bounds, and what was left out and why."""
    order: tuple[str, ...] = ()
    """Column names; default those of the first row."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return self.order or tuple(self.rows[0])


@dataclass(frozen=True)
class Study:
    """A function ``(space, asked) -> Result`` and what it takes."""

    name: str
    run: Callable[[Any, Asked], Result]
    source: str
    """Bibliography key and place, or "this project"."""
    least_words: int = 0
    """Least size of the vocabulary (the bundled one by default); 0: none is needed."""
    uses: frozenset[str] = frozenset()
    """Those of ``mechanisms``, ``epsilons``, ``words`` and ``draws`` that it takes."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Its own parameters and their meaning."""
    libraries: tuple[str, ...] = ()
    """Modules of the extra ``evaluate`` that it needs."""

    @property
    def summary(self) -> str:
        """First line of the function's docstring, as a part of a sentence."""
        line = (self.run.__doc__ or "").split("\n")[0].rstrip(".")
        return line[0].lower() + line[1:] if line[1:2].islower() else line

    def make(self, space: MetricSpace | None = None, **fields: Any) -> Result:
        """Run the study.

        Args:
            space: the vocabulary; None where the study does without.
            fields: those of :class:`Asked`.

        Raises:
            UsageError: a vocabulary that is missing or too small, or wrong parameters.
            ExtraMissingError: a library is not installed.
        """
        asked = Asked(**fields)
        if (space.n if space else 0) < self.least_words:
            raise UsageError(f"{self.name} needs a vocabulary of at least {self.least_words} words")
        if not all(map(find_spec, self.libraries)):
            raise ExtraMissingError(self.name, "evaluate")  # before minutes of work
        if space is not None:
            for mechanism in asked.mechanisms:
                space = space_for(space, mechanism.kind.name)
        return self.run(space, asked)


class Studies(dict[str, Study]):
    """The studies of one script by name."""

    def add(self, source: str, **fields: Any) -> Callable[..., Any]:
        """Return a decorator that adds a function under its name, hyphens for underscores."""

        def decorate(function: Callable[[Any, Asked], Result]) -> Callable[[Any, Asked], Result]:
            name = function.__name__.replace("_", "-")
            self[name] = Study(name, function, source, **fields)
            return function

        return decorate
