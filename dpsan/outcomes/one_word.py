"""The figures of one word: from its law where it is known, else from draws.

Knows samplers and ranks.  Must not know strings or posteriors.

N_w and S_w are those of [Feyisetan20] and [TGumbel]; close and distant are the shares of [Curse]
section 7: the output is one of the 100 nearest other words, or farther than those.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.outcomes.intervals import Estimate
from dpsan.outcomes.near_words import close_words
from dpsan.space.metric_space import MetricSpace

__all__ = ["ALPHA", "Figures", "Row", "estimate", "from_draws", "from_law"]

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

ALPHA: Final = 0.01 / 2
"""Error probability of one end of an interval; the two ends together are good for 99 %."""
_DISTINCT: Final = 1000


@dataclass(frozen=True, slots=True)
class Row:
    """An output by its row number."""

    id: int
    probability: Estimate
    distance: float | None


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


def from_law(space: MetricSpace, word: int, law: Floats, top: int) -> Figures:
    """Figures of an exact law.

    Args:
        space: the vocabulary.
        word: row number, n for ⊥.
        law: P(u | word) for all outputs, shape (n,).
        top: outputs to list.
    """
    distances, shares = _distances(space, word), None
    if word < space.n:
        kept, close = float(law[word]), float(law[close_words(space, np.array([word]))[0]].sum())
        shares = kept, close, max(0.0, 1 - kept - close)
    rows = tuple(
        Row(row, Estimate.exactly(float(law[row])), _at(distances, row))
        for row in _likeliest(law, distances, top)
    )
    # E[S_w] = sum of 1 - (1 - p)^1000; p = 1 has logarithm -inf, and gives 1.
    with np.errstate(divide="ignore"):
        distinct = float(-np.expm1(_DISTINCT * np.log1p(-np.minimum(law, 1.0))).sum())
    estimates = None if shares is None else [Estimate.exactly(each) for each in shares]
    return _figures(word, True, 0, estimates, distinct, _DISTINCT, rows)


def from_draws(space: MetricSpace, word: int, counts: Ids, draws: int, top: int) -> Figures:
    """Figures of draws, with 99 % Clopper-Pearson intervals, each on its own.

    Args:
        space: the vocabulary.
        word: row number, n for ⊥.
        counts: of every output, shape (n,).
        draws: their sum.
        top: outputs to list, among those seen.
    """
    distances, shares = _distances(space, word), None
    if word < space.n:
        kept, close = int(counts[word]), int(counts[close_words(space, np.array([word]))[0]].sum())
        shares = [estimate(hits, draws) for hits in (kept, close, draws - kept - close)]
    rows = tuple(
        Row(row, estimate(int(counts[row]), draws), _at(distances, row))
        for row in _likeliest(counts.astype(np.float64), distances, top)
    )
    size = min(_DISTINCT, draws)
    return _figures(word, False, draws, shares, _distinct(counts, draws, size), size, rows)


def estimate(hits: int, draws: int, alpha: float = ALPHA) -> Estimate:
    """A share with its interval."""
    return Estimate.of_draws(hits, draws, alpha)


def _figures(
    word: int,
    exact: bool,
    draws: int,
    shares: list[Estimate] | None,
    distinct: float,
    distinct_draws: int,
    rows: tuple[Row, ...],
) -> Figures:
    if shares is None:  # ⊥ is no output, and has no neighbours
        never = Estimate.exactly(0.0)
        return Figures(word, exact, draws, never, None, None, distinct, distinct_draws, rows)
    kept, close, distant = shares
    return Figures(word, exact, draws, kept, close, distant, distinct, distinct_draws, rows)


def _distinct(counts: Ids, draws: int, size: int) -> float:
    """Mean number of distinct outputs over all subsets of ``size`` draws: E[S_w], unbiased.

    An output of count c is missing from a subset with probability C(D-c, s)/C(D, s).
    """
    missing = [0.0] * (draws + 1)
    for count in np.unique(counts[counts > 0]).tolist():
        if count <= draws - size:
            # ln C(D-c, s) - ln C(D, s)
            missing[count] = math.exp(
                math.lgamma(draws - count + 1)
                - math.lgamma(draws - count - size + 1)
                - math.lgamma(draws + 1)
                + math.lgamma(draws - size + 1)
            )
    return float(sum(1 - missing[count] for count in counts[counts > 0].tolist()))


def _distances(space: MetricSpace, word: int) -> Floats | None:
    return None if word == space.n else space.distances(np.array([word], dtype=np.int64))[0]


def _at(distances: Floats | None, row: int) -> float | None:
    return None if distances is None else float(distances[row])


def _likeliest(weight: Floats, distances: Floats | None, top: int) -> list[int]:
    """Rows of positive weight, heaviest first, equal ones by distance, then by row."""
    possible = np.flatnonzero(weight > 0)
    far = np.zeros(len(possible)) if distances is None else distances[possible]
    order = np.lexsort((possible, far, -weight[possible]))
    return [int(row) for row in possible[order[:top]]]
