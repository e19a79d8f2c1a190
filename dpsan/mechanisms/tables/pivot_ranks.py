"""The word of a rank among the neighbours of a pivot, for many pivots and ranks at once.

Ranks are small mostly, and the words nearest to noisy points are often the same ones.  So each
pivot of a batch is searched once, as far as its highest rank, and its nearest neighbours are kept.
The answers are those of :meth:`MetricSpace.neighbors`, whatever is kept.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from dpsan.space.arrays import Ids
from dpsan.space.metric_space import MetricSpace

_FIRST: Final = 64
"""Neighbours of a pivot that are kept, at most."""
_ROUND: Final = 8
"""Searches go as far as the highest rank that is requested, rounded up: they may serve again.
Those of so few neighbours, which most pivots need, are apart: they are fast (dpsan/space)."""
_GROWTH: Final = 2
_HELD: Final = 1 << 22
"""Neighbours held at a time (batch · k)."""
_KEPT: Final = 1 << 19
"""Pivots of which neighbours are kept, the most frequent ones: 128 MB."""


class PivotRanks:
    """Word of each rank, seen from each pivot."""

    def __init__(self, space: MetricSpace, kept: int = _KEPT) -> None:
        self.space = space
        # Row numbers + 1, 0 where nothing is known.  Pages are taken when they are first written.
        self._rows = np.zeros((min(kept, space.n), min(_FIRST, space.n)), dtype=np.int32)

    def words(self, pivots: Ids, ranks: Ids) -> Ids:
        """Return the word of each rank from each pivot, shape (m,).

        Args:
            pivots: words, not ⊥, shape (m,).
            ranks: 0 ... n - 1, shape (m,).
        """
        out = np.where(ranks == 0, pivots, -1)
        room, width = self._rows.shape
        near = np.flatnonzero((ranks > 0) & (ranks < width) & (pivots < room))
        out[near] = self._rows[pivots[near], ranks[near]] - 1
        rest = np.flatnonzero(out < 0)
        words, inverse = np.unique(pivots[rest], return_inverse=True)
        highest = np.zeros(len(words), dtype=np.int64)
        np.maximum.at(highest, inverse, ranks[rest])
        low, k = 0, min(_ROUND, width)
        while low < self.space.n:
            group = np.flatnonzero((highest >= low) & (highest < k))
            step = max(1, _HELD // k)
            for at in range(0, len(group), step):
                some = group[at : at + step]
                wide = min(k, _ROUND * (int(highest[some].max()) // _ROUND + 1))
                found = self.space.neighbors(words[some], wide)
                wanted = np.flatnonzero(np.isin(inverse, some))
                rows = np.searchsorted(some, inverse[wanted])
                out[rest[wanted]] = found[rows, ranks[rest[wanted]]]
                kept = words[some] < room
                self._rows[words[some[kept]], :wide] = found[kept, :width] + 1
            low, k = k, min(_GROWTH * k, self.space.n)
        return out

    def __getstate__(self) -> dict[str, Any]:
        return {"space": self.space, "kept": len(self._rows)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        PivotRanks.__init__(self, state["space"], state["kept"])
