"""``rank-softmax``: a noisy pivot, then a word drawn by its rank among the pivot's neighbours.

Definition
    Pivot p = word nearest to phi(w) + z, z as in ``laplace``; the output is the word of rank r
    from p (p itself has r = 0, ties by row number) with P(r) proportional to exp(-c·epsilon·r),
    r = 0 ... n-1.
Guarantee
    PROVED: epsilon·d_X for the Euclidean distance; LDP epsilon·diameter, as for ``laplace``.  The
    pivot is a function of the noisy point, and the rank is drawn from a distribution without the
    input. So the output is a randomised function of the noisy point: post-processing.
Proof
    docs/proofs.md 1.2
Source
    [Curse] §7.  The published code ranks the whole vocabulary for every word; here r is drawn first
    (a geometric variable truncated at n, by its inverse) and one neighbour query finds the word.
Parameters
    c: per unit of epsilon, > 0; the authors use 0.04 (GloVe 300d) and 0.007 (word2vec).
Cost
    An exact search per word and one per new pivot; a rank in the thousands costs about a sort of
    the vocabulary.  256 bytes are kept for each pivot, 128 MB at most.
Not to be confused with
    ranks or candidates taken from the true word after adding noise, which has no such guarantee.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dpsan.mechanisms.noise import LaplaceNoise
from dpsan.mechanisms.parameters import parameter
from dpsan.mechanisms.samplers.base import nearest
from dpsan.privacy.randomness import Streams
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import MetricSpace

# The word of a rank among the neighbours of a pivot, for many pivots and ranks at once.
#
# Ranks are small mostly, and the words nearest to noisy points are often the same ones.  So each
# pivot of a batch is searched once, as far as its highest rank, and its nearest neighbours are
# kept. The answers are those of :meth:`MetricSpace.neighbors`, whatever is kept.

_FIRST: Final = 64
"""Neighbours of a pivot that are kept, at most."""
_ROUND: Final = 8
"""Searches go as far as the highest rank that is requested, rounded up: they may serve again.
Those of so few neighbours, which most pivots need, are apart: they are fast (dpsan/space)."""
_GROWTH: Final = 2
_HELD: Final = 1 << 22
"""Neighbours held at a time (batch · k)."""
_KEPT: Final = 1 << 19
"""Pivots of which neighbours are kept, the most frequent ones: 128 MB."""


class PivotRanks:
    """Projection: nearest word, then one of its neighbours by rank.

    Args:
        rate: by which the logarithm of the weight falls per rank.
    """

    def __init__(self, space: MetricSpace, rate: float, kept: int = _KEPT) -> None:
        self.space, self.rate = space, rate
        # Row numbers + 1, 0 where nothing is known.  Pages are taken when they are first written.
        self._rows = np.zeros((min(kept, space.n), min(_FIRST, space.n)), dtype=np.int32)

    def __call__(self, space: MetricSpace, points: Floats, streams: Streams) -> Ids:
        """Return words for noisy points (m, d), shape (m,)."""
        ranks = draw_ranks(streams.uniform("rank")[:, 0], self.rate, space.n)
        return self.words(nearest(space, points, streams), ranks)

    def words(self, pivots: Ids, ranks: Ids) -> Ids:
        """Return the word of each rank from each pivot, shape (m,).

        Args:
            pivots: words, not ⊥, shape (m,).
            ranks: 0 ... n - 1, shape (m,).
        """
        out = np.where(ranks == 0, pivots, -1)
        room, width = self._rows.shape
        near = np.flatnonzero((ranks > 0) & (ranks < width) & (pivots < room))
        out[near] = self._rows[pivots[near], ranks[near]] - 1
        rest = np.flatnonzero(out < 0)
        words, inverse = np.unique(pivots[rest], return_inverse=True)
        highest = np.zeros(len(words), dtype=np.int64)
        np.maximum.at(highest, inverse, ranks[rest])
        low, k = 0, min(_ROUND, width)
        while low < self.space.n:
            group = np.flatnonzero((highest >= low) & (highest < k))
            step = max(1, _HELD // k)
            for at in range(0, len(group), step):
                some = group[at : at + step]
                wide = min(k, _ROUND * (int(highest[some].max()) // _ROUND + 1))
                found = self.space.neighbors(words[some], wide)
                wanted = np.flatnonzero(np.isin(inverse, some))
                rows = np.searchsorted(some, inverse[wanted])
                out[rest[wanted]] = found[rows, ranks[rest[wanted]]]
                kept = words[some] < room
                self._rows[words[some[kept]], :wide] = found[kept, :width] + 1
            low, k = k, min(_GROWTH * k, self.space.n)
        return out

    def __getstate__(self) -> dict[str, Any]:
        return {"space": self.space, "rate": self.rate, "kept": len(self._rows)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        PivotRanks.__init__(self, **state)


def draw_ranks(uniform: Floats, rate: float, n: int) -> Ids:
    """Ranks 0 ... n-1 with P(r) ~ e^(-rate·r), by the inverse of their distribution function."""
    # P(rank < r) = (1 - e^(-rate r)) / (1 - e^(-rate n))
    ranks = np.floor(-np.log1p(-uniform * -np.expm1(-rate * n)) / rate)
    return np.asarray(np.minimum(ranks, n - 1), dtype=np.int64)


class RankSoftmax(LaplaceNoise):
    """Multivariate Laplace noise, nearest word, then a softmax over its neighbour ranks."""

    name = "rank-softmax"
    summary = "Laplace noise, then a neighbour of the nearest word, by rank"
    source = "Curse §7"
    why = "laplace, followed by a random choice that reads only the noisy point"

    c: float = parameter(0.04, "decay of the weight per rank", unit="1/epsilon", above=0)

    def projection(self, space: MetricSpace) -> PivotRanks:
        """By the rank among the neighbours of the nearest word."""
        return PivotRanks(space, self.c * self.epsilon)
