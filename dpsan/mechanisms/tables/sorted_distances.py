"""All words in order of distance from some words: exact, and sorted no further than requested.

The order is that of :meth:`MetricSpace.distances`, ties by row number, the word itself first.  A
distance becomes a key of 16 bits by a map that never decreases, so a counting sort puts a row of n
words in order in a fraction of the time of a comparison sort, and only words that share a key are
left undecided: they stand together, and their distances decide.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.space.arrays import Ids
from dpsan.space.lattice import Lattice

_LEVELS: Final = 65_534
"""Keys of other words are 1 ... 65,535; 0 is the word itself."""
_HALF: Final = 6
"""Words compared on either side of a position, per 2^15 words; more where more share a key."""


def index_type(n: int) -> np.dtype[Any]:
    """Return the smallest type for row numbers of n words."""
    return np.dtype(np.uint16 if n <= 1 << 16 else np.int32)


class SortedRows:
    """Room for the sorted rows of a few words, to be filled again and again."""

    def __init__(self, lattice: Lattice, most: int) -> None:
        self._lattice, self.n = lattice, lattice.n
        self._half = _HALF * (1 + self.n // 32768)
        self._distances = np.empty((most, self.n))
        self._keys = np.empty((most, self.n), dtype=np.uint16)
        self._orders = np.empty((most, self.n), dtype=index_type(self.n))

    @staticmethod
    def size(n: int) -> int:
        """Bytes of a row."""
        return n * (8 + 2 + index_type(n).itemsize)

    def fill(self, words: Ids) -> Iterator[int]:
        """Make the rows of these words, not ⊥, shape (m,); tells the number of each, 0 ... m - 1.

        Request the figures of a row alone as soon as its number is known.
        """
        self._lattice.squares(words, self._distances[: len(words)])
        scaled = np.empty(self.n)
        for row, word in enumerate(words.tolist()):
            distances, keys = self._distances[row], self._keys[row]
            np.sqrt(distances, out=distances)
            distances[word] = distances[word - 1]  # the range is that of the others
            low = distances.min()
            width = distances.max() - low
            # Each step rounds a function that never decreases, so no key misorders.
            np.subtract(distances, low, out=scaled)
            scaled *= _LEVELS / width if width > 0 else 0.0
            np.copyto(keys, scaled, casting="unsafe")
            keys += 1
            distances[word], keys[word] = -1.0, 0
            self._orders[row] = np.argsort(keys, kind="stable")
            yield row

    def order(self, row: int) -> NDArray[Any]:
        """Return all words in order, shape (n,)."""
        return self._settled(row, self._orders[row])

    def nearest(self, row: int, count: int) -> NDArray[Any]:
        """At most ``count`` < n nearest words in order: none that shares a key with one beyond."""
        keys, order = self._keys[row], self._orders[row, : count + 1]
        return self._settled(row, order[: np.searchsorted(keys[order], keys[order[-1]])])

    def _settled(self, row: int, order: NDArray[Any]) -> NDArray[Any]:
        """Return the exact order, from one by keys.

        It is nearly exact, which a merge sort makes use of.  Equal distances have equal keys, and
        there the counting sort kept row numbers in order, as this sort does.
        """
        return np.asarray(order[np.argsort(self._distances[row, order], kind="stable")])

    def words(self, rows: Ids, ranks: Ids) -> Ids:
        """Return the word of each rank > 0 in each of these rows, shape (m,)."""
        out = self._orders[rows, ranks].astype(np.int64)
        keys = self._keys[rows, out]
        shared = self._keys[rows, self._orders[rows, ranks - 1]] == keys
        after = np.minimum(ranks + 1, self.n - 1)
        shared |= (self._keys[rows, self._orders[rows, after]] == keys) & (after > ranks)
        indices = np.flatnonzero(shared)
        out[indices] = self._compared(rows[indices], ranks[indices], keys[indices])
        return out

    def _compared(self, rows: Ids, ranks: Ids, keys: NDArray[np.uint16]) -> Ids:
        """Return the same where the word of that rank shares its key with others."""
        width = min(2 * self._half + 1, self.n)
        start = np.clip(ranks - self._half, 0, self.n - width)
        lines, each = rows[:, None], np.arange(len(rows))
        near = self._orders[lines, start[:, None] + np.arange(width)]
        order = np.argsort(self._distances[lines, near], axis=1, kind="stable")
        out: Ids = near[each, order[each, ranks - start]].astype(np.int64)
        # All words of this key must have been among them.
        whole = (start == 0) | (self._keys[rows, near[:, 0]] < keys)
        whole &= (start + width == self.n) | (self._keys[rows, near[:, -1]] > keys)
        for at in np.flatnonzero(~whole).tolist():
            row = self._keys[rows[at]]
            same = np.flatnonzero(row == keys[at])
            rank = ranks[at] - np.count_nonzero(row < keys[at])
            out[at] = same[np.argsort(self._distances[rows[at], same], kind="stable")[rank]]
        return out
