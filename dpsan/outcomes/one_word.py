"""Figures of one word, from its output distribution where that is known, else from draws.

N_w and S_w are those of [Feyisetan20] and [TGumbel].  Close and distant are the shares of [Curse]
section 7: the output is one of the 100 nearest other words, or farther away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from dpsan.outcomes.intervals import Estimate
from dpsan.outcomes.word_statistics import close_words
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import MetricSpace

_ALPHA: Final = 0.01 / 2
"""Error probability of one end of an interval; the two ends together are good for 99 %."""
_DISTINCT: Final = 1000


@dataclass(frozen=True, slots=True)
class Row:
    """Row number of a word, n for ⊥, and its probability."""

    id: int
    probability: Estimate
    distance: float | None = None
    """Distance of an output from the explained word."""


@dataclass(frozen=True, slots=True)
class Figures:
    """See :class:`dpsan.analysis.explain.result.Explanation`."""

    word: int
    exact: bool
    draws: int
    unchanged: Estimate
    close: Estimate | None
    distant: Estimate | None
    distinct: float
    distinct_draws: int
    outputs: tuple[Row, ...]


def from_pmf(space: MetricSpace, word: int, pmf: Floats, top: int) -> Figures:
    """Return the figures of a word whose output distribution is known.

    Args:
        word: row number, n for ⊥.
        pmf: P(u | word) for all outputs, shape (n,).
    """
    # E[S_w] = sum of 1 - (1 - p)^1000; p = 1 has logarithm -inf, and gives 1.
    with np.errstate(divide="ignore"):
        distinct = float(-np.expm1(_DISTINCT * np.log1p(-np.minimum(pmf, 1.0))).sum())
    return _figures(space, word, pmf, 0, top, distinct, _DISTINCT)


def from_draws(space: MetricSpace, word: int, counts: Ids, draws: int, top: int) -> Figures:
    """Return figures of draws, each with its own 99 % Clopper-Pearson interval.

    Args:
        word: row number, n for ⊥.
        counts: counts of all outputs, shape (n,).
        top: number of outputs to list, among those seen.
    """
    # An output of count c is missing from a subset of s draws with probability C(D-c, s)/C(D, s).
    size, seen = min(_DISTINCT, draws), counts[counts > 0]
    missing = [0.0] * (draws + 1)
    for count in np.unique(seen).tolist():
        if count <= draws - size:
            # ln C(D-c, s) - ln C(D, s)
            missing[count] = math.exp(
                math.lgamma(draws - count + 1)
                - math.lgamma(draws - count - size + 1)
                - math.lgamma(draws + 1)
                + math.lgamma(draws - size + 1)
            )
    # E[S_w]: the mean number of distinct outputs over all subsets.
    distinct = float(sum(1 - missing[count] for count in seen.tolist()))
    return _figures(space, word, counts.astype(np.float64), draws, top, distinct, size)


def _figures(
    space: MetricSpace, word: int, weights: Floats, draws: int, top: int, distinct: float, size: int
) -> Figures:
    """Return figures from probabilities (``draws`` 0) or counts of all outputs, shape (n,)."""

    def share(weight: float) -> Estimate:
        if draws:
            return Estimate.of_draws(int(weight), draws, _ALPHA)
        return Estimate.exactly(float(weight))

    # ⊥ is no output, and has no neighbours.
    unchanged, close, distant, distances = Estimate.exactly(0.0), None, None, None
    if word < space.n:
        ids = np.array([word], dtype=np.int64)
        distances = space.distances(ids)[0]
        kept, near = float(weights[word]), float(weights[close_words(space, ids)[0]].sum())
        unchanged, close = share(kept), share(near)
        distant = share(max(0.0, (draws or 1) - kept - near))
    # Heaviest first, equal ones by distance, then by row.
    rows = np.flatnonzero(weights > 0)
    far = np.zeros(len(rows)) if distances is None else distances[rows]
    rows = rows[np.lexsort((rows, far, -weights[rows]))[:top]]
    outputs = tuple(
        Row(row, share(weights[row]), None if distances is None else float(distances[row]))
        for row in rows.tolist()
    )
    return Figures(word, not draws, draws, unchanged, close, distant, distinct, size, outputs)
