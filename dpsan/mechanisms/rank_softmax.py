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
    An exact search per word and one per distinct pivot of a batch; a rank in the thousands costs
    about a sort of the vocabulary.
Not to be confused with
    ranks or candidates taken from the true word after adding noise, which has no such guarantee.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np

from dpsan.mechanisms.mechanism import Floats, Ids, MetricSpace, parameter
from dpsan.mechanisms.noise import LaplaceNoise
from dpsan.mechanisms.tables import Projection, nearest
from dpsan.privacy.randomness import Streams

_FIRST: Final = 8
"""Neighbours of a pivot that are searched at first: so few are found fast (dpsan/space)."""
_GROWTH: Final = 2
_HELD: Final = 1 << 22
"""Neighbours held at a time (batch · k)."""


def by_rank(space: MetricSpace, points: Floats, streams: Streams, *, rate: float) -> Ids:
    """Projection of points (m, d): a neighbour of the nearest word by rank, (m,).

    Args:
        rate: by which the logarithm of the weight falls per rank.
    """
    ranks = draw_ranks(streams.uniform("rank")[:, 0], rate, space.n)
    return words_of_rank(space, nearest(space, points, streams), ranks)


def words_of_rank(space: MetricSpace, pivots: Ids, ranks: Ids) -> Ids:
    """Return the word of each rank from each pivot, shape (m,).

    Each pivot is searched once, as far as the next power of two above its highest rank.

    Args:
        pivots: words, not ⊥, shape (m,).
        ranks: 0 ... n - 1, shape (m,).
    """
    out = pivots.copy()
    words, inverse = np.unique(pivots, return_inverse=True)
    highest = np.zeros(len(words), dtype=np.int64)
    np.maximum.at(highest, inverse, ranks)
    low, k = 1, min(_FIRST, space.n)
    while low < space.n:
        group = np.flatnonzero((highest >= low) & (highest < k))
        step = max(1, _HELD // k)
        for at in range(0, len(group), step):
            pivots_now = group[at : at + step]
            near = space.neighbors(words[pivots_now], k)
            tokens = np.flatnonzero(np.isin(inverse, pivots_now))
            out[tokens] = near[np.searchsorted(pivots_now, inverse[tokens]), ranks[tokens]]
        low, k = k, min(_GROWTH * k, space.n)
    return out


def draw_ranks(uniform: Floats, rate: float, n: int) -> Ids:
    """Ranks 0 ... n-1 with P(r) ~ e^(-rate·r), by the inverse of their distribution function."""
    # P(rank < r) = (1 - e^(-rate r)) / (1 - e^(-rate n))
    ranks = np.floor(-np.log1p(-uniform * -np.expm1(-rate * n)) / rate)
    return np.asarray(np.minimum(ranks, n - 1), dtype=np.int64)


class RankSoftmax(LaplaceNoise):
    """Multivariate Laplace noise, nearest word, then a softmax over its neighbour ranks."""

    c: float = parameter(0.04, "decay of the weight per rank", unit="1/epsilon", above=0)

    def projection(self, space: MetricSpace) -> Projection:
        """By the rank among the neighbours of the nearest word."""
        return partial(by_rank, rate=self.c * self.epsilon)
