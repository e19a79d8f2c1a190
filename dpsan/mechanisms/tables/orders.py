"""Two-sided geometric noise on the position of a word in a public order, clamped at both ends.

The integers are the distribution: of noise k in either direction W_k (0 <= k <= n-2), and H_k of
noise k and beyond, H_k = W_k + H_{k+1}. An input at position i gives an inner position j with
weight W_|j-i|, the first with H_i and the last with H_{n-1-i}; the total 2·H_0 - W_0 is the same
for every input. W_k <= e^epsilon·W_{k+1} and H_k <= e^epsilon·H_{k+1} hold for the integers
themselves.  Below are the public tables that orders and clusters of words come from.
"""

from decimal import Context, Decimal
from functools import cached_property
from typing import Final

import numpy as np

from dpsan.embeddings.words import shown
from dpsan.errors import UsageError, fewer_words, refuse
from dpsan.mechanisms.tables import Table
from dpsan.privacy.certificate import Certificate, log_ratio
from dpsan.privacy.randomness import Streams
from dpsan.space.arrays import Floats, Ids, Integers, Ints, blocks
from dpsan.space.metric_space import MetricSpace

_LEAST: Final = 1e-12
_TOTAL: Final = 1 << 61
"""About the total of the weights; a draw has 63 bits."""
_BITS: Final = 64
_EXACT: Final = Context(prec=60)


