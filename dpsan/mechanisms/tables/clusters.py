"""Clusters of words and the distances of their centroids: public tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.errors import UsageError, fewer_words
from dpsan.space.arrays import Floats, Floats32, Ids, blocks
from dpsan.space.exact_search import FlatIndex
from dpsan.space.metric_space import Arrays, MetricSpace

# Disjoint groups of similar words: a public table.
#
# The first word without a group takes the nearest words without one.  Some of the next words
# without a group are searched at once, further than a group reaches: what the groups before took
# is left out, and where that leaves too few, the search is made again.

_WORK: Final = 5e12
"""Work (2·n²·d/k) up to which groups are made; some two minutes on two cores."""
_FIRSTS: Final = 128
"""First words of groups that are searched at once, at most."""
_COORDINATES: Final = 1 << 23
"""Coordinates of found words that the search holds at once, at most, where k is not too large."""
_WIDER: Final = 4
"""Words found for each of them: so many times what a group takes, as others take some."""
_TAKEN: Final = 0.1
"""Share of the searched words that may be in groups, before only the others are searched."""
_ROWS: Final = 4096


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
    n, row, many, crowded = space.n, 0, _FIRSTS, False
    free = np.ones(n, dtype=np.bool_)
    out = np.full((-(-n // k), k), -1, dtype=np.int32)
    left, index = np.arange(n), space.index
    with space.watch("grouping similar words") as progress:
        while row < len(out):
            firsts = left[free[left]]
            if crowded or len(firsts) < (1 - _TAKEN) * len(left):
                left, index = firsts, space.index  # no longer the copy made before
                index = FlatIndex.over(space.vectors[firsts])
            width = min(_WIDER * k, len(left))
            firsts = firsts[: max(1, min(many, _COORDINATES // (width * space.d)))]
            many = min(2 * many, _FIRSTS)
            found, reached = index.search(space.points(firsts), width)
            found.sort(axis=1)
            for word, near, beyond in zip(firsts, left[found], reached[:, -1], strict=True):
                if not free[word]:
                    continue
                group, last = _nearest(space.vectors, word, near[free[near]], k)
                # Squares in float32 of words beyond are no less than this.
                least = beyond**2 * (1 - (space.d + 8) * 2.0**-23) - space.d * 2.0**-148
                if len(near) < len(left) and not (len(group) == k and last < least):
                    first = word == firsts[0]
                    crowded = first and not free[left].all()
                    if crowded or not first:
                        break  # words near this one were taken: it is searched again
                    group, _ = _nearest(space.vectors, word, left, k)
                    many = 1  # there are too many alike to tell which are the nearest
                out[row, : len(group)] = group
                free[group] = False
                row += 1
            else:
                crowded = False
            if progress is not None:
                progress(row / len(out))
    return out


def _nearest(vectors: Floats32, word: int, rows: Ids, k: int) -> tuple[Ids, float]:
    """Return the k rows nearest to a word, which comes first, of some ascending ones; the last's
    square.

    By squares in float32: for the order only.
    """
    squares = np.empty(len(rows), dtype=np.float32)
    for at in range(0, len(rows), _ROWS):
        apart = vectors[rows[at : at + _ROWS]] - vectors[word]
        np.einsum("nd,nd->n", apart, apart, out=squares[at : at + _ROWS])
    squares[rows == word] = -1.0
    order = np.argsort(squares, kind="stable")[:k]
    return rows[order], float(squares[order[-1]]) if len(order) else 0.0


_BLOCK: Final = 512


@dataclass(frozen=True)
class Clusters:
    """Clusters of the words of a space.

    Args:
        members: rows of each cluster, (clusters, size); -1 where it is short.
    """

    space: MetricSpace
    members: NDArray[np.int32]

    @property
    def n(self) -> int:
        """Return the number of clusters."""
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
