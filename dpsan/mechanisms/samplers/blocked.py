"""Sampler of integer weights that fall with the Euclidean distance, in two steps: block, then word.

The vocabulary is cut into blocks of about sqrt(n) consecutive words.  An input's weights are
computed once, in tiles that stay in the processor's cache, but only the sum of each block is kept:
all words of a vocabulary find room where whole rows of n weights would not.  A word is drawn by
the inverse of its cumulative row, as :class:`~dpsan.mechanisms.samplers.base.RowSampler` does:
the cumulative block sums tell the block, and only the weights of that block are computed again.
Since distances are exact, they are the same integers both times, and so is the word drawn.
"""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.samplers.base import ROW_BYTES, SCORE_CAP, RowSampler
from dpsan.mechanisms.samplers.wide_integers import (
    LOW,
    SHIFT,
    cumulative,
    first_above,
    minus,
    number_below,
)
from dpsan.space.arrays import Floats, Ids, Integers, side_by_side, threads
from dpsan.space.metric_space import MetricSpace

_CELLS: Final = 49_152
"""Cells of a tile: their float64 and integer values fit in a core's second-level cache."""


@dataclass(frozen=True)
class DistanceScores:
    """Scores proportional to Euclidean distance, up to a cap (min(d, cap) is a metric too)."""

    space: MetricSpace
    factor: float
    cap: float = SCORE_CAP

    def __call__(self, ids: Ids) -> Floats:
        """Scores of words (m,) against every word, (m, n)."""
        return self.of(self.space.distances(ids))

    def of(self, distances: Floats) -> Floats:
        """Scores of distances."""
        scores = distances * self.factor
        return np.minimum(scores, self.cap, out=scores)


