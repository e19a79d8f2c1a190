"""A cluster of words by its centroid, then a word of it: two draws, each from integer weights."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal
from functools import cached_property
from typing import Final, cast

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.samplers.base import RowSampler, Sampler
from dpsan.privacy.randomness import Streams
from dpsan.space.arrays import Floats, Ids, Integers, blocks
from dpsan.space.metric_space import Arrays, MetricSpace

_BLOCK: Final = 512
_EXACT: Final = Context(prec=60)


@dataclass(frozen=True)
class Clusters:
    """Clusters of the words of a space, and the scores of clusters.

    Args:
        members: rows of each cluster, (clusters, size); -1 where it is short.
        factor: nats per unit of distance between centroids.
    """

    space: MetricSpace
    members: NDArray[np.int32]
    factor: float = 0.0

    @property
    def n(self) -> int:
        """Return the number of clusters: those are the outputs of a :class:`RowSampler`."""
        return len(self.members)

    @cached_property
    def order(self) -> Ids:
        """Return all words, cluster by cluster, (n,)."""
        return self.members[self.members >= 0].astype(np.int64)

    @cached_property
    def sizes(self) -> Ids:
        """Return words of each cluster, (clusters,)."""
        return np.asarray((self.members >= 0).sum(axis=1))

    @cached_property
    def starts(self) -> Ids:
        """Return the offset of each cluster in ``order``, shape (clusters,)."""
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def of(self) -> Ids:
        """Return the cluster of each input, (n + 1,); ⊥ has the number of clusters."""
        out = np.full(self.space.n + 1, self.n, dtype=np.int64)
        out[self.order] = np.repeat(np.arange(self.n), self.sizes)
        return out

    @cached_property
    def centroids(self) -> Floats:
        """Means of the members, (clusters, d)."""
        sums = np.empty((self.n, self.space.d))
        for some in blocks(self.n, _BLOCK):
            words = self.members[some][self.members[some] >= 0]
            starts = self.starts[some] - self.starts[some[0]]
            sums[some] = np.add.reduceat(self.space.vectors[words].astype(np.float64), starts)
        return sums / self.sizes[:, None]

    def apart(self, clusters: Ids) -> Floats:
        """Distances of centroids (m,) from all, (m, clusters)."""
        from scipy.spatial.distance import cdist  # heavy import

        return np.asarray(cdist(self.centroids[clusters], self.centroids))

    def diameter(self) -> float:
        """Return the largest distance of two centroids."""

        def build() -> Arrays:
            found: list[float] = []

            def compare(some: Ids) -> None:
                found.append(float(self.apart(some).max()))

            self.space.by_blocks("comparing groups", self.n, _BLOCK, compare)
            return {"diameter": np.array([max(found)])}

        name = f"groups-{self.members.shape[1]}-diameter"
        return float(self.space.table(name, build)["diameter"][0])

    def __call__(self, clusters: Ids) -> Floats:
        """Scores of clusters (m,) against all, (m, clusters)."""
        return self.apart(clusters) * self.factor


class ClusterResponseSampler(Sampler):
    """The cluster by the distance of its centroid, the word by its distance within the cluster.

    Distances from a word to the members of a cluster are moved and scaled to 0 ... 1, t; the
    weights floor(S·e^(-half·t)) are never below the whole number above S·e^(-half).  ⊥ gives a
    uniform cluster and a uniform word of it.

    Args:
        half: nats between the nearest and the farthest word of a cluster.
    """

    def __init__(self, space: MetricSpace, clusters: Clusters, half: float) -> None:
        self.space, self.clusters, self.half = space, clusters, half
        self.outer = RowSampler(cast(MetricSpace, clusters), clusters)
        top = 62 - max(int(clusters.sizes.max()) - 1, 1).bit_length()
        self.top = 1 << top
        self.least = max(int(_EXACT.exp(-Decimal(half)) * self.top) + 1, 1)
        if self.least > self.top:
            self.least = self.top

    def weights(self, apart: Floats, nearest: Floats, farthest: Floats) -> Integers:
        """Weights of words of a cluster from their distances and the extremes there."""
        span = farthest - nearest
        share = np.where(span > 0, (apart - nearest) / np.where(span > 0, span, 1.0), 0.0)
        found = np.exp(-self.half * np.clip(share, 0.0, 1.0)) * self.top
        return np.maximum(found.astype(np.uint64), np.uint64(self.least))

    def within(self, ids: Ids, clusters: Ids) -> tuple[Integers, Ids]:
        """Weights of the members of one cluster for each word, (m, size); 0 where it is short."""
        lattice = self.space.lattice
        size = self.clusters.members.shape[1]
        indices = self.clusters.starts[clusters][:, None] + np.arange(size)
        real = np.arange(size) < self.clusters.sizes[clusters][:, None]
        indices = np.where(real, indices, self.clusters.starts[clusters][:, None])
        # Integers below 2^53: exact whatever the order of the sums, as in space.distances.
        words = self.clusters.order[indices]
        right = lattice.rows_of(words.ravel()).reshape(*words.shape, -1)
        squares = np.einsum("md,mkd->mk", lattice.left(ids), right)
        apart = np.sqrt(squares) * lattice.unit
        nearest = np.where(real, apart, np.inf).min(axis=1, keepdims=True)
        farthest = np.where(real, apart, -np.inf).max(axis=1, keepdims=True)
        weights = self.weights(apart, nearest, farthest)
        weights[ids >= self.space.n] = 1
        return np.where(real, weights, np.uint64(0)), words

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        clusters = self.outer.sample(self.clusters.of[ids], streams)
        size = self.clusters.members.shape[1]
        sums = np.empty((len(ids), size), dtype=np.uint64)
        words = np.empty((len(ids), size), dtype=np.int64)
        for at in range(0, len(ids), _BLOCK):
            part = slice(at, at + _BLOCK)
            weights, words[part] = self.within(ids[part], clusters[part])
            np.cumsum(weights, axis=1, out=sums[part])
        drawn = streams.integers("member", sums[:, -1] if size else 1)
        index = (sums <= drawn[:, None]).sum(axis=1)
        return np.asarray(words[np.arange(len(ids)), index])

    def log_pmf(self, ids: Ids) -> Floats:
        """Logarithms of the probabilities of inputs (⊥ allowed) for all outputs, (m, n)."""
        clusters, order = self.clusters, self.clusters.order
        outer = self.outer.weights(clusters.of[ids]).astype(np.float64)
        outer = np.log(outer) - np.log(outer.sum(axis=1, keepdims=True))
        apart = self.space.distances(ids)[:, order]
        nearest = np.minimum.reduceat(apart, clusters.starts, axis=1)
        farthest = np.maximum.reduceat(apart, clusters.starts, axis=1)
        each = np.repeat(np.arange(clusters.n), clusters.sizes)
        weights = self.weights(apart, nearest[:, each], farthest[:, each])
        weights[ids >= self.space.n] = 1
        totals = np.add.reduceat(weights, clusters.starts, axis=1)
        shares = outer - np.log(totals.astype(np.float64))
        out = np.empty_like(apart)
        out[:, order] = np.log(weights.astype(np.float64)) + shares[:, each]
        return out

    def probabilities(self, ids: Ids) -> Floats:
        return np.exp(self.log_pmf(ids))
