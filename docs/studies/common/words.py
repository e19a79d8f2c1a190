"""Random words, means over them with intervals, and rows as lines of a figure.

Intervals are at 95 %: Clopper-Pearson for shares of independent draws, Student's t for means over
random words.  What is computed from distributions over the whole vocabulary has both limits at the
value.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from common.panels import Series
from dpsan.outcomes.intervals import Estimate
from dpsan.privacy import randomness
from dpsan.space.arrays import Floats, Ids

_TAIL: Final = 0.025
_Row = TypeVar("_Row", bound=Mapping[str, Any])
_AFFORDABLE: Final = 1.2e8
"""Probabilities n² that are computed for one figure over the whole vocabulary: a few seconds."""


def share_of_draws(hits: int, draws: int) -> Estimate:
    """A probability from independent draws."""
    return Estimate.of_draws(hits, draws, _TAIL)


def mean_of_words(
    values: Floats, population: float, bounds: tuple[float, float] = (0.0, 1.0)
) -> Estimate:
    """A mean over a population of words from different random ones of them.

    Args:
        values: one for each word, (m,).
        population: how many words there are; inf where the values are themselves random.
        bounds: of a value.
    """
    m, mean = len(values), float(values.mean())
    if m >= population:
        return Estimate.exactly(mean)
    if m < 2:
        return Estimate(mean, *bounds)
    from scipy.special import stdtrit  # heavy import

    left = 1.0 if math.isinf(population) else (population - m) / (population - 1)
    half = float(stdtrit(m - 1, 1 - _TAIL)) * float(values.std(ddof=1)) * math.sqrt(left / m)
    return Estimate(mean, max(mean - half, bounds[0]), min(mean + half, bounds[1]))


def spread(**estimates: Estimate) -> Mapping[str, float]:
    """Columns NAME, NAME_low and NAME_high of each estimate."""
    return {
        f"{name}{end}": value
        for name, each in estimates.items()
        for end, value in (("", each.value), ("_low", each.low), ("_high", each.high))
    }


def line(
    label: str, rows: Sequence[Mapping[str, Any]], x: str, y: str, style: str = "line"
) -> Series:
    """Columns of rows as a line, with limits where :func:`spread` wrote any but the value.

    Args:
        x: a column, or nothing: the number of the row.
    """
    across = tuple(row[x] if x else float(at) for at, row in enumerate(rows))
    up = tuple(row[y] for row in rows)
    low, high = (tuple(row.get(f"{y}_{end}", row[y]) for row in rows) for end in ("low", "high"))
    if low == high:
        return Series(label, across, up, style=style)
    return Series(label, across, up, low, high, style)


def lines(
    rows: Sequence[Mapping[str, Any]], x: str, y: str, by: str = "mechanism"
) -> tuple[Series, ...]:
    """A line for each mechanism, or each value of another column."""
    return tuple(line(name, own, x, y) for name, own in grouped(rows, by).items())


def below(label: str, values: NDArray[Any]) -> Series:
    """The share of values below each of them, as a line."""
    ordered = tuple(np.sort(values).tolist())
    return Series(label, ordered, tuple(np.linspace(0, 1, len(ordered)).tolist()))


def grouped(rows: Sequence[_Row], column: str) -> dict[Any, list[_Row]]:
    """Rows by the value of a column, in order."""
    out: dict[Any, list[_Row]] = {}
    for row in rows:
        out.setdefault(row[column], []).append(row)
    return out


def whole_words(n: int) -> int:
    """How many words distributions are computed for by default: all, or what is affordable."""
    return n if float(n) * n <= _AFFORDABLE else max(500, int(_AFFORDABLE / n))


def random_words(n: int, count: int, key: bytes) -> Ids:
    """``count`` different words, every set equally likely, ascending; all for 0 or count >= n."""
    if count == 0 or count >= n:
        return np.arange(n)
    order = np.argsort(randomness.streams_for(key, [0], [n]).bits("words")[:, 0], kind="stable")
    return np.sort(order[:count])
