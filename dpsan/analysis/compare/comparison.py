"""Set every mechanism to the same certified LDP epsilons and measure the outputs."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, Final

from dpsan.analysis.compare.measure import (
    ACCURACIES,
    LINKED,
    Corpus,
    Figure,
    Folds,
    measure,
    public_words,
    read_corpus,
)
from dpsan.analysis.evaluate.pairs import Inputs
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.analysis.pages.sections import Section, Shown
from dpsan.embeddings.base import Embeddings
from dpsan.errors import DpsanError, ExtraMissingError, UnexpectedError
from dpsan.mechanisms.registry import is_own, space_for
from dpsan.outcomes.calibrate import calibrate
from dpsan.outcomes.calibrate.target import Draft, Target
from dpsan.outcomes.intervals import CONFIDENCE
from dpsan.privacy.guarantee import UNREVIEWED
from dpsan.space.metric_space import MetricSpace

Report = Callable[[str, float], None]
"""Called with what is done now and the share of all work that is done."""


@dataclass(frozen=True)
class Request:
    """Mechanisms, epsilons and texts of one comparison."""

    drafts: Sequence[Draft]
    epsilons: Sequence[float]
    """Certified LDP epsilons, nats."""
    seeds: int = 5
    data: Path | None = None
    """File of texts; None: words of the vocabulary."""
    inputs: Inputs = field(default_factory=Inputs)
    labels: str | None = None
    """Field with the labels of the records."""


@dataclass(frozen=True)
class Row:
    """A mechanism at an epsilon: its figures, or the reason why it has none."""

    mechanism: str
    status: str
    wanted: float
    """LDP epsilon, nats."""
    figures: Mapping[str, Figure | None] = field(default_factory=dict)
    reason: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    certified: float | None = None
    """At most ``wanted``, by up to 0.2 %."""
    exact: bool = False
    """True if an exact certificate gives ``certified``; else the guarantee or a claim does."""
    delta: float = 0.0
    epsilon: float | None = None
    unit: str = ""
    """Unit of ``epsilon``: nats or 1/distance."""
    optimal: bool = True
    """True if the attackers know the distribution; else their success is a lower bound."""

    @property
    def certificate(self) -> str | None:
        """Source of the LDP epsilon: ``exact`` certificate, ``guarantee`` or ``claim``."""
        if self.reason or self.exact:
            return None if self.reason else "exact"
        return "claim" if self.status == UNREVIEWED else "guarantee"


@dataclass(frozen=True)
class Comparison:
    """All rows, and what they are of."""

    request: Request
    rows: Sequence[Row]
    about: str
    """The texts, in a phrase."""
    baseline: Mapping[str, Figure | None]
    """Accuracies of the texts as they are; empty without labels."""

    @property
    def measured(self) -> list[Row]:
        """Return the rows with figures."""
        return [row for row in self.rows if not row.reason]


def compare(
    request: Request,
    embeddings: Embeddings,
    space: MetricSpace,
    report: Report = lambda what, share: None,
) -> Comparison:
    """Measure every mechanism at every epsilon.

    A mechanism that fails, or cannot be set to an epsilon, gets a row with the reason.

    Raises:
        InputError: the data cannot be read, or holds no words.
        UsageError: labels that cannot be learnt.
        ExtraMissingError: labels are given, and scikit-learn is not installed.
    """
    if request.labels is not None and find_spec("sklearn") is None:
        raise ExtraMissingError("--labels", "evaluate")
    vocabulary, folds = Vocabulary(embeddings, "unicode"), None
    if request.data is None:
        corpus = public_words(vocabulary, space)
    else:
        corpus = read_corpus(request.data, request.inputs, request.labels, vocabulary)
    if request.labels is not None:
        report("classifiers of the original texts", 0.0)
        folds = Folds(corpus, embeddings.index_to_key, request.seeds)
    rows = []
    pairs = list(product(request.drafts, request.epsilons))
    for at, (draft, epsilon) in enumerate(pairs):
        report(f"{draft.kind.name} at LDP epsilon {epsilon:g}", at / len(pairs))
        rows.append(_row(draft, epsilon, (corpus, folds, request.seeds), space))
    return Comparison(request, rows, corpus.about, {} if folds is None else folds.baseline())


def _row(
    draft: Draft, epsilon: float, texts: tuple[Corpus, Folds | None, int], space: MetricSpace
) -> Row:
    """Return the figures of a mechanism at an epsilon, or why there are none."""
    kind = draft.kind
    status = UNREVIEWED if is_own(kind.name) else str(kind.status)
    space = space_for(space, kind.name)
    try:
        found = calibrate(draft, space, Target.EPSILON_LDP, epsilon, claims=True)
        mechanism = found.mechanism.resolved(space)
        figures, optimal = measure(mechanism, *texts, space)
    except Exception as error:  # noqa: BLE001, a mechanism that fails takes no other one's row
        told = error if isinstance(error, DpsanError) else UnexpectedError(error)
        # The mechanism's name stands beside it.
        reason = told.on_command_line().removeprefix(f"{kind.name} ")
        return Row(kind.name, status, epsilon, reason=reason)
    return Row(
        mechanism=kind.name,
        status=status,
        wanted=epsilon,
        figures=figures,
        parameters={name: getattr(mechanism, name) for name in mechanism.parameters()},
        certified=found.achieved,
        exact=found.exact,
        delta=mechanism.guarantee(space).delta,
        epsilon=mechanism.epsilon,
        unit=mechanism.epsilon_unit,
        optimal=optimal,
    )


HEADINGS: Final = {
    "cosine": "cosine",
    "unchanged": "unchanged",
    "read_back": "read back",
    "linked": "linked",
    **dict(zip(ACCURACIES, ("c→s", "s→c", "s→s"), strict=True)),
}
_ATTACKS: Final = ("read_back", "linked")


def as_dicts(comparison: Comparison) -> list[dict[str, Any]]:
    """Return all rows with the same columns, each in one unit; None where there is no value."""
    return [
        {
            "mechanism": row.mechanism,
            "status": row.status,
            "parameters": " ".join(f"{name}={each}" for name, each in row.parameters.items()),
            "epsilon_ldp": row.wanted,
            "certified": row.certified,
            "certificate": row.certificate,
            "delta": None if row.reason else row.delta,
            "epsilon_nats": row.epsilon if row.unit == "nats" else None,
            "epsilon_per_distance": row.epsilon if row.unit == "1/distance" else None,
            **_spread({name: row.figures.get(name) for name in _columns(comparison)}),
            "attack": None if row.reason else "optimal" if row.optimal else "lower bound",
            "reason": row.reason or None,
        }
        for row in comparison.rows
    ]


def _columns(comparison: Comparison) -> list[str]:
    """Return the figures that there are."""
    return list(HEADINGS) if comparison.baseline else list(HEADINGS)[:4]


def _spread(figures: Mapping[str, Figure | None]) -> dict[str, float | None]:
    """Return columns NAME, NAME_low and NAME_high of each figure."""
    return {
        f"{name}{end}": None if figure is None else value
        for name, figure in figures.items()
        for end, value in zip(("", "_low", "_high"), figure or (None,) * 3, strict=True)
    }


def as_record(comparison: Comparison) -> dict[str, Any]:
    """Return JSON values."""
    about = {"texts": comparison.about, "seeds": comparison.request.seeds, "confidence": CONFIDENCE}
    baseline, rows = _spread(comparison.baseline) or None, as_dicts(comparison)
    return {**about, "caption": caption(comparison), "baseline": baseline, "rows": rows}


def as_csv(comparison: Comparison) -> str:
    """Return rows under a header; numbers in full, nothing where there is no value."""
    rows, out = as_dicts(comparison), io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def number(value: float) -> str:
    """Return a share or cosine without its leading zero: ``.231``, ``-.012``, ``1.000``."""
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.3f}"


def cell(figure: Figure | None, *, bound: bool = False) -> str:
    """Return ``.231±.004``, the half interval rounded up; ``≥`` before a lower bound."""
    if figure is None:
        return "-"
    half = ""
    if figure.low is not None and figure.high is not None:
        wide = max(figure.high - figure.value, figure.value - figure.low)
        half = "±" + number(math.ceil(wide * 1000 - 1e-9) / 1000)
    return f"{'≥' * bound}{number(figure.value)}{half}"


def shown(comparison: Comparison) -> Shown:
    """Return a table for each epsilon, with the mechanisms that do not reach it below.

    A mechanism's own epsilon stands in the column of its unit, if it is not the LDP epsilon.
    """
    measured, names = comparison.measured, _columns(comparison)
    units = list(dict.fromkeys(row.unit for row in measured if row.epsilon != row.wanted))
    private = any(row.delta for row in measured)
    headings = [*(f"epsilon ({unit})" for unit in units), *["delta"] * private]
    parts = []
    for epsilon in dict.fromkeys(row.wanted for row in comparison.rows):
        rows = [row for row in comparison.rows if row.wanted == epsilon]
        below = [f"{row.mechanism}: {row.reason}" for row in rows if row.reason]
        cells = [
            [
                row.mechanism,
                *(f"{row.epsilon:.4g}" if row.unit == unit else "-" for unit in units),
                *[f"{row.delta:.2g}"] * private,
                *(_cell(row, name) for name in names),
            ]
            for row in rows
            if not row.reason
        ]
        columns = (f"LDP epsilon {epsilon:g}", *headings, *(HEADINGS[name] for name in names))
        parts.append(Section(columns, cells, below, spare=range(1, len(units) + 1)))
    return Shown("", parts, caption(comparison), good=True)


def _cell(row: Row, name: str) -> str:
    return cell(row.figures[name], bound=name in _ATTACKS and not row.optimal)


def caption(comparison: Comparison) -> str:
    """Return what the table shows and what its figures leave out, in a few sentences."""
    request, measured = comparison.request, comparison.measured
    about = [f"Mechanisms at the same certified LDP epsilon; {comparison.about}."]
    if request.seeds > 1:
        about.append(f"Means over {request.seeds} seeds ± half of the 95 % interval.")
    if request.seeds > 1 and request.data is not None:
        folds = " and of test records" if request.labels else ""
        about.append(f"Intervals cover the choice of random numbers{folds}, not that of the texts.")
    about.append("Cosine: mean of word and output.")
    about.append("Read back: words that the best guess from one output finds.")
    about.append(f"Linked: texts found by their first {LINKED} words.")
    if any(row.figures["linked"] is None for row in measured):
        about.append(f"Nothing is linked: fewer than two texts have {LINKED} words.")
    if any(not row.optimal for row in measured):
        about.append("≥: attackers who do not know the distribution; others may do better.")
    for row in {row.mechanism: row for row in measured if row.status == UNREVIEWED}.values():
        whose = "certified for the distribution that its file states" if row.exact else "claimed"
        about.append(f"{row.mechanism}: {UNREVIEWED}; its LDP epsilon is {whose}.")
    if comparison.baseline:
        clean, common = (cell(each) for each in comparison.baseline.values())
        what = "accuracy of a classifier trained → tested on clean or sanitized texts"
        most = f"on clean ones {clean}; of always the most frequent label {common}"
        about.append(f"c→s, s→c, s→s: {what}; {most}.")
    return " ".join(about)
