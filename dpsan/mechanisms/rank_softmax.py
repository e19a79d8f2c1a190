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

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from dpsan.mechanisms.laplace_noise import LaplaceNoise
from dpsan.mechanisms.parameters import parameter
from dpsan.mechanisms.samplers.base import nearest
from dpsan.mechanisms.tables.pivot_ranks import PivotRanks
from dpsan.privacy.randomness import Streams
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import MetricSpace


def draw_ranks(uniform: Floats, rate: float, n: int) -> Ids:
    """Ranks 0 ... n-1 with P(r) ~ e^(-rate·r), by the inverse of their distribution function."""
    # P(rank < r) = (1 - e^(-rate r)) / (1 - e^(-rate n))
    ranks = np.floor(-np.log1p(-uniform * -np.expm1(-rate * n)) / rate)
    return np.asarray(np.minimum(ranks, n - 1), dtype=np.int64)


@dataclass(frozen=True)
class SoftmaxRanks:
    """Projection: nearest word, then one of its neighbours by rank."""

    rate: float
    _kept: list[PivotRanks] = field(default_factory=list, repr=False, compare=False)

    def __call__(self, space: MetricSpace, points: Floats, streams: Streams) -> Ids:
        """Return words for noisy points (m, d), shape (m,)."""
        pivots = nearest(space, points, streams)
        ranks = draw_ranks(streams.uniform("rank")[:, 0], self.rate, space.n)
        return self._ranks(space).words(pivots, ranks)

    def _ranks(self, space: MetricSpace) -> PivotRanks:
        """Return the ranks for this space, computed once."""
        if not self._kept or self._kept[0].space is not space:
            self._kept[:] = [PivotRanks(space)]
        return self._kept[0]


class RankSoftmax(LaplaceNoise):
    """Multivariate Laplace noise, nearest word, then a softmax over its neighbour ranks."""

    name = "rank-softmax"
    summary = "Laplace noise, then a neighbour of the nearest word, by rank"
    source = "Curse §7"
    why = "laplace, followed by a random choice that reads only the noisy point"
    tunable: ClassVar[dict[str, tuple[Any, ...]]] = {
        "c": (0.001, 0.002, 0.004, 0.007, 0.01, 0.015, 0.02, 0.03, 0.04, 0.06, 0.1, 0.2, 0.5, 1.0)
    }

    c: float = parameter(
        0.04, "decay of the weight per rank", unit="1/epsilon", low=0, open_low=True
    )

    def projection(self) -> SoftmaxRanks:
        """By the rank among the neighbours of the nearest word."""
        return SoftmaxRanks(self.c * self.epsilon)
