"""Bars of what can become of a word, drawn with matplotlib."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from dpsan.analysis.explain.result import Explanation
from dpsan.analysis.figures.picture import kind_of, render, settings
from dpsan.errors import UsageError, printable
from dpsan.files.atomic_files import check_writable, write_whole

MOST_WORDS: Final = 20
"""Rows of one picture; more can be read nowhere."""
_LONGEST: Final = 24
_SETTINGS: Final[Any] = {
    "svg.fonttype": "none",  # the viewer may have a font for a script that is missing here
    "text.parse_math": False,  # a word may hold dollar signs
    "font.size": 9,
}


def check(path: Path, words: int, *, force: bool) -> None:
    """Complain about what would fail at the end, before the long work.

    Raises:
        UsageError: a wrong suffix, too many words, or matplotlib is missing.
        OutputError: it exists, or cannot be created.
    """
    kind_of(path)
    if words > MOST_WORDS:
        raise UsageError(f"--plot takes at most {MOST_WORDS} words (got {words})")
    check_writable(path, force=force)


def plot(explanations: Sequence[Sequence[Explanation]], path: Path, *, force: bool) -> None:
    """Write one picture: a row for each word, a column for each mechanism.

    Args:
        explanations: for each mechanism, those of the same words, at most 20.
        path: ends in .pdf, .png or .svg.

    Raises:
        OutputError: it cannot be written.
    """
    from matplotlib.figure import Figure  # heavy import

    rows, columns = len(explanations[0]), len(explanations)
    with settings(_SETTINGS), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a font may lack a word's script
        bars = max(1, *(len(each.outputs) for column in explanations for each in column))
        height = rows * (0.24 * bars + 1.0) + 0.4
        figure = Figure(figsize=(max(4.8, 4.2 * columns), height), layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False)
        for axes, words in zip(grid, zip(*explanations, strict=True), strict=True):
            limits = [output.probability.high for word in words for output in word.outputs]
            for one, word in zip(axes, words, strict=True):
                _bars(one, word, bars, max(limits, default=1.0))
        data = render(figure, kind_of(path), dpi=150)
    write_whole(path, data, force=force)


def _bars(axes: Any, each: Explanation, bars: int, highest: float) -> None:
    """One word, one mechanism: horizontal bars, the likeliest on top."""
    shares = [output.probability for output in each.outputs]
    values, positions = [share.value for share in shares], list(range(len(shares)))
    colors = ["#b3560f" if o.word == each.input else "#4878a8" for o in each.outputs]
    errors = None
    if not each.exact:
        errors = [[p.value - p.low for p in shares], [p.high - p.value for p in shares]]
    axes.barh(
        positions, values, color=colors, xerr=errors, height=0.75, ecolor="#555555", capsize=1.5
    )
    axes.set_yticks(positions, [_short(output.word) for output in each.outputs])
    axes.set_ylim(bars - 0.5, -0.5)
    axes.set_xlim(0, highest * 1.08 or 1)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel("probability of the output (orange: the word itself)", fontsize=8)
    ldp = "none" if each.epsilon_ldp is None else f"{each.epsilon_ldp:.4g}"
    name = "NOT PROTECTED; other words" if each.public else each.guarantee.loss_name
    how = "exact distribution" if each.exact else f"{each.draws:,} draws, 99 % intervals"
    title = (
        f"{_short(each.word)} → {each.mechanism.name}\n"
        f"epsilon {each.mechanism.epsilon:.4g} {each.mechanism.unit_label()}, {name} {ldp}\n"
        f"unchanged {each.unchanged.value:.3f}; {how}"
    )
    axes.set_title(title, fontsize=8, loc="left")


def _short(word: str) -> str:
    shown = printable(word)
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"
