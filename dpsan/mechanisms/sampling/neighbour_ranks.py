"""The word of a rank: exact, for many words and ranks at once.

Knows sorted rows and what is kept of them.  Must not know laws or strings.

The answer is defined by :meth:`MetricSpace.distances`, ties by row number, the word itself first.
It is looked up in what is kept, else in a row made for it
(:mod:`dpsan.mechanisms.sampling.sorted_distances`).  Both are exact, so no answer depends on
batches, threads or what is kept:

* the whole order of the words drawn most often,
* the nearest ones of every other word that was seen.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.sampling.sorted_distances import SortedRows, place_type
from dpsan.space.metric_space import MetricSpace

__all__ = ["RankOrders"]

Ids = NDArray[np.int64]

_ORDER_BYTES: Final = 128 << 20
"""Memory for whole orders."""
_NEAR_BYTES: Final = 64 << 20
"""Memory for the nearest words."""
_STRIP: Final = 64
"""Rows made by one task at most: the more, the less work is a row."""
_STRIP_BYTES: Final = 128 << 20
"""Memory of one task at most."""


class RankOrders:
    """Which word has which rank from which word.

    Args:
        space: the vocabulary.
        order_bytes: memory for whole orders.
        near_bytes: memory for the nearest words.
    """

    def __init__(
        self,
        space: MetricSpace,
        order_bytes: int = _ORDER_BYTES,
        near_bytes: int = _NEAR_BYTES,
    ) -> None:
        n = space.n
        self.space, self.n = space, n
        space.lattice.hold()
        kind = place_type(n)
        room = min(n, order_bytes // (n * kind.itemsize))
        self._depth = min(n - 1, near_bytes // (n * kind.itemsize))
        # Pages of memory are taken when they are first written.
        self._orders = np.empty((room, n), dtype=kind)
        self._near = np.empty((n if self._depth else 0, self._depth), dtype=kind)
        self._reach = np.zeros(n, dtype=np.int32)  # nearest words kept
        self._slot = np.full(n, -1, dtype=np.int32)
        self._owner = np.full(room, -1, dtype=np.int64)
        self._drawn = np.zeros(n, dtype=np.int64)

    def words(self, ids: Ids, ranks: Ids) -> Ids:
        """The word of each rank from each word, shape (m,).

        Args:
            ids: words, not ⊥, shape (m,).
            ranks: 0 ... n - 1, shape (m,).
        """
        out = ids.copy()
        far = np.flatnonzero(ranks > 0)
        far = far[np.argsort(ids[far], kind="stable")]
        out[far] = self._found(ids[far], ranks[far])
        return out

    def order(self, ids: Ids) -> NDArray[np.int32]:
        """All words by rank from each word, shape (m, n)."""
        out = np.empty((len(ids), self.n), dtype=np.int32)
        strip = self._strip(len(ids))
        rows = SortedRows(self.space.lattice, strip)
        for at in range(0, len(ids), strip):
            some = ids[at : at + strip]
            for row in rows.fill(some):
                out[at + row] = rows.order(row)
        return out

    def _found(self, ids: Ids, ranks: Ids) -> Ids:
        """As :meth:`words`, for ids in ascending order and ranks > 0."""
        self._drawn += np.bincount(ids, minlength=self.n)
        out = np.empty(len(ids), dtype=np.int64)
        slots = self._slot[ids]
        held = slots >= 0
        close = ~held & (ranks < self._reach[ids])
        out[held] = self._orders[slots[held], ranks[held]]
        out[close] = self._near[ids[close], ranks[close]]
        rest = np.flatnonzero(~(held | close))
        if len(rest):
            self._made(ids, ranks, rest, out)
        return out

    def _made(self, ids: Ids, ranks: Ids, places: Ids, out: Ids) -> None:
        """Make rows for these places, keep what is worth it, and answer by them."""
        words, firsts = np.unique(ids[places], return_index=True)
        bounds = np.append(firsts, len(places))
        slots = self._make_room(words)
        strip = self._strip(len(words))
        lattice = self.space.lattice
        idle: list[SortedRows] = []  # one for each thread: new memory costs as much as its use

        def task(at: int) -> None:
            some = words[at : at + strip]
            rows = idle.pop() if idle else SortedRows(lattice, strip)
            for row in rows.fill(some):
                self._keep(some[row], slots[at + row], row, rows)
            draws = places[bounds[at] : bounds[at + len(some)]]
            out[draws] = rows.words(np.searchsorted(some, ids[draws]), ranks[draws])
            idle.append(rows)

        tasks = range(0, len(words), strip)
        if len(tasks) == 1:
            task(0)
            return
        with ThreadPoolExecutor(_threads()) as pool:
            for _ in pool.map(task, tasks):
                pass

    def _strip(self, words: int) -> int:
        """Rows made by one task."""
        return max(1, min(words, _STRIP, _STRIP_BYTES // SortedRows.size(self.n)))

    def _keep(self, word: int, slot: int, row: int, rows: SortedRows) -> None:
        """Keep the whole order of a word if it has a slot, and its beginning.

        What is kept is found only when it is written: a run may be interrupted and the sampler
        used again.
        """
        if slot >= 0:
            self._orders[slot] = rows.order(row)
            self._slot[word] = slot
        if self._depth and not self._reach[word]:
            near = rows.nearest(row, self._depth)
            self._near[word, : len(near)] = near
            self._reach[word] = len(near)

    def _make_room(self, words: Ids) -> Ids:
        """Slots for those of these words (distinct, without one) that are drawn most often, or -1.

        Their former owners are forgotten; the words own them once their order is there.
        """
        out = np.full(len(words), -1)
        often = np.argsort(-self._drawn[words], kind="stable")[: len(self._owner)]
        words = words[often]
        free = np.flatnonzero(self._owner < 0)[: len(words)]
        held = np.flatnonzero(self._owner >= 0)
        held = held[np.argsort(self._drawn[self._owner[held]], kind="stable")]
        held = held[: len(words) - len(free)]
        # The most drawn newcomers against the least drawn owners, until they are even.
        more = self._drawn[words[len(free) : len(free) + len(held)]]
        won = more > self._drawn[self._owner[held]]
        slots = np.concatenate([free, held[won]])
        self._slot[self._owner[held[won]]] = -1
        self._owner[slots] = words[: len(slots)]
        out[often[: len(slots)]] = slots
        return out

    def __getstate__(self) -> dict[str, Any]:
        return {"space": self.space, "room": len(self._owner), "depth": self._depth}

    def __setstate__(self, state: dict[str, Any]) -> None:
        n = state["space"].n
        size = place_type(n).itemsize * n
        RankOrders.__init__(self, state["space"], state["room"] * size, state["depth"] * size)


def _threads() -> int:
    """As many as the search may use: one in a worker process."""
    import faiss  # heavy import

    return int(faiss.omp_get_max_threads())
