"""Clusters of words and the distances of their centroids: public tables."""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.base import shown
from dpsan.errors import UsageError, fewer_words
from dpsan.space.arrays import Floats, Ids, blocks
from dpsan.space.metric_space import Arrays, MetricSpace

# Disjoint groups of similar words: a public table.  The first word without a group takes the
# nearest words without one.

_WORK: Final = 5e11
"""Work (2·n²·d/k) up to which groups are made; some minutes."""
_ROWS: Final = 4096
"""Words that are compared at once: what they need stays in the processor's cache."""


def groups(space: MetricSpace, k: int) -> NDArray[np.int32]:
    """Return the groups, shape (ceil(n/k), k), nearest to the first word first; -1 where a row is
    short.

    Raises:
        UsageError: too many words.
    """
    if 2.0 * space.n**2 / k * space.d > _WORK:
        raise UsageError(
            f"too many words for groups of {k} similar words",
            fewer_words((_WORK * k / (2 * space.d)) ** 0.5),
        )
    return space.table(f"groups-{k}", lambda: {"groups": _build(space, k)})["groups"]


def _build(space: MetricSpace, k: int) -> NDArray[np.int32]:
    left = np.arange(space.n)
    out = np.full((-(-space.n // k), k), -1, dtype=np.int32)
    for row in shown(space.watch, "grouping similar words", range(len(out))):
        squares = np.empty(len(left), dtype=np.float32)  # for the order only
        for at in range(0, len(left), _ROWS):
            apart = space.vectors[left[at : at + _ROWS]] - space.vectors[left[0]]
            np.einsum("nd,nd->n", apart, apart, out=squares[at : at + _ROWS])
        squares[0] = -1.0
        group = np.argsort(squares, kind="stable")[:k]
        out[row, : len(group)] = left[group]
        left = np.delete(left, group)
    return out


_BLOCK: Final = 512


class Clusters:
    """Clusters of the words of a space.

    Args:
        k: words of a cluster.

    Raises:
        UsageError: too many words.
    """

    def __init__(self, space: MetricSpace, k: int) -> None:
        self.space = space
        self.members = groups(space, min(k, space.n))
        """Rows of each cluster, (clusters, size); -1 where it is short."""
        self.n = len(self.members)
        """Number of clusters."""
        self.order = self.members[self.members >= 0].astype(np.int64)
        """All words, cluster by cluster, (n,)."""
        self.sizes: Ids = (self.members >= 0).sum(axis=1)
        """Words of each cluster, (clusters,)."""
        self.starts = np.cumsum(self.sizes) - self.sizes
        """Offset of each cluster in ``order``, shape (clusters,)."""
        self.of = np.full(space.n + 1, self.n)
        """Cluster of each input, (n + 1,); ⊥ has the number of clusters."""
        self.of[self.order] = np.repeat(np.arange(self.n), self.sizes)

    @cached_property
    def centroids(self) -> Floats:
        """Means of the members, (clusters, d)."""
        sums = np.empty((self.n, self.space.d))
        for block in blocks(self.n, _BLOCK):
            words = self.members[block][self.members[block] >= 0]
            starts = self.starts[block] - self.starts[block[0]]
            sums[block] = np.add.reduceat(self.space.vectors[words].astype(np.float64), starts)
        return np.asarray(sums / self.sizes[:, None])

    def apart(self, clusters: Ids) -> Floats:
        """Distances of centroids (m,) from all, (m, clusters)."""
        from scipy.spatial.distance import cdist  # heavy import

        return np.asarray(cdist(self.centroids[clusters], self.centroids))

    def diameter(self) -> float:
        """Return the largest distance of two centroids."""

        def build() -> Arrays:
            parts = self.space.in_blocks("comparing groups", self.n, _BLOCK)
            return {"diameter": np.array([max(float(self.apart(part).max()) for part in parts)])}

        name = f"groups-{self.members.shape[1]}-diameter"
        return float(self.space.table(name, build)["diameter"][0])
