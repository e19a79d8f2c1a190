"""Compare mechanisms at the same certified LDP epsilon, on public words or on a user's text.

Every mechanism is set to an epsilon, and its outputs are measured: ``measure.py`` has the texts and
the figures.  Must not know command lines.  Results hold figures only: no word of a text, no label.
"""

import csv
import io
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any, Final

from dpsan.analysis.compare import measure
from dpsan.analysis.evaluate.accuracy import check_extra
from dpsan.analysis.evaluate.pairs import Inputs
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.analysis.pages import Section, Shown, holding
from dpsan.embeddings.words import Embeddings
from dpsan.errors import DpsanError, UnexpectedError, check_name, refuse
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.registry import is_own, mechanism_class, space_for
from dpsan.outcomes.calibrate import Draft, Target, calibrate
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


def drafts(names: Sequence[str] | None, values: Mapping[str, str]) -> list[Draft]:
    """Return the mechanisms to compare; each takes the parameters that it has.

    Args:
        names: default those that are usually compared.

    Raises:
        UsageError: an unknown name, or one twice; a parameter that none of them has; a wrong value.
    """
    usual = [kind.name for kind in MECHANISMS.values() if kind.compared]
    kinds = [mechanism_class(name) for name in names or usual]
    abouts = {key: about for kind in kinds for key, about in kind.parameters().items()}
    for kind in kinds:
        refuse(kinds.count(kind) > 1, f"--mechanism {kind.name} was given twice")
    for key, value in values.items():
        every = ", ".join(kind.name for kind in kinds)
        refuse(not abouts, f"{every}: no parameter besides epsilon")
        check_name(f"parameter of {every}:", key, abouts)
        abouts[key].check(key, abouts[key].parse(key, value))
    return [
        Draft(kind, {key: value for key, value in values.items() if key in kind.parameters()})
        for kind in kinds
    ]


Row = dict[str, Any]
"""A mechanism at an epsilon: a value for each column of CSV and JSON, None where there is none.

``certified`` is at most ``epsilon_ldp``, by up to 0.2 %.  Its source is ``certificate``: an
``exact`` one, the ``guarantee`` or a ``claim``.  ``attack`` is ``optimal`` if the attackers know
the distribution; else their success is a ``lower bound``.  ``reason`` says why there are no
figures.
"""
_UNITS: Final = {"nats": "epsilon_nats", "1/distance": "epsilon_per_distance"}
"""Column of a mechanism's own epsilon, by its unit."""


@dataclass(frozen=True)
class Comparison:
    """All rows, and what they are of."""

    request: Request
    rows: Sequence[Row]
    about: str
    """The texts, in a phrase."""
    baseline: Row | None
    """Accuracies of the texts as they are; None without labels."""

    @property
    def measured(self) -> list[Row]:
        """Return the rows with figures."""
        return [row for row in self.rows if row["reason"] is None]


def compare(*given: Any) -> Comparison:
    """Return all rows of :func:`growing`, whose arguments it takes."""
    *_, comparison = growing(*given)
    return comparison


def growing(
    request: Request,
    embeddings: Embeddings,
    space: MetricSpace,
    report: Report = lambda what, share: None,
) -> Iterator[Comparison]:
    """Measure every mechanism at every epsilon; yield all rows so far after each.

    A mechanism that fails, or cannot be set to an epsilon, gets a row with the reason.

    Raises:
        InputError: the data cannot be read, or holds no words.
        UsageError: labels that cannot be learnt.
        ExtraMissingError: labels are given, and scikit-learn is not installed.
    """
    check_extra(request.labels)
    vocabulary, folds = Vocabulary(embeddings, "unicode"), None
    if request.data is None:
        corpus = measure.public_words(vocabulary, space)
    else:
        corpus = measure.read_corpus(request.data, request.inputs, request.labels, vocabulary)
    if request.labels is not None:
        report("classifiers of the original texts", 0.0)
        folds = measure.Folds(corpus, embeddings.index_to_key, request.seeds)
    rows = []
    baseline = None if folds is None else _spread(folds.baseline())
    pairs = list(product(request.drafts, request.epsilons))
    for at, (draft, epsilon) in enumerate(pairs):
        what, share = f"{draft.kind.name} at LDP epsilon {epsilon:g}", at / len(pairs)

        def step(now: str, what: str = what, share: float = share) -> None:
            report(f"{what} ({now})", share)

        rows.append(_row(draft, epsilon, (corpus, folds, request.seeds), space, step))
        yield Comparison(request, rows, corpus.about, baseline)


