"""Sparse tables: a public base for every input, and more for a near set of equal mass.

The weight of output u for input w is ``D·b_u + a·x_wu`` with a public base b, ``0 <= x_wu <= b_u``
and a row sum ``X = sum_u x_wu`` that is the same for every w; that of ⊥ is b_u.  With
``(D + a)/D <= e^epsilon`` the distribution is epsilon-LDP, see docs/proofs.md 2.9.

A public word is no output of the base.  It has the weights D·b_u, and X·a on itself: every
probability of an output of the base is at least e^-epsilon times that under any protected input,
with the same total for all words, see docs/proofs.md 2.10.
"""

import hashlib
import math
from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.tables import Table
from dpsan.mechanisms.tables.near_sets import Base, Group, NearSets, near_set, with_floor
from dpsan.privacy.certificate import Certificate, log_ratio
from dpsan.privacy.randomness import Streams
from dpsan.space.metric_space import Floats, Ids, MetricSpace

_BITS: Final = 62
"""Row totals stay below 2^62."""


def integer_increments(epsilon: float, total: int, mass: int) -> tuple[int, int]:
    """Return the integers a and D: (D + a)/D <= e^epsilon, D·total + a·mass < 2^62.

    The ratio is the largest of its denominator, unless the room ends before: then it is smaller.

    Args:
        epsilon: nats.
        total: sum B of the base weights.
    """
    if not epsilon:
        return 0, 1
    with localcontext() as context:
        context.prec = 100
        growth = Decimal(min(epsilon, 60.0)).exp() - 1  # beyond e^60 there is no room
        growth -= growth.scaleb(-90)  # rounded to the nearest; now it is below for sure
        for bits in range(40, -1, -1):
            a = int(growth * (1 << bits))
            if (total << bits) + a * mass < 1 << _BITS:
                return a, 1 << bits
    return ((1 << _BITS) - 1 - total) // mass, 1


def integer_loss(epsilon: float, total: int, mass: int) -> float:
    """Return the exact loss of these integers, rounded up."""
    increment, scale = integer_increments(epsilon, total, mass)
    return log_ratio(scale + increment, scale)


