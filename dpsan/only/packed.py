"""Tests of the tokens of a small view: all of them at once, one bit for each token and test.

A look-up of a token's codes finds the bits of some hundred tests.  A view of a few messages has a
few hundred tokens, so this costs less than to look for the codes of one test after the other, as
:mod:`~dpsan.only.order` does for large views.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.only.view import Flags

SMALL: Final = 1 << 12
"""Tokens of the largest view for which all tests are looked up at once."""


def packed(tables: Flags) -> NDArray[np.uint8]:
    """Return tables, (tests, codes), as bits: (codes, an eighth of the tests)."""
    return np.packbits(tables.T, axis=1, bitorder="little")


class Packed:
    """Which tests may hold for each token of a view.

    Args:
        tables: by array, see :func:`packed`.
        fields: the codes of the tokens in each array.
    """

    def __init__(
        self, tables: Mapping[str, NDArray[np.uint8]], fields: Mapping[str, NDArray[np.integer]]
    ) -> None:
        first, *others = tables
        self._bits = tables[first].take(fields[first], axis=0)
        for field in others:
            self._bits &= tables[field].take(fields[field], axis=0)
        present = np.bitwise_or.reduce(self._bits, axis=0)
        self.present = np.unpackbits(present, bitorder="little")
        """1 for each test that may hold for a token, then zeros."""
        self._flags: dict[int, Flags] = {}

    def flags(self, test: int) -> Flags:
        """Return of each token whether a test may hold for it."""
        found = self._flags.get(test)
        if found is None:
            found = self._flags[test] = self._bits[:, test >> 3] & (1 << (test & 7)) != 0
        return found

    def begins(self, tests: Sequence[int]) -> NDArray[np.intp]:
        """Return the tokens at which a row of tests may hold, one for each token."""
        first, *others = map(self.flags, tests)
        last = len(first) - len(others)
        found = first[:last]
        for offset, flags in enumerate(others, 1):
            found = found & flags[offset : last + offset]
        return np.flatnonzero(found)
