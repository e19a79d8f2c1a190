"""Sampler of integer weights that fall with the Euclidean distance, in two steps: block, then word.

Knows lattice distances, integers and their cumulative sums.  Must not know parameters, or strings.

The vocabulary is cut into blocks of about sqrt(n) consecutive words.  An input's weights are
computed once, in tiles that stay in the processor's cache, but only the sum of each block is kept:
all words of a vocabulary find room where whole rows of n weights would not.  A word is drawn by
the inverse of its cumulative row, as :class:`~dpsan.mechanisms.sampling.samplers.RowSampler` does:
the cumulative block sums tell the block, and only the weights of that block are computed again.
Since distances are exact, they are the same integers both times, and so is the word drawn.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.sampling.samplers import ROW_BYTES, SCORE_CAP, Ids, RowSampler
from dpsan.space.metric_space import MetricSpace

__all__ = ["DistanceLaw", "DistanceSampler"]

Floats = NDArray[np.float64]
Integers = NDArray[np.uint64]
T = TypeVar("T")

_CELLS: Final = 49_152
"""Cells of a tile: their float64 and integer values fit in a core's second-level cache."""
_LOW: Final = np.uint64(0xFFFFFFFF)
_SHIFT: Final = np.uint64(32)


class DistanceLaw(Protocol):
    """Scores min(factor·distance, cap)."""

    @property
    def factor(self) -> float:
        """Nats per unit of distance."""
        ...

    @property
    def cap(self) -> float:
        """Largest score."""
        ...

    def __call__(self, ids: Ids, /) -> Floats:
        """Scores of words (m,) against every word, (m, n)."""
        ...