def _row(
    draft: Draft,
    epsilon: float,
    texts: tuple[measure.Corpus, measure.Folds | None, int],
    space: MetricSpace,
    step: Callable[[str], None],
) -> Row:
    """Return the figures of a mechanism at an epsilon, or why there are none."""
    step("its own epsilon")
    kind = draft.kind
    status = UNREVIEWED if is_own(kind.name) else str(kind.status)
    columns = ("certified", "certificate", "delta", *_UNITS.values())
    row = {
        **{"mechanism": kind.name, "status": status, "parameters": "", "epsilon_ldp": epsilon},
        **dict.fromkeys(columns),
        **_spread(dict.fromkeys(HEADINGS if texts[1] else [*HEADINGS][:4])),
        **dict.fromkeys(("attack", "reason")),
    }
    space = space_for(space, kind.name)
    try:
        calibration = calibrate(draft, space, Target.EPSILON_LDP, epsilon, step, claims=True)
        step("outputs and attacks")
        mechanism = calibration.mechanism.resolved(space)
        figures, optimal = measure.measure(mechanism, *texts, space)
    except Exception as error:  # noqa: BLE001, a mechanism that fails takes no other one's row
        told = error if isinstance(error, DpsanError) else UnexpectedError(error)
        # The mechanism's name stands beside it.
        return row | {"reason": told.on_command_line().removeprefix(f"{kind.name} ")}
    values = (f"{name}={getattr(mechanism, name)}" for name in mechanism.parameters())
    vouched = "claim" if status == UNREVIEWED else "guarantee"
    return row | {
        "parameters": " ".join(values),
        "certified": calibration.achieved,
        "certificate": "exact" if calibration.exact else vouched,
        "delta": mechanism.guarantee(space).delta,
        _UNITS[mechanism.epsilon_unit]: mechanism.epsilon,
        **_spread(figures),
        "attack": "optimal" if optimal else "lower bound",
    }


HEADINGS: Final = {
    "cosine": "cosine",
    "unchanged": "unchanged",
    "read_back": "read back",
    "linked": "linked",
    **dict(zip(measure.ACCURACIES, ("c→s", "s→c", "s→s"), strict=True)),
}
_ATTACKS: Final = ("read_back", "linked")
_ENDS: Final = ("", "_low", "_high")


def _spread(figures: Mapping[str, measure.Figure | None]) -> dict[str, float | None]:
    """Return columns NAME, NAME_low and NAME_high of each figure."""
    return {
        f"{name}{end}": None if figure is None else value
        for name, figure in figures.items()
        for end, value in zip(_ENDS, figure or (None,) * 3, strict=True)
    }


def as_record(comparison: Comparison) -> dict[str, Any]:
    """Return JSON values."""
    about = {"texts": comparison.about, "seeds": comparison.request.seeds, "confidence": CONFIDENCE}
    about |= {"caption": caption(comparison), "baseline": comparison.baseline}
    return {**about, "rows": comparison.rows}


def as_csv(comparison: Comparison) -> str:
    """Return rows under a header; numbers in full, nothing where there is no value."""
    rows, out = comparison.rows, io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


_TEX: Final = str.maketrans(
    {mark: f"\\{mark}" for mark in "&%_#{}$"}
    | {"±": r"$\pm$", "≥": r"$\ge$", "→": r"$\to$", "⊥": r"$\bot$"}
    | {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}"}
)


