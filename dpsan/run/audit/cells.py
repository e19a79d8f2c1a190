"""Fragments of bytes, each made once, that are put together by their numbers.

A fragment fills a cell, or several where it is long; what is left of the last one is NUL.  To put
fragments together is to copy cells and to drop NUL: a few calls of NumPy during which other threads
go on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]

WIDTH: Final = 64
"""Bytes of a cell."""
_CELL: Final = np.dtype(f"V{WIDTH}")


class Cells:
    """Fragments; the number of each is that of its first cell."""

    def __init__(self) -> None:
        self._cells = np.zeros(1 << 10, dtype=_CELL)
        self._further = np.zeros(1 << 10, dtype=np.int64)
        """Number of further cells of each fragment."""
        self._several = False
        """True if any fragment has more than one cell."""
        self.count = 0
        """Number of cells; to make it smaller is to forget the last ones."""

    def add(self, fragments: Sequence[bytes]) -> Ids:
        """Take fragments in, none with NUL: their numbers."""
        sizes = np.array([-(-len(each) // WIDTH) or 1 for each in fragments], dtype=np.int64)
        if sizes.max(initial=0) <= 1:
            return self.add_filled(np.array(fragments, dtype=f"S{WIDTH}").view(np.uint8))
        pieces = zip(fragments, (WIDTH * sizes).tolist(), strict=True)
        filled = b"".join([each.ljust(size, b"\0") for each, size in pieces])
        numbers = self.add_filled(np.frombuffer(filled, dtype=np.uint8))
        numbers = np.asarray(numbers[np.cumsum(sizes) - sizes])
        self._further[numbers] = sizes - 1
        self._several = True
        return numbers

    def add_filled(self, filled: NDArray[np.uint8]) -> Ids:
        """Take fragments in that are a cell each, filled up with NUL: their numbers."""
        cells = filled.view(_CELL)
        begin, self.count = self.count, self.count + len(cells)
        self._cells = longer(self._cells, self.count)
        self._further = longer(self._further, self.count)
        self._cells[begin : self.count] = cells
        self._further[begin : self.count] = 0
        return np.arange(begin, self.count)

    def joined(self, numbers: Ids) -> memoryview:
        """Return the bytes of these fragments, one after the other."""
        if self._several:
            sizes = self._further[numbers] + 1
            ends = np.cumsum(sizes)
            numbers = np.repeat(numbers - ends + sizes, sizes) + np.arange(sizes.sum())
        # All are there: to clip them is quicker than to check.
        filled = self._cells.take(numbers, mode="clip").view(np.uint8)
        joined: memoryview = filled[filled != 0].data
        return joined


def longer(values: NDArray[Any], length: int) -> NDArray[Any]:
    """Return the values, with zeros after them if they are fewer than this."""
    more = length - len(values)
    if more <= 0:
        return values
    return np.append(values, np.zeros(len(values) + more, dtype=values.dtype))
