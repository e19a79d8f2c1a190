"""A comparison as rows of numbers, as cells of a table, as CSV, LaTeX and panels of a picture."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from dpsan.analysis.compare.comparison import Comparison, Row
from dpsan.analysis.compare.measure import Figure
from dpsan.analysis.compare.texts import LINKED
from dpsan.analysis.figures.panels import Panel, Series
from dpsan.errors import printable
from dpsan.privacy.guarantee import UNREVIEWED

HEADINGS: Final = {
    "cosine": "cosine",
    "unchanged": "unchanged",
    "read_back": "read back",
    "linked": "linked",
    "clean_to_sanitized": "c→s",
    "sanitized_to_clean": "s→c",
    "sanitized_to_sanitized": "s→s",
}
MEANING: Final = (
    "cosine: mean of word and output; read back: words that the best guess from one output finds; "
    f"linked: texts found by their first {LINKED} words"
)
_ACCURACIES: Final = (
    "c→s, s→c, s→s: accuracy of a classifier trained → tested on clean or sanitized texts"
)
_ATTACKS: Final = ("read_back", "linked")


def meaning(comparison: Comparison) -> str:
    """Return what the columns are, in a sentence."""
    return f"{MEANING}; {_ACCURACIES}" if comparison.baseline else MEANING


def as_dicts(comparison: Comparison) -> list[dict[str, Any]]:
    """Return all rows with the same columns, each in one unit; None where there is no value."""
    return [
        {
            "mechanism": row.mechanism,
            "status": row.status,
            "parameters": " ".join(f"{name}={each}" for name, each in row.parameters.items()),
            "epsilon_ldp": row.wanted,
            "certified": row.certified,
            "certificate": _certificate(row),
            "delta": None if row.reason else row.delta,
            "epsilon_nats": row.epsilon if row.unit == "nats" else None,
            "epsilon_per_distance": row.epsilon if row.unit == "1/distance" else None,
            **_spread({name: row.figures.get(name) for name in _columns(comparison)}),
            "attack": None if row.reason else "optimal" if row.optimal else "lower bound",
            "reason": row.reason or None,
        }
        for row in comparison.rows
    ]


def _certificate(row: Row) -> str | None:
    """Return what says that the LDP epsilon holds."""
    if row.reason:
        return None
    other = "claim" if row.status == UNREVIEWED else "guarantee"
    return "exact" if row.exact else other


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
    return {
        "texts": comparison.about,
        "seeds": comparison.seeds,
        "confidence": 0.95,
        "baseline": _spread(comparison.baseline) or None,
        "notes": list(comparison.notes),
        "rows": as_dicts(comparison),
    }


def as_csv(comparison: Comparison) -> str:
    """Return rows under a header; numbers in full, nothing where there is no value."""
    rows, out = as_dicts(comparison), io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def number(value: float, digits: int = 3) -> str:
    """Return a share or cosine without its leading zero: ``.231``, ``-.012``, ``1.000``."""
    return f"{value:.{digits}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.{digits}f}"


def cell(figure: Figure | None, *, bound: bool = False) -> str:
    """Return ``.231±.004``, the half interval rounded up; ``≥`` before a lower bound."""
    if figure is None:
        return "-"
    half = ""
    if figure.low is not None and figure.high is not None:
        wide = max(figure.high - figure.value, figure.value - figure.low)
        half = "±" + number(math.ceil(wide * 1000 - 1e-9) / 1000)
    return f"{'≥' * bound}{number(figure.value)}{half}"


class Group(NamedTuple):
    """The rows of one epsilon."""

    epsilon: float
    """LDP epsilon, nats."""
    rows: list[list[str]]
    """Cells of the mechanisms that reach it."""
    reasons: list[tuple[str, str]]
    """The other mechanisms, and why they have no figures."""


def table(comparison: Comparison) -> tuple[list[str], list[Group]]:
    """Return the headings, and the rows by epsilon.

    A mechanism's own epsilon stands in the column of its unit, if it is not the LDP epsilon.
    """
    measured = [row for row in comparison.rows if not row.reason]
    units = list(dict.fromkeys(row.unit for row in measured if row.epsilon != row.wanted))
    private = any(row.delta for row in measured)
    names = _columns(comparison)
    headings = ["mechanism", *(f"epsilon ({unit})" for unit in units), *["delta"] * private]
    groups = []
    for epsilon in dict.fromkeys(row.wanted for row in comparison.rows):
        own = [row for row in comparison.rows if row.wanted == epsilon]
        rows = [
            [
                row.mechanism,
                *(f"{row.epsilon:.4g}" if row.unit == unit else "-" for unit in units),
                *[f"{row.delta:.2g}"] * private,
                *(_cell(row, name) for name in names),
            ]
            for row in own
            if not row.reason
        ]
        groups.append(Group(epsilon, rows, [(r.mechanism, r.reason) for r in own if r.reason]))
    return [*headings, *(HEADINGS[name] for name in names)], groups


def _cell(row: Row, name: str) -> str:
    return cell(row.figures[name], bound=name in _ATTACKS and not row.optimal)


_ESCAPES: Final = {
    **{each: f"\\{each}" for each in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"{\char34}",
    "±": r"$\pm$",
    "≥": r"$\geq$",
    "→": r"$\rightarrow$",
}


def escaped(text: str) -> str:
    """Return text that LaTeX prints as it stands; characters that its fonts lack become ``?``."""
    known = (
        _ESCAPES.get(each, each if each.isascii() and each.isprintable() else "?") for each in text
    )
    return "".join(known).replace("--", "-{}-")


def as_latex(comparison: Comparison, command: str) -> str:
    """Return a table for booktabs, with the command that made it in a comment."""
    headings, groups = table(comparison)
    width = len(headings)
    lines = [f"% {printable(command)}", r"% needs \usepackage{booktabs}", r"\begin{table}"]
    lines += [
        r"\centering\footnotesize\setlength{\tabcolsep}{4pt}",
        rf"\begin{{tabular}}{{l{'r' * (width - 1)}}}",
        r"\toprule",
    ]
    lines.append(_latex_row(map(escaped, headings)))
    for group in groups:
        epsilon = rf"LDP $\varepsilon = {group.epsilon:g}$"
        lines += [r"\midrule", _latex_row([rf"\multicolumn{{{width}}}{{l}}{{{epsilon}}}"])]
        for name, *cells in group.rows:
            lines.append(_latex_row([escaped(name), *map(_latex_number, cells)]))
        for name, reason in group.reasons:
            wide = rf"\multicolumn{{{width - 1}}}{{p{{.6\linewidth}}}}"
            lines.append(_latex_row([escaped(name), rf"{wide}{{\raggedright {escaped(reason)}}}"]))
    lines += [r"\bottomrule", r"\end{tabular}"]
    lines.append(rf"\caption{{{escaped(caption(comparison))}}}")
    return "\n".join([*lines, r"\end{table}", ""])


def _latex_number(cell: str) -> str:
    """Return a cell in math mode, its half interval as a subscript."""
    value, _, half = cell.replace("≥", r"{\geq}").partition("±")
    if not any(map(str.isdigit, value)):
        return value
    return f"${value}_{{\\pm {half}}}$" if half else f"${value}$"


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def caption(comparison: Comparison) -> str:
    """Return what the table shows, in a few sentences."""
    about = [f"Mechanisms at the same certified LDP epsilon; {comparison.about}."]
    if comparison.seeds > 1:
        about.append(f"Means over {comparison.seeds} seeds ± half of the 95 % interval.")
    about.append(f"{meaning(comparison)}.")
    others = [row for row in comparison.rows if row.status == UNREVIEWED and not row.reason]
    for row in {row.mechanism: row for row in others}.values():
        whose = "certified for the distribution that its file states" if row.exact else "claimed"
        about.append(f"{row.mechanism}: {UNREVIEWED}; its LDP epsilon is {whose}.")
    about += [f"Texts as they are: {baseline(comparison)}."] if comparison.baseline else []
    return " ".join(about)


def baseline(comparison: Comparison) -> str:
    """Return the accuracies that need no mechanism."""
    clean, common = comparison.baseline["clean_to_clean"], comparison.baseline["majority"]
    return f"accuracy {cell(clean)}; always the most frequent label {cell(common)}"


def panels(comparison: Comparison) -> tuple[Panel, ...]:
    """Return utility and attack over epsilon, and utility against attack."""
    axes = {"cosine": "mean cosine of word and output", "read_back": "share of words read back"}
    if comparison.baseline:
        axes["sanitized_to_sanitized"] = "accuracy, trained and tested on outputs"
    rows: dict[str, list[Row]] = {}
    for row in comparison.rows:
        if not row.reason:
            rows.setdefault(row.mechanism, []).append(row)
    over = [
        Panel(
            HEADINGS[each],
            "certified LDP epsilon (nats)",
            label,
            tuple(_line(name, own, lambda row: row.wanted, each) for name, own in rows.items()),
        )
        for each, label in axes.items()
    ]
    against = tuple(
        _line(name, own, lambda row: _known(row, "read_back").value, "cosine")
        for name, own in rows.items()
    )
    return (*over, Panel("cosine by read back", axes["read_back"], axes["cosine"], against))


def _known(row: Row, name: str) -> Figure:
    """Return a figure that every row has."""
    return row.figures[name] or Figure(math.nan)


def _line(name: str, rows: Sequence[Row], x: Callable[[Row], float], y: str) -> Series:
    found = [_known(row, y) for row in rows]
    values = tuple(each.value for each in found)
    low = tuple(each.value if each.low is None else each.low for each in found)
    high = tuple(each.value if each.high is None else each.high for each in found)
    return Series(name, tuple(map(x, rows)), values, low, high)
