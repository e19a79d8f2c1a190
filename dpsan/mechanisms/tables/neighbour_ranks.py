"""The word of a rank: exact, for many words and ranks at once.

The answer is defined by :meth:`MetricSpace.distances`, ties by row number, the word itself first.
It is looked up in what is kept, else in a row made for it
(:mod:`dpsan.mechanisms.tables.sorted_distances`).  Both are exact, so no answer depends on
batches, threads or what is kept:

* the whole order of the most frequent words, which come first in a vocabulary,
* the nearest ones of every other word that was seen.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.tables.sorted_distances import SortedRows, index_type
from dpsan.space.arrays import Ids, by_word, side_by_side
from dpsan.space.metric_space import MetricSpace

_ORDER_BYTES: Final = 128 << 20
"""Memory for whole orders."""
_NEAR_BYTES: Final = 64 << 20
"""Memory for the nearest words."""
_STRIP: Final = 64
"""Rows made by one task at most: the more, the less work is a row."""
_STRIP_BYTES: Final = 128 << 20
"""Memory of one task at most."""


class RankOrders:
    """Word of each rank, seen from each word."""

    def __init__(
        self,
        space: MetricSpace,
        order_bytes: int = _ORDER_BYTES,
        near_bytes: int = _NEAR_BYTES,
    ) -> None:
        n = space.n
        self.space, self.n = space, n
        space.lattice.hold()
        kind = index_type(n)
        room = min(n, order_bytes // (n * kind.itemsize))
        self._depth = min(n - 1, near_bytes // (n * kind.itemsize))
        # Pages of memory are taken when they are first written.
        self._orders = np.empty((room, n), dtype=kind)
        self._near = np.empty((n, self._depth), dtype=kind)
        self._reach = np.zeros(n, dtype=np.int32)  # ranks that are kept: n, or the nearest words'

    def words(self, ids: Ids, ranks: Ids) -> Ids:
        """Return the word of each rank from each word, shape (m,).

        Args:
            ids: words, not ⊥, shape (m,).
            ranks: 0 ... n - 1, shape (m,).
        """
        out = ids.copy()
        far = np.flatnonzero(ranks > 0)
        out[far] = self._found(ids[far], ranks[far])
        return out

    def order(self, ids: Ids) -> NDArray[np.int32]:
        """Return all words by rank from each word, shape (m, n)."""
        out = np.empty((len(ids), self.n), dtype=np.int32)
        strip = self._strip(len(ids))
        rows = SortedRows(self.space.lattice, strip)
        for at in range(0, len(ids), strip):
            some = ids[at : at + strip]
            for row in rows.fill(some):
                out[at + row] = rows.order(row)
        return out

    def _found(self, ids: Ids, ranks: Ids) -> Ids:
        """Return words of ranks > 0, see :meth:`words`."""
        out = np.empty(len(ids), dtype=np.int64)
        held = ranks < self._reach[ids]
        whole = np.flatnonzero(held & (ids < len(self._orders)))
        close = np.flatnonzero(held & (ids >= len(self._orders)))
        out[whole] = self._orders[ids[whole], ranks[whole]]
        out[close] = self._near[ids[close], ranks[close]]
        rest = np.flatnonzero(~held)
        if len(rest):
            self._made(ids, ranks, rest, out)
        return out

    def _made(self, ids: Ids, ranks: Ids, indices: Ids, out: Ids) -> None:
        """Make rows for these positions, keep what there is room for, and answer by them."""
        strip = self._strip(len(indices))
        idle: list[SortedRows] = []  # one for each thread: new memory costs as much as its use

        def task(group: tuple[Ids, Ids, Ids]) -> None:
            words, tokens, which = group
            rows = idle.pop() if idle else SortedRows(self.space.lattice, strip)
            for row in rows.fill(words):
                self._keep(words[row], row, rows)
            draws = indices[tokens]
            out[draws] = rows.words(which, ranks[draws])
            idle.append(rows)

        side_by_side(task, list(by_word(ids[indices], strip)))

    def _strip(self, words: int) -> int:
        """Return rows made by one task."""
        return max(1, min(words, _STRIP, _STRIP_BYTES // SortedRows.size(self.n)))

    def _keep(self, word: int, row: int, rows: SortedRows) -> None:
        """Keep the whole order of a word if there is room, else its beginning.

        What is kept is found only when it is written: a run may be interrupted and the sampler
        used again.
        """
        if word < len(self._orders):
            self._orders[word] = rows.order(row)
            self._reach[word] = self.n
        elif self._depth and not self._reach[word]:
            near = rows.nearest(row, self._depth)
            self._near[word, : len(near)] = near
            self._reach[word] = len(near)

    def __getstate__(self) -> dict[str, Any]:
        return {"space": self.space, "room": len(self._orders), "depth": self._depth}

    def __setstate__(self, state: dict[str, Any]) -> None:
        n = state["space"].n
        size = index_type(n).itemsize * n
        RankOrders.__init__(self, state["space"], state["room"] * size, state["depth"] * size)
