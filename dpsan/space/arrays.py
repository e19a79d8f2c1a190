"""Arrays: types that many files name, and rows taken in pieces, which need less memory.

Knows numbers.  Must not know what they stand for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
"""Row numbers of words, and what is counted like them: places, ranks, levels."""
Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
"""Vectors as embedding files have them, and what is made of them for speed."""
Integers = NDArray[np.uint64]
"""Weights, their sums, and the numbers that are drawn below them."""

_PIECE: Final = 4096


def blocks(n: int, size: int) -> Iterator[Ids]:
    """The row numbers 0 ... n - 1, so many at a time."""
    for at in range(0, n, size):
        yield np.arange(at, min(at + size, n))


def norms(vectors: Floats32, centre: Floats | float = 0.0) -> Floats:
    """Euclidean norms of rows less their centre (d,), in float64, shape (n,)."""
    out = np.empty(len(vectors))
    for at in range(0, len(out), _PIECE):
        apart = np.subtract(vectors[at : at + _PIECE], centre, dtype=np.float64)
        out[at : at + _PIECE] = np.linalg.norm(apart, axis=1)
    return out