class RankNoise:
    """Integer weights of the noise on n positions.

    Args:
        epsilon: nats per position.
        n: how many positions, >= 1.

    Raises:
        UsageError: an epsilon so small that integers cannot tell it from 0.
    """

    def __init__(self, epsilon: float, n: int) -> None:
        refuse(epsilon < _LEAST, f"epsilon must be >= {_LEAST:g} per position (got {epsilon:g})")
        self.n = n
        # e^-epsilon as a multiple of 2^-64, rounded up: the next weight is never too small.
        unit = 1 << _BITS
        ratio = min(int(_EXACT.exp(-Decimal(epsilon)) * unit) + 1, unit - 1)
        weight = max(_TOTAL * (unit - ratio) // (unit + ratio), 1)
        weights: list[int] = []
        while len(weights) < n - 1:
            weights.append(weight)
            following = -(-weight * ratio >> _BITS)
            if following == weight:  # no smaller whole number will do: the rest are alike
                weights += [weight] * (n - 1 - len(weights))
            weight = following
        # All noise beyond n-2 is one: H_{n-1} >= W_{n-2}·alpha/(1 - alpha), alpha = e^-epsilon.
        rest = -(-weights[-1] * ratio // (unit - ratio)) if weights else 1
        masses = np.array([*weights, rest], dtype=np.uint64)
        self.weights = masses[:-1]
        """W_k, shape (n-1,)."""
        self.cumulative = np.cumsum(masses)
        """Cumulative weights of the noise 0, 1, ... in one direction, (n,); the last is H_0."""
        self.tails = np.cumsum(masses[::-1])[::-1]
        """H_k, shape (n,)."""
        self.total = 2 * int(self.tails[0]) - int(masses[0])

    def rows(self, indices: Ids) -> Integers:
        """Weights of the positions 0 ... n-1 for inputs at positions (m,), shape (m, n)."""
        if self.n == 1:
            return np.ones((len(indices), 1), dtype=np.uint64)
        noise = np.abs(np.arange(self.n) - indices[:, None])
        out = self.weights[np.minimum(noise, self.n - 2)]
        out[:, 0], out[:, -1] = self.tails[indices], self.tails[self.n - 1 - indices]
        return np.asarray(out)

    def moved(self, indices: Ids, drawn: Integers) -> Ids:
        """Noisy positions, (m,), for uniform integers below ``total``."""
        half = self.cumulative[-1]
        down = drawn >= half
        number = np.where(down, drawn - half + self.cumulative[0], drawn)
        noise = np.searchsorted(self.cumulative, number, side="right")
        return np.asarray(np.clip(indices + np.where(down, -noise, noise), 0, self.n - 1))

    @cached_property
    def losses(self) -> tuple[float, float]:
        """Return the largest loss of two positions, and of two that are next to each other;
        exact.
        """
        whole = log_ratio(int(self.tails[0]), int(self.tails[-1]))
        step = 0.0
        for masses in (self.weights, self.tails):
            if len(masses) > 1:
                whole = max(whole, log_ratio(int(masses[0]), int(masses[-1])))
                at = int(np.argmax(masses[:-1] / masses[1:]))
                step = max(step, log_ratio(int(masses[at]), int(masses[at + 1])))
        return whole, step


class RankTable(Table):
    """Position, noise, word: a draw reads the noise and makes no row.

    Args:
        order: rows in order of their position, shape (n,).
    """

    batch_words = 1 << 20

    def __init__(self, space: MetricSpace, order: Ids, noise: RankNoise) -> None:
        self.space, self.order, self.noise = space, order, noise
        n = len(order)
        self.indices = np.empty(n + 1, dtype=np.int64)
        self.indices[order] = np.arange(n)
        self.indices[n] = (n - 1) // 2  # ⊥ is in the middle

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        drawn = streams.integers("place", self.noise.total)
        return self.order[self.noise.moved(self.indices[ids], drawn)]

    def weights(self, ids: Ids) -> Integers:
        out = np.empty((len(ids), len(self.order)), dtype=np.uint64)
        out[:, self.order] = self.noise.rows(self.indices[ids])
        return out

    def certificate(self, key: str) -> Certificate | None:
        """Return the exact loss of all words, and of ⊥ in the middle."""
        whole, step = self.noise.losses
        return Certificate(
            method="exact certificate, integer weights by place",
            epsilon_ldp=whole,
            epsilon_metric=step,
            metric="rank",
            pair=(int(self.order[0]), int(self.order[-1])),
        )


# A public order of a vocabulary along one line, in which near positions are similar words.
#
# An order is a table of public data: how good it is concerns utility alone.

_NEAR: Final = 32
"""Neighbours that are tried before all words that are left."""
_COMPACT: Final = 2048
"""Words placed between two clearings of those that are left."""


def word_order(space: MetricSpace) -> Ids:
    """Return the rows of all words in order of their position, shape (n,); made once per
    vocabulary.

    It begins at the first word and goes on to the nearest word that has no position yet.  Ties go
    by row number.

    Raises:
        UsageError: too many words for their neighbours.
    """
    if not space.eager(space.n):
        raise UsageError(f"the order needs the neighbours of all {space.n} words", space.fewer)
    return space.table("order-greedy-0", lambda: {"order": _greedy(space)})["order"]


def _greedy(space: MetricSpace) -> Ids:
    n = space.n
    near = np.empty((n, min(_NEAR, n)), dtype=np.int32)
    for ids in space.in_blocks("finding near words", n, 4096):
        near[ids] = space.neighbors(ids, near.shape[1])
    free = np.ones(n, dtype=np.bool_)
    left, vectors = np.arange(n), space.vectors
    squares = np.einsum("nd,nd->n", vectors, vectors)
    out, here = np.empty(n, dtype=np.int64), 0
    for index in shown("putting words in order", range(n)):
        out[index], free[here] = here, False
        free_words = near[here][free[near[here]]]
        if len(free_words):
            here = int(free_words[0])
            continue
        if len(left) - (n - index) >= _COMPACT:
            vectors, squares, left = vectors[free[left]], squares[free[left]], left[free[left]]
        apart = squares - 2 * (vectors @ space.vectors[here])  # squared: for the order only
        apart[~free[left]] = np.inf
        here = int(left[np.argmin(apart)]) if len(left) else 0
    return out


# Clusters of words and the distances of their centroids.

# Disjoint groups of similar words: a public table.  The first word without a group takes the
# nearest words without one.

_WORK: Final = 5e11
"""Work (2·n²·d/k) up to which groups are made; some minutes."""
_ROWS: Final = 4096
"""Words that are compared at once: what they need stays in the processor's cache."""


def groups(space: MetricSpace, k: int) -> Ints:
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


def _build(space: MetricSpace, k: int) -> Ints:
    left = np.arange(space.n)
    out = np.full((-(-space.n // k), k), -1, dtype=np.int32)
    for row in shown("grouping similar words", range(len(out))):
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
"""Clusters whose centroids are compared at once."""


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

        def build() -> float:
            parts = self.space.in_blocks("comparing groups", self.n, _BLOCK)
            return max(float(self.apart(part).max()) for part in parts)

        return self.space.number(f"groups-{self.members.shape[1]}-diameter", build)