class DistanceSampler(RowSampler):
    """Weights floor(2^62·exp(-min(factor·d, cap))) of the words from ``first`` on.

    Distribution, random numbers and outputs are those of a :class:`RowSampler` with these scores.

    Args:
        scores: called for whole rows only.
        cache_bytes: memory for block sums; those of the words used longest ago are dropped.
        first: the first possible output of a word; ⊥ is uniform over all.
    """

    batch_words = 1 << 14
    """Many, because the tokens of a batch that fall into one block are drawn together."""

    def __init__(
        self,
        space: MetricSpace,
        scores: DistanceScores,
        cache_bytes: int = ROW_BYTES,
        first: int = 0,
    ) -> None:
        super().__init__(space, scores, cache_bytes)
        n, lattice = space.n, space.lattice
        # Not so long that a product with few inputs leaves the calling thread.
        self._length = max(1, min(math.isqrt(n - first - 1) + 1, lattice.rows(8)))
        self._starts = np.append(np.arange(first, n, self._length), n)
        self._blocks = len(self._starts) - 1
        self._inputs = max(8, _CELLS // self._length)
        # Both exact: a power of two.  The score is float64(factor·distance) to the last bit.
        self._rate = -(scores.factor * lattice.unit)
        self._cap = min(scores.cap, SCORE_CAP)
        self._room = max(1, min(n, cache_bytes // (12 * (self._blocks + 1))))
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._slot = np.full(self.space.n, -1, dtype=np.int32)
        self._word = np.full(self._room, -1, dtype=np.int64)
        self._used = np.zeros(self._room, dtype=np.int64)
        # Sums before each block and, last, of all; the first stays 0.
        self._high = np.zeros((self._room, self._blocks + 1), dtype=np.uint64)
        self._low = np.zeros((self._room, self._blocks + 1), dtype=np.uint32)
        self._filled = self._clock = 0

    def _nearest(self, ids: Ids) -> Floats | None:
        """Return what is subtracted from the scores of each input; None: nothing."""
        return None

    # -- weights ---------------------------------------------------------------------------------

    def _tile(
        self, left: Floats, nearest: Floats | None, block: int, floats: Floats, integers: Integers
    ) -> None:
        """Weights of inputs for the words of a block, not yet rounded and as integers."""
        lattice = self.space.lattice
        right = lattice.right(int(self._starts[block]), int(self._starts[block + 1]))
        lattice.squared(left, right, floats)
        np.sqrt(floats, out=floats)
        floats *= self._rate
        if nearest is not None:
            floats += nearest[:, None]
            np.minimum(floats, 0.0, out=floats)
        np.maximum(floats, -self._cap, out=floats)
        np.exp(floats, out=floats)
        floats *= 2.0**62
        np.copyto(integers, floats, casting="unsafe")  # the cast rounds down

    def _buffers(self, inputs: int, block: int) -> tuple[Floats, Integers]:
        shape = (inputs, int(self._starts[block + 1] - self._starts[block]))
        return np.empty(shape), np.empty(shape, dtype=np.uint64)

    def _sum(self, words: Ids, nearest: Floats | None, slots: Ids) -> None:
        """Put the cumulative block sums of words into slots."""
        left = self.space.lattice.left(words)
        sums = np.empty((len(words), self._blocks), dtype=np.uint64)
        about = np.empty((len(words), self._blocks))
        floats, integers = self._buffers(len(words), 0)
        for block in range(self._blocks):
            if block == self._blocks - 1:
                floats, integers = self._buffers(len(words), block)
            self._tile(left, nearest, block, floats, integers)
            np.add.reduce(integers, axis=1, out=sums[:, block])  # modulo 2^64
            np.add.reduce(floats, axis=1, out=about[:, block])
        # A sum of k weights is below k·2^62; float64 knows it to about k·2^10, far better than
        # the 2^64 that the integer sum leaves open.
        about -= sums
        over = np.rint(about * 2.0**-64).astype(np.uint64)
        low = sums & LOW
        np.cumsum(low, axis=1, out=low)
        high = (sums >> SHIFT) + (over << SHIFT)
        np.cumsum(high, axis=1, out=high)
        high += low >> SHIFT
        self._high[slots, 1:], self._low[slots, 1:] = high, low & LOW

    def _slots(self, words: Ids) -> Ids:
        """Return the slots of block sums of at most ``_room`` words; compute missing sums."""
        slots = self._slot[words].astype(np.int64)
        held = slots >= 0
        self._clock += 1
        self._used[slots[held]] = self._clock
        missing = words[~held]
        if len(missing):
            fresh = min(len(missing), self._room - self._filled)
            free = np.arange(self._filled, self._filled + fresh)
            if fresh < len(missing):  # all slots are taken: the oldest give way
                oldest = np.argsort(self._used, kind="stable")
                oldest = oldest[oldest < self._filled][: len(missing) - fresh]
                self._slot[self._word[oldest]] = -1
                free = np.concatenate([free, oldest])
            nearest = self._nearest(missing)
            step = min(self._inputs, -(-len(missing) // threads()))

            def work(at: int) -> None:
                part = slice(at, at + step)
                near = None if nearest is None else nearest[part]
                self._sum(missing[part], near, free[part])

            side_by_side(work, range(0, len(missing), step))
            self._word[free], self._used[free] = missing, self._clock
            self._slot[missing] = free
            self._filled += fresh
            slots[~held] = free
        return slots

    # -- drawing ---------------------------------------------------------------------------------

    def _round(self, ids: Ids, bits: Integers, out: Ids, indices: Ids) -> NDArray[np.bool_]:
        """Try to draw every input once; True where the draw was accepted."""
        good = np.zeros(len(ids), dtype=np.bool_)
        unknown = np.flatnonzero(ids >= self.space.n)
        if len(unknown):  # n weights of 2^62
            top = np.full(len(unknown), self.space.n << 30, dtype=np.uint64)
            good[unknown], high, _ = number_below(top, np.zeros_like(top), bits[unknown])
            out[indices[unknown]] = (high >> np.uint64(30)).astype(np.int64)
        known = np.flatnonzero(ids < self.space.n)
        distinct, which = np.unique(ids[known], return_inverse=True)
        with self._lock:
            for at in range(0, len(distinct), self._room):
                slots = self._slots(distinct[at : at + self._room])
                part = np.flatnonzero((which >= at) & (which < at + self._room))
                rows, tokens = slots[which[part] - at], known[part]
                accepted, high, low = number_below(
                    self._high[rows, -1], self._low[rows, -1], bits[tokens]
                )
                good[tokens] = accepted
                rows, tokens = rows[accepted], tokens[accepted]
                out[indices[tokens]] = self._words(ids[tokens], rows, high[accepted], low[accepted])
        return good

    def _words(self, ids: Ids, rows: Ids, high: Integers, low: Integers) -> Ids:
        """Return the words at numbers below the totals of inputs whose block sums are in
        ``rows``.
        """
        block = first_above(self._high[:, 1:], self._low[:, 1:], rows, high, low)
        before = self._high[rows, block], self._low[rows, block]
        high, low = minus((high, low), before)
        # Tokens of one word that fall into one block share its weights.
        pair = block * self.space.n + ids
        order = np.argsort(pair, kind="stable")
        high, low = high[order], low[order]
        pairs, starts, which = np.unique(pair[order], return_index=True, return_inverse=True)
        starts = np.append(starts, len(order))
        bounds = np.searchsorted(pairs, np.arange(self._blocks + 1) * self.space.n)
        words = pairs % self.space.n
        nearest = self._nearest(words)
        found = np.empty(len(order), dtype=np.int64)

        def draw(tile: tuple[int, int, int]) -> None:
            number, begin, end = tile
            left = self.space.lattice.left(words[begin:end])
            near = None if nearest is None else nearest[begin:end]
            floats, integers = self._buffers(end - begin, number)
            self._tile(left, near, number, floats, integers)
            tokens = slice(starts[begin], starts[end])
            rows = which[tokens] - begin
            at = first_above(*cumulative(integers), rows, high[tokens], low[tokens])
            found[tokens] = self._starts[number] + at

        side_by_side(
            draw,
            [
                (number, begin, min(begin + self._inputs, int(bounds[number + 1])))
                for number in range(self._blocks)
                for begin in range(int(bounds[number]), int(bounds[number + 1]), self._inputs)
            ],
        )
        out = np.empty_like(found)
        out[order] = found
        return out

    def __getstate__(self) -> dict[str, Any]:
        large = {"_lock", "_slot", "_word", "_used", "_high", "_low"}
        return {name: value for name, value in super().__getstate__().items() if name not in large}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()