def as_latex(comparison: Comparison) -> str:
    """Return a table of LaTeX, with the rules of the package booktabs, that a paper can include."""
    table, rows, notes = shown(comparison), list[str](), list[str]()
    for part in table.parts:
        assert isinstance(part, Section)  # noqa: S101 - made above
        cells = [[text.translate(_TEX) for text in row] for row in [part.columns, *part.texts()]]
        first, *rest = (" & ".join(row) + r" \\" for row in cells)
        rows += [r"\midrule"] * bool(rows) + [first, r"\midrule", *rest]
        notes += [note.translate(_TEX) for note in part.notes]
    told = [table.conclusion.translate(_TEX), *(f"{note}." for note in dict.fromkeys(notes))]
    about = " ".join(told)
    columns = "l" + "r" * first.count(" & ")
    head = [r"% \usepackage{booktabs} in the preamble", r"\begin{table}", r"\centering"]
    head += [rf"\begin{{tabular}}{{{columns}}}"]
    last = [r"\bottomrule", r"\end{tabular}", rf"\caption{{{about}}}", r"\end{table}"]
    return "\n".join([*head, r"\toprule", *rows, *last, ""])


def number(value: float) -> str:
    """Return a share or cosine without its leading zero: ``.231``, ``-.012``, ``1.000``."""
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.3f}"


def cell(row: Row, name: str) -> str:
    """Return ``.231±.004``, the half interval rounded up; ``≥`` before a lower bound.

    ``1.000-.138`` where the interval ends at the value.
    """
    value, low, high = (row[f"{name}{end}"] for end in _ENDS)
    if value is None:
        return "-"
    bound = "≥" * (name in _ATTACKS and row["attack"] != "optimal")
    if low is None:
        return f"{bound}{number(value)}"
    half = math.ceil(max(high - value, value - low) * 1000 - 1e-9) / 1000
    sign = "-" if high <= value else "+" if low >= value else "±"
    return f"{bound}{number(value)}{sign}{number(half)}"


def shown(comparison: Comparison) -> Shown:
    """Return a table for each epsilon, with why mechanisms have no figures below."""
    names = [name for name in HEADINGS if name in comparison.rows[0]]
    parts = []
    for epsilon in dict.fromkeys(row["epsilon_ldp"] for row in comparison.rows):
        rows = [row for row in comparison.rows if row["epsilon_ldp"] == epsilon]
        below = [f"{row['mechanism']}: {row['reason']}" for row in rows if row["reason"]]
        below += [f"{row['mechanism']}: delta {row['delta']:.2g}" for row in rows if row["delta"]]
        cells = [[row["mechanism"], *(cell(row, name) for name in names)] for row in rows]
        columns = (f"LDP epsilon {epsilon:g}", *(HEADINGS[name] for name in names))
        parts.append(Section(columns, cells, below))
    return Shown("", parts, caption(comparison), good=True)


def caption(comparison: Comparison) -> str:
    """Return what the table shows and what its figures leave out, in a few sentences."""
    request, measured = comparison.request, comparison.measured
    unlinked = any(row["linked"] is None for row in measured)
    bounds = any(row["attack"] != "optimal" for row in measured)
    chance = f"the choice of random numbers{' and of test records' * bool(request.labels)}"
    told: dict[str, object] = {
        f"Mechanisms at the same certified LDP epsilon; {comparison.about}.": True,
        f"Means over {request.seeds} seeds ± half of the 95 % interval.": request.seeds > 1,
        f"Intervals cover {chance}, not that of the texts.": request.data,
        "Cosine: mean of word and output.": True,
        "Read back: words that the best guess from one output finds.": True,
        f"Linked: texts found by their first {measure.LINKED} words.": True,
        f"Nothing is linked: fewer than two texts have {measure.LINKED} words.": unlinked,
        "≥: attackers who do not know the distribution; others may do better.": bounds,
    }
    for name, how in {row["mechanism"]: row["certificate"] for row in measured}.items():
        exact = "certified for the distribution that its file states"
        whose = exact if how == "exact" else "claimed"
        told[f"{name}: {UNREVIEWED}; its LDP epsilon is {whose}."] = is_own(name)
    if comparison.baseline:
        clean, common = (cell(comparison.baseline, name) for name in measure.BASELINE)
        what = "accuracy of a classifier trained → tested on clean or sanitized texts"
        most = f"on clean ones {clean}; of always the most frequent label {common}"
        told[f"c→s, s→c, s→s: {what}; {most}."] = True
    return " ".join(holding(told))
