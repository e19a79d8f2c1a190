"""The near set of each word: the outputs most similar to it, up to the same public mass.

That of a public word is the word itself, with all of that mass.
"""

import threading
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from dpsan.embeddings.words import Classes, in_tiers
from dpsan.space.arrays import Array, Floats32, Ids, Ints, directions, favoured, ranking
from dpsan.space.metric_space import MetricSpace

Rows = Ints
Pair = tuple[Classes | None, Classes | None]
"""Public classes of words and of outputs; None: nobody has a class."""

_WIDTH: Final = 16
_USUAL: Final = 3
"""Outputs ranked at first: 16, or as many as have three times the mass if all of the first tier
weigh the same; four times as many for the words whose sets are larger."""
_WORDS: Final = 8192
"""Words whose sets are made at once."""
_MAKING: Final = threading.Lock()
"""Held while sets are made: of no table, as a table is pickled."""


class Base(NamedTuple):
    """A public base distribution in integers."""

    words: Rows
    """The outputs, ascending row numbers, shape (k,)."""
    weights: Ids
    """Their weights b_u >= 1, shape (k,)."""
    mass: int
    """Mass of every near set, 1 ... sum of the weights."""
    favours: Floats32 | None = None
    """Added to products with each output, shape (k,): see ``favoured``."""

    @property
    def total(self) -> int:
        """B, the sum of the weights."""
        return int(self.weights.sum())

    @classmethod
    def even(cls, words: Ids, mass: int) -> "Base":
        """Return the base that gives some words, ascending, the weight 1 each."""
        return cls(words.astype(np.int32), np.ones(len(words), dtype=np.int64), mass)


