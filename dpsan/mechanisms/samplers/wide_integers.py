"""Integers of up to 96 bits as high · 2^32 + low, so that cumulative sums cannot overflow.

Both parts are uint64, low is below 2^32.  Weights are at most 2^62; the sum of n of them needs
log2(n) bits more.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.space.arrays import Ids, Integers

WideIntegers = tuple[Integers, NDArray[Any]]
"""High and low parts, of the same shape; low may have a shorter type."""

LOW: Final = np.uint64(0xFFFFFFFF)
SHIFT: Final = np.uint64(32)


def less(a: WideIntegers, b: WideIntegers) -> NDArray[np.bool_]:
    """Return a mask of a < b."""
    return np.asarray((a[0] < b[0]) | ((a[0] == b[0]) & (a[1] < b[1])))


def minus(a: WideIntegers, b: WideIntegers) -> WideIntegers:
    """Return a - b, where b is at most a."""
    return a[0] - b[0] - (a[1] < b[1]), (a[1] - b[1]) & LOW


def cumulative(weights: Integers) -> WideIntegers:
    """Return the cumulative sums of rows (m, n), which are overwritten."""
    low = weights & LOW
    np.cumsum(low, axis=1, out=low)
    weights >>= SHIFT
    high = np.cumsum(weights, axis=1, out=weights)
    high += low >> SHIFT
    low &= LOW
    return high, low


def number_below(
    high: Integers, low: NDArray[Any], bits: Integers
) -> tuple[NDArray[np.bool_], Integers, Integers]:
    """Uniform numbers below totals (m,), or rejected: accepted?, high and low parts.

    Args:
        bits: uniform, shape (m, 2).
    """
    bound = high + np.uint64(1)
    excess = (np.uint64(0) - bound) % bound  # 2^64 modulo bound
    drawn, rest = bits[:, 0] % bound, bits[:, 1] >> SHIFT
    good = bits[:, 0] <= np.uint64(2**64 - 1) - excess
    return good & less((drawn, rest), (high, low)), drawn, rest


def first_above(
    high: Integers, low: NDArray[Any], rows: Ids, wanted_high: Integers, wanted_low: Integers
) -> Ids:
    """Return the first column of each row whose cumulative value exceeds a number; the last if
    none.
    """
    begin = np.zeros(len(rows), dtype=np.int64)
    end = np.full(len(rows), high.shape[1] - 1, dtype=np.int64)
    for _ in range((high.shape[1] - 1).bit_length()):
        middle = (begin + end) >> 1
        above = less((wanted_high, wanted_low), (high[rows, middle], low[rows, middle]))
        end = np.where(above, middle, end)
        begin = np.where(above, begin, middle + 1)
    return end
