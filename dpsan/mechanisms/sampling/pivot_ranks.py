"""The word of a rank among the neighbours of a pivot, for many pivots and ranks at once.

Knows neighbours and what is kept of them.  Must not know laws, noise or strings.

Ranks are small mostly, and the words nearest to noisy points are often the same ones.  So each
pivot of a batch is searched once, as far as its highest rank, and the nearest neighbours of recent
pivots are kept.  The answers are those of :meth:`MetricSpace.neighbors`, whatever is kept.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.space.metric_space import MetricSpace

__all__ = ["PivotRanks"]

_FIRST: Final = 64
"""Neighbours of a pivot that are kept, at most."""
_ROUND: Final = 8
"""Searches go as far as the highest rank that is asked for, rounded up: they may serve again."""
_GROWTH: Final = 4
_HELD: Final = 1 << 22
"""Neighbours held at a time (batch · k)."""
_KEPT: Final = 1 << 17
"""Pivots of which neighbours are kept: 32 MB."""

Ids = NDArray[np.int64]


class PivotRanks:
    """Which word has which rank from which pivot.

    Args:
        space: the vocabulary.
        kept: pivots of which neighbours are kept.
    """

    def __init__(self, space: MetricSpace, kept: int = _KEPT) -> None:
        self.space = space
        self._width = min(_FIRST, space.n)
        room = min(kept, space.n)
        # Pages of memory are taken when they are first written.
        self._rows = np.empty((room, self._width), dtype=np.int32)
        self._slot = np.full(space.n, -1, dtype=np.int32)
        self._owner = np.full(room, -1, dtype=np.int64)
        self._next = 0

    def words(self, pivots: Ids, ranks: Ids) -> Ids:
        """The word of each rank from each pivot, shape (m,).

        Args:
            pivots: words, not ⊥, shape (m,).
            ranks: 0 ... n - 1, shape (m,).
        """
        out = np.where(ranks == 0, pivots, -1)
        near = np.flatnonzero((ranks > 0) & (ranks < self._width) & (self._slot[pivots] >= 0))
        out[near] = self._rows[self._slot[pivots[near]], ranks[near]]
        rest = np.flatnonzero(out < 0)
        words, place = np.unique(pivots[rest], return_inverse=True)
        highest = np.zeros(len(words), dtype=np.int64)
        np.maximum.at(highest, place, ranks[rest])
        low, k = 0, self._width
        while low < self.space.n:
            group = np.flatnonzero((highest >= low) & (highest < k))
            step = max(1, _HELD // k)
            for at in range(0, len(group), step):
                some = group[at : at + step]
                row_of = np.full(len(words), -1)
                row_of[some] = np.arange(len(some))
                asked = rest[row_of[place] >= 0]
                rows = row_of[place[row_of[place] >= 0]]
                wide = min(k, _ROUND * (int(highest[some].max()) // _ROUND + 1))
                found = self.space.ranked(words[some], wide, rows, ranks[asked])
                out[asked] = found[rows, ranks[asked]]
                self._keep(words[some], found[:, : self._width])
            low, k = k, min(_GROWTH * k, self.space.n)
            if low == k:
                break
        return out

    def _keep(self, words: Ids, rows: Ids) -> None:
        """Keep neighbours of distinct pivots, -1 for unknown, in place of the oldest."""
        room = len(self._owner)
        words, rows = words[:room], rows[:room]
        farther = self._width - rows.shape[1]
        rows = np.pad(rows, ((0, 0), (0, farther)), constant_values=-1)
        known = self._slot[words] >= 0
        self._rows[self._slot[words[known]]] = rows[known]
        words, rows = words[~known], rows[~known]
        slots = (self._next + np.arange(len(words))) % max(room, 1)
        self._next = (self._next + len(words)) % max(room, 1)
        left = self._owner[slots]
        self._slot[left[left >= 0]] = -1
        # Found only when written: a run may be interrupted and the sampler used again.
        self._rows[slots] = rows
        self._owner[slots], self._slot[words] = words, slots

    def __getstate__(self) -> dict[str, Any]:
        return {"space": self.space, "kept": len(self._owner)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        PivotRanks.__init__(self, state["space"], state["kept"])
