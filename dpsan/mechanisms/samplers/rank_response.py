"""Integer weights by the rank of an output among the neighbours of the word."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.samplers.base import ByRank, Sampler
from dpsan.mechanisms.tables.neighbour_ranks import RankOrders
from dpsan.privacy.integer_weights import RankWeights
from dpsan.privacy.randomness import Streams
from dpsan.space.arrays import Floats, Ids, blocks
from dpsan.space.metric_space import MetricSpace


class RankResponseSampler(Sampler):
    """Integer weights by rank, the same for every word: the totals cancel.

    Args:
        weights: shape (n,), non-increasing.
        memory: for whole orders and for the nearest words, bytes; see :class:`RankOrders`.
    """

    batch_words = 1 << 20
    makes_rows = True

    def __init__(self, space: MetricSpace, weights: NDArray[np.uint64], **memory: int) -> None:
        self.space = space
        self.weights = weights
        self.orders = RankOrders(space, **memory)
        self._cumulative = np.cumsum(weights)
        self._pmf = weights / self._cumulative[-1]

    @property
    def by_rank(self) -> ByRank:
        return ByRank(self._pmf, self.order)

    def order(self, ids: Ids) -> NDArray[np.int32]:
        """Return all words by rank from each word, shape (m, n)."""
        return self.orders.order(ids)

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        n = self.space.n
        bounds = np.where(ids < n, self._cumulative[-1], np.uint64(n))
        drawn = streams.integers("rank", bounds)
        out = drawn.astype(np.int64)  # ⊥: uniform over the words
        known = np.flatnonzero(ids < n)
        ranks = np.searchsorted(self._cumulative, drawn[known], side="right")
        out[known] = self.orders.words(ids[known], ranks)
        return out

    def probabilities(self, ids: Ids) -> Floats:
        out = np.full((len(ids), self.space.n), 1 / self.space.n)
        known = np.flatnonzero(ids < self.space.n)
        out[known[:, None], self.order(ids[known])] = self._pmf
        return out

    def integer_weights(self) -> RankWeights:

        def rows() -> Iterator[Ids]:
            for ids in blocks(self.space.n, 64):
                yield from self.order(ids).astype(np.int64)

        return RankWeights(self.weights, rows)

    def unchanged(self, ids: Ids) -> Floats:
        """A word is taken to have the first rank from itself."""
        return np.full(len(ids), float(self._pmf[0]))