def fill(
    inputs: Floats32, outputs: Floats32, base: Base, classes: Pair = (None, None)
) -> dict[str, Any]:
    """Near sets of words as sparse rows.

    Outputs are taken tier by tier of the word's class, and within a tier in descending order of
    their product with the word, ties by row number, each with all its weight and the last one with
    what is missing: every row has exactly the base's mass.

    Args:
        inputs: integer directions of words, shape (m, d).
        outputs: integer directions of the base's words, shape (k, d).
        classes: of the words, shape (m,), and of the base's words, shape (k,).

    Returns:
        ``sizes``, shape (m,); and one after the other for all rows ``words`` (row numbers) and
        ``ends`` (cumulative mass within the row).
    """
    m, k = len(inputs), len(outputs)
    sizes = np.zeros(m, dtype=np.int32)
    filled: list[tuple[Ids, Rows, Rows]] = []
    for alike, parts in in_tiers(*classes, m, k):
        pending = alike
        first = base.weights[parts[0]]
        width = max(_WIDTH, _USUAL * len(first) * base.mass // int(first.sum()))
        while len(pending):
            width = min(width, k)
            order = _order(inputs[pending], outputs, width, parts)
            weights = base.weights[order]
            ends = np.cumsum(weights, axis=0)
            used = (ends - weights < base.mass).T
            full = ends[-1] >= base.mass
            used[~full] = False
            sizes[pending] = used.sum(axis=1)
            rows = np.repeat(pending, sizes[pending])
            part = np.minimum(ends, base.mass).T[used]
            filled.append((rows, base.words[order.T[used]], part.astype(np.int32)))
            pending, width = pending[~full], 4 * width
    rows, words, ends = (np.concatenate(column) for column in zip(*filled, strict=True))
    order = np.argsort(rows, kind="stable")
    return _sparse(sizes, words[order], ends[order])


def _sparse(sizes: Array, words: Array, ends: Array) -> dict[str, Any]:
    rows = {"sizes": sizes, "words": words, "ends": ends}
    return {name: column.astype(np.int32) for name, column in rows.items()}


def _order(inputs: Floats32, outputs: Floats32, width: int, parts: list[Ids]) -> Ids:
    """Return positions of outputs, shape (width, m): tier after tier, the best of each first."""
    tiers_ordered: list[Ids] = []
    for tier in parts:
        if width > 0:
            order, _ = ranking(inputs, outputs[tier], min(width, len(tier)))
            tiers_ordered.append(tier[order])
            width -= len(tier)
    return np.concatenate(tiers_ordered)


def _themselves(words: Ids, mass: int) -> dict[str, Any]:
    """Return a set of the word alone for each word, in the form of :func:`fill`."""
    return _sparse(np.ones(len(words)), words, np.full(len(words), mass))


def _classes(space: MetricSpace, words: Ids, outputs: Rows) -> Pair:
    classes = space.classes
    return (None, None) if classes is None else (classes[words], classes[outputs])


def _nearest(space: MetricSpace, ids: Ids, base: Base) -> dict[str, Any]:
    """Return near sets by the distance of the space, for a base of equal weights: tier by tier of a
    word's class.
    """
    k, among = base.mass, base.words
    out = np.empty((len(ids), k), dtype=np.int32)
    for rows, parts in in_tiers(*_classes(space, ids, among), len(ids), len(among)):
        done = 0
        for tier in parts:
            wanted = min(k - done, len(tier))
            if wanted > 0:
                near = space.neighbors(ids[rows], wanted, among[tier])
                out[rows, done : done + wanted] = near
                done += wanted
    ends = np.tile(np.arange(1, k + 1), len(ids))
    return _sparse(np.full(len(ids), k), out.ravel(), ends)


class NearSets:
    """Near sets of all words: from the cache, or made when a word is first met.

    Args:
        key: names the base and what follows, for the cache.
        public: row numbers of public words, ascending.
        euclidean: a base of equal weights 1, near by the distance of the space.
    """

    def __init__(
        self,
        space: MetricSpace,
        base: Base,
        key: str,
        public: Ids | None = None,
        euclidean: bool = False,
    ) -> None:
        self.space, self.base = space, base
        self._euclidean = euclidean
        self._outputs: Floats32 | None = None
        self.starts = np.full(space.n, -1, dtype=np.int64)
        """Offset of the row of each word; -1 if it is not computed yet."""
        self.sizes = np.zeros(space.n, dtype=np.int32)
        self.words = np.empty(0, dtype=np.int32)
        self.ends = np.empty(0, dtype=np.int32)
        self._equal = bool((base.weights == 1).all()) and (public is None or not len(public))
        if public is not None and len(public):
            self._add(public, _themselves(public, base.mass))
        if euclidean and base.mass == 1 and len(base.words) == space.n:
            self._add(np.arange(space.n), _themselves(np.arange(space.n), 1))
        elif space.eager(len(base.words)):
            others = np.flatnonzero(self.starts < 0)
            self._add(others, space.table(f"near-sets-1-{key}", lambda: self._all(others)))

    def _all(self, ids: Ids) -> dict[str, Any]:
        blocks = self.space.in_blocks("finding near words", len(ids), _WORDS)
        parts = [self._made(ids[block]) for block in blocks]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _made(self, ids: Ids) -> dict[str, Any]:
        if self._euclidean:
            return _nearest(self.space, ids, self.base)
        vectors = self.space.vectors
        if self._outputs is None:
            self._outputs = favoured(directions(vectors[self.base.words]), self.base.favours)
        scale = None if self.base.favours is None else 1.0
        inputs = favoured(directions(vectors[ids]), scale)
        classes = _classes(self.space, ids, self.base.words)
        return fill(inputs, self._outputs, self.base, classes)

    def _add(self, ids: Ids, rows: dict[str, Any]) -> None:
        sizes = rows["sizes"]
        first = len(self.words)
        self.words = np.concatenate([self.words, rows["words"]]) if first else rows["words"]
        self.ends = np.concatenate([self.ends, rows["ends"]]) if first else rows["ends"]
        self.sizes[ids] = sizes
        self.starts[ids] = first + np.cumsum(sizes, dtype=np.int64) - sizes

    def share(self, groups: Sequence[Sequence[int]], rows: Sequence[dict[str, Any]]) -> None:
        """Give all words of a group one set, in the form of :func:`fill`, in place of their own."""
        joined = {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}
        self._add(np.array([words[0] for words in groups]), joined)
        for words in groups:
            self.starts[list(words)] = self.starts[words[0]]
            self.sizes[list(words)] = self.sizes[words[0]]
        self._equal = False  # some of the outputs may count in part

    def make(self, ids: Ids) -> None:
        """Make the sets of words (not ⊥) that are missing."""
        if (self.starts[ids] >= 0).all():
            return
        with _MAKING:
            missing = np.flatnonzero(np.bincount(ids[self.starts[ids] < 0]))
            for at in range(0, len(missing), _WORDS):
                part = missing[at : at + _WORDS]
                self._add(part, self._made(part))

    def masses(self, ids: Ids) -> Ids:
        """Return the mass of the sets of words whose sets are made, shape (m,)."""
        return np.asarray(self.ends[self.starts[ids] + self.sizes[ids] - 1], dtype=np.int64)

    def find(self, ids: Ids, numbers: Ids) -> Ids:
        """Return the output at each number below the mass of a word's set, shape (m,)."""
        low = self.starts[ids]
        if self._equal:  # each output of a set has one number
            return np.asarray(self.words[low + numbers], dtype=np.int64)
        high = low + self.sizes[ids] - 1
        for _ in range(int(self.sizes[ids].max(initial=1) - 1).bit_length()):
            middle = (low + high) >> 1
            beyond = self.ends[middle] <= numbers
            low = np.where(beyond, middle + 1, low)
            high = np.where(beyond, high, middle)
        return np.asarray(self.words[low], dtype=np.int64)

    def sets(self, ids: Ids) -> tuple[Ids, Ids, Ids]:
        """Return the sets of words, one after the other: index of the word, output, its mass."""
        self.make(ids)
        sizes = self.sizes[ids].astype(np.int64)
        first = np.cumsum(sizes) - sizes
        at = np.arange(int(sizes.sum())) + np.repeat(self.starts[ids] - first, sizes)
        ends = self.ends[at].astype(np.int64)
        masses = np.diff(ends, prepend=0)
        masses[first] = ends[first]
        return np.repeat(np.arange(len(ids)), sizes), self.words[at].astype(np.int64), masses

    def row(self, word: int) -> tuple[Ids, Ids]:
        """Return the outputs of a word's set, and the mass that each has in it."""
        return self.sets(np.array([word]))[1:]


# Groups of words that are read as one input, and the near set that all words of a group share.
#
# The row of a group is public.  It is filled from inside out: outputs of the group get up to
# e^epsilon times their base weight, then those of its class, then all, until the near set has the
# mass of every other one.  So all ratios of the table stay within e^epsilon, and two words of a
# group have the same distribution: docs/proofs.md 4.7.


class Group(NamedTuple):
    """Words that are read as one input; row numbers, ascending."""

    rows: tuple[int, ...]
    outputs: tuple[int, ...]
    """Outputs of the group, all among ``rows``."""
    related: tuple[int, ...]
    """Outputs of the class of the group, those of the group among them."""


def with_floor(base: Base, groups: tuple[Group, ...], n: int) -> Base:
    """Return a base in which the outputs of each class have the mass of a near set or more.

    Then the near set of a group never leaves its class.  Any public base gives the guarantee.

    Args:
        n: words of the vocabulary.
    """
    weights = np.zeros(n, dtype=np.int64)
    weights[base.words] = base.weights
    for outputs in dict.fromkeys(group.related for group in groups):
        at = np.array(outputs)
        lacking = base.mass - int(weights[at].sum())
        weights[at] += max(0, -(-lacking // len(at)))
    words = np.flatnonzero(weights).astype(np.int32)
    return Base(words, weights[words], base.mass)


def near_set(group: Group, base: Base, n: int) -> dict[str, Any]:
    """Return the near set of a group, in the form of ``near_sets.fill``: mass 0 ... b_u each.

    A ring that has more than the missing mass gives each output its share of it, rounded down; what
    is missing then goes to the outputs of largest weight.

    Args:
        base: one that :func:`with_floor` returned.
    """
    left = np.zeros(n, dtype=np.int64)
    left[base.words] = base.weights
    masses = np.zeros(n, dtype=np.int64)
    missing = base.mass
    for ring in (np.array(group.outputs), np.array(group.related), base.words):
        total = int(left[ring].sum())
        given = left[ring].copy() if total <= missing else left[ring] * missing // total
        order = np.argsort(given - left[ring], kind="stable")  # most weight left first
        short = min(missing, total) - int(given.sum())
        given[order[:short]] += 1
        masses[ring] += given
        left[ring] -= given
        missing -= int(given.sum())
    words = np.flatnonzero(masses)
    return _sparse(np.array([len(words)]), words, np.cumsum(masses[words]))


def words_in_groups(groups: tuple[Group, ...]) -> Ids:
    """Return the row numbers of the words of all groups."""
    return np.array([row for group in groups for row in group.rows], dtype=np.int64)
