"""The word of a rank: exact, for many words and ranks at once.

Knows distances, approximate orders and what is kept of them.  Must not know laws or strings.

The answer is defined by :meth:`MetricSpace.distances`, ties by row number, the word itself first.
Float32 keys put all words in an order that is wrong by at most a known slack
(:mod:`dpsan.mechanisms.near_keys`); the few words around the place are compared by exact distances,
and the bound shows whether a word outside them could belong there.  Where it could, more words are
compared, in the end all of them.  So no answer depends on batches, threads or what is kept:

* the whole approximate order of the words drawn most often,
* the nearest ones of every other word that was seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.near_keys import Keys, NearKeys, window
from dpsan.space import MetricSpace

__all__ = ["RankOrders"]

Ids = NDArray[np.int64]
Run = Callable[[Callable[[int], None], range], Iterable[None]]
"""``map``, of this thread or of several."""

_ORDER_BYTES: Final = 352 << 20
"""Memory for whole orders."""
_NEAR_BYTES: Final = 64 << 20
"""Memory for the nearest words."""
_STRIP: Final = 8
"""Rows made by one task."""
_DRAWS: Final = 2048
"""Draws decided by one task."""
_HALF: Final = 6
_WIDE: Final = 16
"""Words compared on either side of a place: of a kept order, and where that is made anew.  More
are taken where more words share a key."""
_WIDER: Final = 4
_FEW: Final = 2
"""Draws of a word up to which a part of its row is sorted, and not all of it."""
_STEP: Final = 8192
_EXACT_ROWS: Final = 32
_OFTEN: Final = 128
"""Draws of a word, so far, from which its kept order is made exact: then a draw is a look-up."""


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
        self._kind = np.dtype(np.uint16 if n <= 1 << 16 else np.int32)
        room = min(n, order_bytes // (n * self._kind.itemsize))
        self._depth = min(n, near_bytes // (n * self._kind.itemsize))
        # Pages of memory are taken when they are first written.
        self._orders = np.empty((room, n), dtype=self._kind)
        self._near = np.empty((n if self._depth else 0, self._depth), dtype=self._kind)
        self._slot = np.full(n, -1, dtype=np.int32)
        self._owner = np.full(room, -1, dtype=np.int64)
        self._sharp = np.zeros(room, dtype=np.bool_)
        self._seen = np.zeros(n, dtype=np.bool_)
        self._drawn = np.zeros(n, dtype=np.int64)
        self._crowd = 1 + n // 32768
        self._points = _points(space)
        self._squares = np.einsum("nd,nd->n", self._points, self._points, dtype=np.float64)
        self._keys = NearKeys(self._points)

    # -- the whole of it ---------------------------------------------------------------------------

    def words(self, ids: Ids, ranks: Ids) -> Ids:
        """The word of each rank from each word, shape (m,).

        Args:
            ids: words, not ⊥, shape (m,).
            ranks: 0 ... n - 1, shape (m,).
        """
        out = ids.copy()
        far = np.flatnonzero(ranks > 0)
        far = far[np.argsort(ids[far], kind="stable")]
        threads = _threads() if len(far) > _DRAWS else 1
        if threads == 1:
            out[far] = self._found(ids[far], ranks[far], map)
        else:
            with ThreadPoolExecutor(threads) as pool:
                out[far] = self._found(ids[far], ranks[far], pool.map)
        return out

    def _found(self, ids: Ids, ranks: Ids, run: Run) -> Ids:
        """As :meth:`words`, for ids in ascending order and ranks > 0."""
        self._drawn += np.bincount(ids, minlength=self.n)
        out = np.full(len(ids), -1, dtype=np.int64)
        half = _HALF * self._crowd
        start, width = _window(ranks, half, self.n)
        held = self._slot[ids] >= 0
        close = ~held & self._seen[ids] & (start + width <= self._depth)
        self._kept(ids, ranks, np.flatnonzero(held), False, out, run)
        self._kept(ids, ranks, np.flatnonzero(close), True, out, run)
        rest = np.flatnonzero(~held & ~close)
        if len(rest):
            self._make_room(np.unique(ids[rest]))
            now_held = self._slot[ids[rest]] >= 0
            self._rows(ids, ranks, rest, out, run)
            self._kept(ids, ranks, rest[now_held], False, out, run)
        missing = np.flatnonzero(out < 0)
        for at in range(0, len(missing), _EXACT_ROWS):
            part = missing[at : at + _EXACT_ROWS]
            out[part] = self._exactly(ids[part], ranks[part])
        return out

    def order(self, ids: Ids) -> NDArray[np.int32]:
        """All words by rank from each word, shape (m, n)."""
        out = np.empty((len(ids), self.n), dtype=np.int32)
        for at in range(0, len(ids), _EXACT_ROWS):
            part = slice(at, at + _EXACT_ROWS)
            out[part] = np.argsort(self._distances(ids[part]), axis=1, kind="stable")
        return out

    def _distances(self, ids: Ids) -> NDArray[np.float64]:
        """Distances of at most ``_EXACT_ROWS`` words; -1 to the word itself, which comes first."""
        rows = self.space.distances(ids)
        rows[np.arange(len(ids)), ids] = -1.0
        return rows

    def _exactly(self, ids: Ids, ranks: Ids) -> list[int]:
        """The same by all distances."""
        rows = self._distances(ids)
        return [_select(row, rank) for row, rank in zip(rows, ranks.tolist(), strict=True)]

    # -- words whose order is kept -----------------------------------------------------------------

    def _kept(self, ids: Ids, ranks: Ids, places: Ids, near: bool, out: Ids, run: Run) -> None:
        """Decide draws by what is kept; those left undecided stay -1."""
        table = self._near if near else self._orders
        if not near:
            self._sharpen(np.unique(ids[places]), run)
            sharp = self._sharp[self._slot[ids[places]]]
            known, places = places[sharp], places[~sharp]
            out[known] = table[self._slot[ids[known]], ranks[known]]

        def task(at: int) -> None:
            todo = places[at : at + _DRAWS]
            for half in (_HALF * self._crowd, _HALF * self._crowd * _WIDER):
                start, width = _window(ranks[todo], half, self.n)
                if near:
                    fits = start + width <= self._depth
                    todo, start = todo[fits], start[fits]
                if not len(todo):
                    return
                words = ids[todo]
                lines = words if near else self._slot[words]
                candidates = table[lines[:, None], start[:, None] + np.arange(width)]
                out[todo] = self._decided(words, candidates, ranks[todo], start)
                todo = todo[out[todo] < 0]

        for _ in run(task, range(0, len(places), _DRAWS)):
            pass

    def _sharpen(self, words: Ids, run: Run) -> None:
        """Make the kept orders of those of these words exact that are drawn often."""
        words = words[(self._drawn[words] >= _OFTEN) & ~self._sharp[self._slot[words]]]
        for at in range(0, len(words), _EXACT_ROWS):
            block = words[at : at + _EXACT_ROWS]
            rows = self._distances(block)

            def task(each: int, block: Ids = block, rows: NDArray[np.float64] = rows) -> None:
                slot = self._slot[block[each]]
                # Nearly in order, which a merge sort makes use of.
                order = self._orders[slot].copy()
                row = rows[each, order]
                exact = np.argsort(row, kind="stable")
                order, row = order[exact], row[exact]
                if ((row[1:] == row[:-1]) & (order[1:] < order[:-1])).any():
                    order = np.argsort(rows[each], kind="stable").astype(self._kind)
                self._orders[slot] = order
                self._sharp[slot] = True

            for _ in run(task, range(len(block))):
                pass

    def _decided(self, words: Ids, candidates: NDArray[Any], ranks: Ids, start: Ids) -> Ids:
        """The words of these ranks among candidates, or -1 where that is not certain.

        Args:
            candidates: shape (m, width): the places from ``start`` (m,) on in approximate order.
        """
        width = candidates.shape[1]
        candidates = np.sort(candidates, axis=1)  # ties by row number: by a stable sort below
        # Whole numbers below 2^53, so exact in any order: the distances of MetricSpace.distances.
        products = np.einsum(
            "mkd,md->mk",
            self._points[candidates].astype(np.float64),
            self._points[words].astype(np.float64),
        )
        squares = self._squares[candidates] - 2 * products
        squares += self._squares[words, None]
        order = np.argsort(np.sqrt(squares), axis=1, kind="stable")
        chosen = order[np.arange(len(words)), ranks - start]
        rows = np.arange(len(words))
        reached, slack = squares[rows, chosen], self._keys.slack[words]
        certain = (start == 1) | (reached > squares.min(axis=1) + slack)
        certain &= (start + width == self.n) | (reached < squares.max(axis=1) - slack)
        return np.where(certain, candidates[rows, chosen].astype(np.int64), -1)

    # -- words whose order is made -----------------------------------------------------------------

    def _rows(self, ids: Ids, ranks: Ids, places: Ids, out: Ids, run: Run) -> None:
        """Make rows of keys, keep what is worth it, decide the draws that are not kept."""
        words, firsts = np.unique(ids[places], return_index=True)
        bounds = np.append(firsts, len(places))
        keys = self._keys

        def task(at: int) -> None:
            some = slice(at, min(at + _STRIP, len(words)))
            rows = keys.keys(words[some], keys.products(words[some]))
            draws = places[bounds[some.start] : bounds[some.stop]]
            self._strip(words[some], rows, ids, ranks, draws, out)

        for _ in run(task, range(0, len(words), _STRIP)):
            pass

    def _strip(self, words: Ids, rows: Keys, ids: Ids, ranks: Ids, places: Ids, out: Ids) -> None:
        """Decide the draws (all ``places``) of a few words by their rows of keys."""
        slots = self._slot[words]
        draws = np.bincount(np.searchsorted(words, ids[places]), minlength=len(words))
        whole = (slots >= 0) | (draws > _FEW)
        line_of = np.cumsum(whole) - 1
        orders = np.empty((np.count_nonzero(whole), self.n), dtype=self._kind)
        for each in np.flatnonzero(whole).tolist():
            order = np.argsort(rows[each], kind="stable")
            if slots[each] >= 0:
                self._orders[slots[each]] = order
            else:
                orders[line_of[each]] = order
            if self._depth:
                self._near[words[each]] = order[: self._depth]
                self._seen[words[each]] = True
        row = np.searchsorted(words, ids[places])
        start, width = _window(ranks[places], _WIDE * self._crowd, self.n)
        # The nearest of other words are found when one of them is wanted.
        close = np.unique(row[start + width <= self._depth])
        for each in close[~self._seen[words[close]]].tolist():
            found = window(rows[each], 0, self._depth)
            if found is not None:
                self._near[words[each]] = found
                self._seen[words[each]] = True
        here = slots[row] < 0
        places, row, start = places[here], row[here], start[here]
        for at in range(0, len(places), _DRAWS):
            part = slice(at, at + _DRAWS)
            candidates = np.empty((len(row[part]), width), dtype=self._kind)
            sorted_ = whole[row[part]]
            lines = line_of[row[part]][sorted_]
            columns = start[part][sorted_, None] + np.arange(width)
            candidates[sorted_] = orders[lines[:, None], columns]
            good = np.ones(len(candidates), dtype=np.bool_)
            for each in np.flatnonzero(~sorted_).tolist():
                word, first = row[part][each], int(start[part][each])
                if first + width <= self._depth and self._seen[words[word]]:
                    candidates[each] = self._near[words[word], first : first + width]
                    continue
                found = window(rows[word], first, width)
                if found is None:
                    good[each] = False
                else:
                    candidates[each] = found
            some = places[part][good]
            out[some] = self._decided(ids[some], candidates[good], ranks[some], start[part][good])

    def _make_room(self, words: Ids) -> None:
        """Give slots to those of these words (distinct, without one) that are drawn most often."""
        counts = self._drawn[words]
        words = words[np.argsort(-counts, kind="stable")][: len(self._owner)]
        free = np.flatnonzero(self._owner < 0)[: len(words)]
        held = np.flatnonzero(self._owner >= 0)
        held = held[np.argsort(self._drawn[self._owner[held]], kind="stable")]
        held = held[: len(words) - len(free)]
        # The most drawn newcomers against the least drawn owners, until they are even.
        more = self._drawn[words[len(free) : len(free) + len(held)]]
        won = more > self._drawn[self._owner[held]]
        slots = np.concatenate([free, held[won]])
        self._slot[self._owner[held[won]]] = -1
        words = words[: len(slots)]
        self._owner[slots] = words
        self._sharp[slots] = False
        self._slot[words] = slots

    def __getstate__(self) -> dict[str, Any]:
        return {"space": self.space, "room": len(self._owner), "depth": self._depth}

    def __setstate__(self, state: dict[str, Any]) -> None:
        n = state["space"].n
        size = np.dtype(np.uint16 if n <= 1 << 16 else np.int32).itemsize * n
        RankOrders.__init__(self, state["space"], state["room"] * size, state["depth"] * size)


def _points(space: MetricSpace) -> NDArray[np.int32]:
    """The points of all words in steps of the lattice, (n, d)."""
    out = np.empty((space.n, space.d), dtype=np.int32)
    for at in range(0, space.n, _STEP):
        words = np.arange(at, min(at + _STEP, space.n))
        out[words] = space.lattice.left(words)[:, : space.d] / -2
    return out


def _window(ranks: Ids, half: int, n: int) -> tuple[Ids, int]:
    """First place and width of the window around each rank among the places 1 ... n - 1."""
    width = min(2 * half + 1, n - 1)
    return np.clip(ranks - half, 1, n - width), width


def _select(row: NDArray[np.float64], rank: int) -> int:
    """Place of the value of this rank in the stable order of a row, without sorting it."""
    value = np.partition(row, rank)[rank]
    below = int(np.count_nonzero(row < value))
    return int(np.flatnonzero(row == value)[rank - below])


def _threads() -> int:
    """As many as the search may use: one in a worker process."""
    import faiss  # heavy import

    return int(faiss.omp_get_max_threads())