class SparseTable(Table):
    """Draws from the base, or from the word's near set.

    Args:
        base: outputs, their weights, and the mass of near sets.
        epsilon: LDP epsilon in nats, of protected words.
        public: row numbers of public words, ascending; none is in the base.
        euclidean: near by the distance of the space, else by the cosine.
        groups: words that are one input; the near sets of other words are those of ``base``, and
            its weights are raised to what groups need.
    """

    batch_words = 1 << 14

    def __init__(
        self,
        space: MetricSpace,
        base: Base,
        epsilon: float,
        public: tuple[int, ...] = (),
        *,
        euclidean: bool = False,
        groups: tuple[Group, ...] = (),
    ) -> None:
        self.space = space
        self.base = with_floor(base, groups, space.n) if groups else base
        self.public = np.array(public, dtype=np.int64)
        self.increment, self.scale = integer_increments(epsilon, self.base.total, base.mass)
        # Everything that the sets depend on, but vectors and classes: those are the space's.
        content = hashlib.sha256(np.ascontiguousarray(base.words, dtype="<i4").tobytes())
        content.update(np.ascontiguousarray(base.weights, dtype="<i8").tobytes())
        content.update(str(base.mass).encode())
        if public or euclidean:
            content.update(f" {euclidean} ".encode() + self.public.astype("<i8").tobytes())
        if base.favours is not None:
            content.update(b" favours " + base.favours.astype("<f4").tobytes())
        self.key = content.hexdigest()[:32]
        self.near = NearSets(space, base, self.key, self.public, euclidean)
        if groups:
            shared = [near_set(group, self.base, space.n) for group in groups]
            self.near.share([group.rows for group in groups], shared)
        self._first = np.arange(space.n)
        for group in groups:
            self._first[list(group.rows)] = group.rows[0]
        self._draws = np.repeat(self.base.words, self.base.weights)

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        totals = self.totals(ids)
        return self.outputs(ids, streams.integers("response", totals).astype(np.int64))

    def totals(self, ids: Ids) -> NDArray[np.uint64]:
        """Return the sum of the integer weights of each input, shape (m,)."""
        base = np.where(ids < self.space.n, self.scale, 1) * self.base.total
        return np.asarray(base + self._masses(ids), dtype=np.uint64)

    def outputs(self, ids: Ids, drawn: Ids) -> Ids:
        """Return the output of an integer below the total of each input, shape (m,)."""
        more = self._masses(ids)
        inside = drawn < more
        scale = np.where(ids < self.space.n, self.scale, 1)
        number = np.where(inside, drawn // max(self.increment, 1), (drawn - more) // scale)
        out = self._draws[np.where(inside, 0, number)].astype(np.int64)
        out[inside] = self.near.find(ids[inside], number[inside])
        return out

    def _masses(self, ids: Ids) -> Ids:
        """Return the weight that the near set of each input adds; 0 for ⊥."""
        # The set's own mass is added, so the distribution is what the certificate reads.
        listed = ids < self.space.n
        words = ids[listed]
        self.near.make(words)
        out = np.zeros(len(ids), dtype=np.int64)
        out[listed] = self.near.masses(words) * self.increment
        return out

    def weights(self, ids: Ids) -> Ids:
        """Return the integer weights that are sampled, shape (m, n)."""
        out = np.tile(self.common, (len(ids), 1))
        out[ids == self.space.n] //= self.scale
        listed = np.flatnonzero(ids < self.space.n)
        which, outputs, masses = self.near.sets(ids[listed])
        out[listed[which], outputs] += self.increment * masses
        return out

    def unchanged(self, ids: Ids) -> Floats:
        which, outputs, masses = self.near.sets(ids)
        same = self.common[ids]
        itself = outputs == ids[which]
        same[which[itself]] += self.increment * masses[itself]
        return np.asarray(same / self.totals(ids))

    @property
    def common(self) -> Ids:
        """Return the weight that each output has for every input, shape (n,)."""
        out = np.zeros(self.space.n, dtype=np.int64)
        out[self.base.words] = self.scale * self.base.weights
        return out

    def certificate(self, key: str = "") -> Certificate:
        """Return the exact loss over all pairs, from the integers of every word's set.

        A public word is the second input of a pair only.
        """
        n, base, scale = self.space.n, self.base, self.scale
        owners, near, masses = self.entries()
        indices = np.searchsorted(base.words, near)
        sums = np.bincount(owners, masses, minlength=n).astype(np.int64)[self._first]
        sums[self.public] = self.near.masses(self.public)
        # ⊥ is an input whose set is empty: weights D·b, total D·B.
        totals = scale * base.total + self.increment * np.append(sums, 0)
        pairs = set((indices * (n + 1) + owners).tolist())
        inputs_alone = np.append(np.flatnonzero(self._first == np.arange(n)), n)
        ascending = inputs_alone[np.argsort(totals[inputs_alone], kind="stable")]
        every = np.arange(len(base.words))
        # Inputs whose sets lack the output: that of the largest total has the least of it.  What is
        # read of that of the least total is no more than it has; the first of a pair is protected.
        names = ascending[::-1].tolist()
        free = [next(w for w in names if u * (n + 1) + w not in pairs) for u in every.tolist()]
        first = ascending[~np.isin(ascending, self.public)][0]
        owners = np.concatenate([owners, np.full(len(every), first), free])
        indices = np.concatenate([indices, every, every])
        weights = scale * base.weights[indices]
        weights[: len(masses)] += self.increment * masses
        shares = weights / totals[owners]
        order = np.lexsort((shares, indices))
        low = order[np.searchsorted(indices[order], every)]
        order = order[~np.isin(owners[order], self.public)]
        high = order[np.searchsorted(indices[order], every, side="right") - 1]
        worst = int(np.argmax(shares[high] / shares[low]))
        first, second = int(high[worst]), int(low[worst])
        loss = log_ratio(
            int(weights[first]) * int(totals[owners[second]]),
            int(weights[second]) * int(totals[owners[first]]),
        )
        pair = int(owners[first]), int(owners[second])
        same = bool(
            (sums == sums[0]).all() and (masses <= base.weights[indices[: len(masses)]]).all()
        )
        # With equal masses no loss exceeds that of the two integers; else rounding may have chosen.
        slack = 0.0 if same and loss == log_ratio(scale + self.increment, scale) else 1e-12
        return Certificate(
            method="exact certificate, integer base and near sets of all words"
            + (", of protected words against all" if len(self.public) else ""),
            epsilon_ldp=loss + slack,
            pair=pair,
            slack=slack,
        )

    def entries(self) -> tuple[Ids, Ids, Ids]:
        """Return the sets of all protected words, those of a group as the set of its first word:
        word, output, mass.
        """
        alone = np.flatnonzero(self._first == np.arange(self.space.n))
        owners = np.setdiff1d(alone, self.public)
        which, outputs, masses = self.near.sets(owners)
        return owners[which], outputs, masses


# Randomized response on a grid of numbers: the K nearest values of a number, and all others.
#
# Every value of the K nearest has one integer weight, every other value of the grid a smaller one,
# as in knn-response: K and the grid are the same for all numbers of a form, so the total is, and
# the loss of any two of them is at most ln(inside/outside) <= epsilon (docs/proofs.md, 4.4).

FEWEST: Final = 5
"""Values that share the large weight, wherever the grid has as many, as in knn-response."""
_STEPS: Final = 240


class GridResponse(NamedTuple):
    """The distribution on one grid."""

    size: int
    near: int
    """K: values that have the large weight."""
    inside: int
    outside: int

    @property
    def total(self) -> int:
        """Sum of all weights, below 2^62."""
        return self.near * self.inside + (self.size - self.near) * self.outside

    def first(self, value: int) -> int:
        """Return the smallest of the K nearest values."""
        return int(self._firsts(np.array(value)))

    def _firsts(self, values: Ids) -> Ids:
        return np.minimum(np.maximum(values - self.near // 2, 0), self.size - self.near)

    def chosen(self, values: Ids, drawn: Ids) -> Ids:
        """Return the outputs of some values for uniform integers below the total, (m,)."""
        first, threshold = self._firsts(values), self.near * self.inside
        rank = (drawn - threshold) // self.outside
        far = np.where(rank < first, rank, rank + self.near)
        return np.where(drawn < threshold, first + drawn // self.inside, far)


@lru_cache(maxsize=4096)
def grid_response(epsilon: float, size: int, widest: int = 1) -> GridResponse:
    """Return the distribution with the least expected distance on a grid.

    Args:
        epsilon: LDP epsilon in nats, > 0.
        size: values, 2 ... 10^15.
        widest: values of the grid that may be written as one number.
    """
    # With a share s inside, the output is on average s/4 away inside, 1/3 outside, in grids.
    odds = math.exp(min(epsilon, 700.0))
    best, near = math.inf, 1
    for step in range(_STEPS):
        k = max(1, round(size * 2.0 ** (-step / 4)))
        share = k / size
        kept = share / (share + (1 - share) / odds)
        far = kept * share / 4 + (1 - kept) / 3
        if far < best:
            best, near = far, k
    near = min(max(near, FEWEST * widest), size)
    increment, outside = integer_increments(epsilon, size, near)
    return GridResponse(size, near, outside + increment, outside)


def uniform(size: int) -> GridResponse:
    """Return the uniform distribution on a grid."""
    return GridResponse(size, size, 1, 1)


def respond(
    numbers: Sequence[tuple[GridResponse, int]], indices: Ids, streams: Streams
) -> list[int]:
    """Return the outputs of some words of a batch that are numbers.

    Args:
        numbers: the distribution and the value of each.
        indices: index of each in the batch, ascending.
        streams: of all words of the batch.
    """
    members: defaultdict[GridResponse, list[int]] = defaultdict(list)
    for at, (grid, _) in enumerate(numbers):
        members[grid].append(at)
    values = np.array([value for _, value in numbers], dtype=np.int64)
    bounds = np.empty(len(numbers), dtype=np.uint64)
    for grid, rows in members.items():
        bounds[rows] = grid.total
    drawn = streams.integers("number", bounds, indices).astype(np.int64)
    for grid, rows in members.items():
        values[rows] = grid.chosen(values[rows], drawn[rows])
    answers: list[int] = values.tolist()
    return answers