class DistanceSampler(RowSampler):
    """Weights floor(2^62·exp(-min(factor·d, cap))) of the words from ``first`` on.

    Law, random numbers and outputs are those of a :class:`RowSampler` with the same scores.

    Args:
        space: the vocabulary.
        scores: factor and cap; called for whole rows only.
        cache_bytes: memory for block sums; those of the words used longest ago are dropped.
        first: the first word that can come out of a word; ⊥ is uniform over all.
    """

    batch_words = 1 << 14
    """Many, because the tokens of a batch that fall into one block are drawn together."""

    def __init__(
        self,
        space: MetricSpace,
        scores: DistanceLaw,
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
        self._room = max(1, min(n, cache_bytes // (12 * self._blocks)))
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._slot = np.full(self.space.n, -1, dtype=np.int32)
        self._word = np.full(self._room, -1, dtype=np.int64)
        self._used = np.zeros(self._room, dtype=np.int64)
        self._high = np.empty((self._room, self._blocks), dtype=np.uint64)
        self._low = np.empty((self._room, self._blocks), dtype=np.uint32)
        self._filled = self._clock = 0

    def _nearest(self, ids: Ids) -> Floats | None:
        """What is subtracted from the scores of each input, if anything."""
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
        low = sums & _LOW
        np.cumsum(low, axis=1, out=low)
        high = (sums >> _SHIFT) + (over << _SHIFT)
        np.cumsum(high, axis=1, out=high)
        high += low >> _SHIFT
        self._high[slots], self._low[slots] = high, low & _LOW

    def _slots(self, words: Ids) -> Ids:
        """Where the block sums of at most ``_room`` distinct words are, made if missing."""
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
            step = min(self._inputs, -(-len(missing) // _threads()))

            def work(at: int) -> None:
                part = slice(at, at + step)
                near = None if nearest is None else nearest[part]
                self._sum(missing[part], near, free[part])

            _each(work, range(0, len(missing), step))
            self._word[free], self._used[free] = missing, self._clock
            self._slot[missing] = free
            self._filled += fresh
            slots[~held] = free
        return slots

    # -- drawing ---------------------------------------------------------------------------------

    def _round(self, ids: Ids, bits: Integers, out: Ids, places: Ids) -> NDArray[np.bool_]:
        """Try to draw every input once; True where the draw was accepted."""
        good = np.zeros(len(ids), dtype=np.bool_)
        unknown = np.flatnonzero(ids >= self.space.n)
        if len(unknown):  # n weights of 2^62
            top = np.full(len(unknown), self.space.n << 30, dtype=np.uint64)
            good[unknown], high, _ = _number(top, np.zeros_like(top), bits[unknown])
            out[places[unknown]] = (high >> np.uint64(30)).astype(np.int64)
        known = np.flatnonzero(ids < self.space.n)
        distinct, which = np.unique(ids[known], return_inverse=True)
        with self._lock:
            for at in range(0, len(distinct), self._room):
                slots = self._slots(distinct[at : at + self._room])
                part = np.flatnonzero((which >= at) & (which < at + self._room))
                rows, tokens = slots[which[part] - at], known[part]
                accepted, high, low = _number(
                    self._high[rows, -1], self._low[rows, -1], bits[tokens]
                )
                good[tokens] = accepted
                rows, tokens = rows[accepted], tokens[accepted]
                out[places[tokens]] = self._words(ids[tokens], rows, high[accepted], low[accepted])
        return good

    def _words(self, ids: Ids, rows: Ids, high: Integers, low: Integers) -> Ids:
        """The words at numbers below the totals of inputs whose block sums are in ``rows``."""
        block = _first_above(self._high, self._low, rows, high, low)
        before = np.maximum(block - 1, 0)
        first = block == 0
        base_high = np.where(first, 0, self._high[rows, before])
        base_low = np.where(first, 0, self._low[rows, before])
        high = high - base_high - (low < base_low)
        low = (low - base_low) & _LOW
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
            least = integers & _LOW
            np.cumsum(least, axis=1, out=least)
            integers >>= _SHIFT
            np.cumsum(integers, axis=1, out=integers)
            integers += least >> _SHIFT
            least &= _LOW
            tokens = slice(starts[begin], starts[end])
            at = _first_above(integers, least, which[tokens] - begin, high[tokens], low[tokens])
            found[tokens] = self._starts[number] + at

        _each(
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


def _threads() -> int:
    """As many as FAISS uses: the OpenMP setting, one in worker processes."""
    import faiss  # heavy import

    return int(faiss.omp_get_max_threads())


def _each(work: Callable[[T], None], items: Iterable[T]) -> None:
    """Do a work for each item; NumPy lets go of the interpreter's lock in the long parts."""
    listed = list(items)
    threads = min(_threads(), len(listed))
    if threads <= 1:
        for item in listed:
            work(item)
        return
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(_run, work, listed[at::threads]) for at in range(threads)]:
            done.result()


def _run(work: Callable[[T], None], items: list[T]) -> None:
    for item in items:
        work(item)


def _number(
    total_high: Integers, total_low: NDArray[Any], bits: Integers
) -> tuple[NDArray[np.bool_], Integers, Integers]:
    """Uniform numbers below totals of two limbs, or rejected: accepted?, high and low limbs."""
    bound = total_high + np.uint64(1)
    excess = (np.uint64(0) - bound) % bound  # 2^64 modulo bound
    high, low = bits[:, 0] % bound, bits[:, 1] >> _SHIFT
    good = bits[:, 0] <= np.uint64(2**64 - 1) - excess
    good &= (high < total_high) | ((high == total_high) & (low < total_low))
    return good, high, low


def _first_above(
    high: Integers, low: NDArray[Any], rows: Ids, wanted_high: Integers, wanted_low: Integers
) -> Ids:
    """The first column of each row whose cumulative value exceeds a number; there is one."""
    begin = np.zeros(len(rows), dtype=np.int64)
    end = np.full(len(rows), high.shape[1] - 1, dtype=np.int64)
    for _ in range((high.shape[1] - 1).bit_length()):
        middle = (begin + end) >> 1
        value = high[rows, middle]
        above = value > wanted_high
        above |= (value == wanted_high) & (low[rows, middle] > wanted_low)
        end = np.where(above, middle, end)
        begin = np.where(above, begin, middle + 1)
    return end
