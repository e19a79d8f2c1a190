"""Integers beyond 64 bits in two limbs: cumulative weights, and numbers drawn below a total.

Knows integers.  Must not know words or weights' meaning.  Weights are at most 2^62; the sum of n of
them needs log2(n) bits more.  A value is high·2^32 + low with low < 2^32.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.space.arrays import Ids

Limbs = NDArray[np.uint64]

LOW: Final = np.uint64(0xFFFFFFFF)
SHIFT: Final = np.uint64(32)


def less(a: tuple[Limbs, NDArray[Any]], b: tuple[Limbs, NDArray[Any]]) -> NDArray[np.bool_]:
    """Whether a is below b."""
    return np.asarray((a[0] < b[0]) | ((a[0] == b[0]) & (a[1] < b[1])))


def minus(a: tuple[Limbs, Limbs], b: tuple[Limbs, NDArray[Any]]) -> tuple[Limbs, Limbs]:
    """What is left of a without b, which is at most a."""
    return a[0] - b[0] - (a[1] < b[1]), (a[1] - b[1]) & LOW


def cumulative(weights: Limbs) -> tuple[Limbs, Limbs]:
    """High and low limbs of the cumulative sums of rows (m, n), which are overwritten."""
    low = weights & LOW
    np.cumsum(low, axis=1, out=low)
    weights >>= SHIFT
    high = np.cumsum(weights, axis=1, out=weights)
    high += low >> SHIFT
    low &= LOW
    return high, low


def number_below(
    high: Limbs, low: NDArray[Any], bits: Limbs
) -> tuple[NDArray[np.bool_], Limbs, Limbs]:
    """Uniform numbers below totals (m,), or rejected: accepted?, high and low limbs.

    Args:
        bits: uniform, shape (m, 2).
    """
    bound = high + np.uint64(1)
    excess = (np.uint64(0) - bound) % bound  # 2^64 modulo bound
    drawn, rest = bits[:, 0] % bound, bits[:, 1] >> SHIFT
    good = bits[:, 0] <= np.uint64(2**64 - 1) - excess
    return good & less((drawn, rest), (high, low)), drawn, rest


def first_above(
    high: Limbs, low: NDArray[Any], rows: Ids, wanted_high: Limbs, wanted_low: Limbs
) -> Ids:
    """The first column of each row whose cumulative value exceeds a number; the last if none."""
    begin = np.zeros(len(rows), dtype=np.int64)
    end = np.full(len(rows), high.shape[1] - 1, dtype=np.int64)
    for _ in range((high.shape[1] - 1).bit_length()):
        middle = (begin + end) >> 1
        above = less((wanted_high, wanted_low), (high[rows, middle], low[rows, middle]))
        end = np.where(above, middle, end)
        begin = np.where(above, begin, middle + 1)
    return end
