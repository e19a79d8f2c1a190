"""Tests of the tokens of a view: all of them at once, one bit for each token and test.

A look-up of a token's codes finds the bits of some hundred tests.  The many tokens of a large view
have few combinations of codes: there, it is made for each combination.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from dpsan.only.view import Codes, Flags, Indices, Whole

SMALL: Final = 1 << 12
"""Tokens of the largest view for which all tests are looked up for each token."""
_MOST: Final = 1 << 21
"""Numbers of which a table is made."""
_LONGEST: Final = 16
"""More than the tokens of a pattern."""

_NOWHERE: Final = np.zeros(0, np.intp)


def packed(tables: Sequence[Flags]) -> Codes:
    """Return the tables of tests as bits: (codes, an eighth of the tests)."""
    return np.packbits(np.stack(tables, 1), axis=1, bitorder="little")


class Packed:
    """Which tests may hold for each token of a view.

    Args:
        tables: by array, see :func:`packed`.
        fields: the codes of the tokens in each array.
    """

    def __init__(self, tables: Mapping[str, Codes], fields: Mapping[str, Whole]) -> None:
        first, *others = tables
        bits = tables[first].take(fields[first], axis=0)
        for field in others:
            bits &= tables[field].take(fields[field], axis=0)
        present = np.bitwise_or.reduce(bits)
        self._bits = np.ascontiguousarray(bits.T)
        """Bits of eight tests, for each token: those of a test are beside each other."""
        self.present = np.unpackbits(present, bitorder="little")
        """1 for each test that may hold for a token, then zeros."""
        self._flags: dict[int, Any] = {}

    def look_up(self, tests: Indices) -> None:
        """Look up all tokens for some tests at once, which takes less time than one by one."""
        masks = (1 << (tests & 7)).astype(np.uint8)
        flags = self._bits[tests >> 3] & masks[:, None] != 0
        self._flags |= zip(tests.tolist(), self._kept(flags), strict=True)

    @staticmethod
    def _kept(flags: Flags) -> Iterable[Any]:
        """Return a number for the flags of each test: numpy takes longer for few tokens."""
        rows = np.packbits(flags, axis=1, bitorder="little")
        data, width = rows.tobytes(), rows.shape[1]
        return [
            int.from_bytes(data[at : at + width], "little") for at in range(0, len(data), width)
        ]

    def flags(self, test: int) -> Any:
        """Return of each token whether a test may hold for it."""
        if test not in self._flags:
            self.look_up(np.array([test]))
        return self._flags[test]

    def begins(self, tests: Sequence[int]) -> Indices:
        """Return the tokens at which a row of tests may hold, one for each token."""
        begins = self.flags(tests[0])
        for offset, test in enumerate(tests[1:], 1):
            begins &= self.flags(test) >> offset
        if not begins:
            return _NOWHERE
        data = begins.to_bytes(self._bits.shape[1] // 8 + 1, "little")
        bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
        return bits.nonzero()[0]


class Combined(Packed):
    """The same for a large view, by combinations of codes."""

    def __init__(self, tables: Mapping[str, Codes], fields: Mapping[str, Whole]) -> None:
        first = of = np.zeros(len(fields["kind"]), np.intp)
        most = 1
        for field, table in tables.items():
            if most * len(table) > _MOST:
                first, of = numbered(of, most)
                most = len(first)
            of, most = of * len(table) + fields[field], most * len(table)
        first, of = numbered(of, most)
        super().__init__(tables, {field: codes.take(first) for field, codes in fields.items()})
        self._bits = np.append(self._bits, np.zeros_like(self._bits[:, :1]), 1)
        self._of = np.append(of, np.full(_LONGEST, len(first)))
        """Combination of each token; behind the last token stand some for which no test holds."""
        self._order = np.argsort(of.astype(np.min_scalar_type(len(first))), kind="stable")
        self._counts = np.bincount(of, minlength=len(first) + 1)
        self._ends = self._counts.cumsum()
        flags = np.unpackbits(self._bits, axis=0, bitorder="little")
        self._sizes = (flags.astype("f4") @ self._counts.astype("f4")).tolist()
        """For how many tokens each test may hold."""
        self._places: dict[int, Indices] = {}

    @staticmethod
    def _kept(flags: Flags) -> Iterable[Any]:
        return flags

    def begins(self, tests: Sequence[int]) -> Indices:
        """Return the tokens at which a row of tests may hold, one for each token, ascending."""
        rarest, *rest = sorted(range(len(tests)), key=lambda at: self._sizes[tests[at]])
        at = self._found(tests[rarest]) - rarest  # -1 is behind the last token
        for offset in rest:
            at = at.compress(self.flags(tests[offset]).take(self._of[offset:].take(at)))
        return at

    def _found(self, test: int) -> Indices:
        """Return all tokens for which a test may hold, ascending."""
        if test not in self._places:
            flags = self.flags(test)
            if 0 < 4 * self._sizes[test] < len(self._order):
                ends, counts = self._ends[flags], self._counts[flags]
                bounds = zip((ends - counts).tolist(), ends.tolist(), strict=True)
                parts = [self._order[start:end] for start, end in bounds]
                self._places[test] = np.sort(np.concatenate(parts))
            else:
                self._places[test] = flags.take(self._of).nonzero()[0]
        return self._places[test]


def numbered(codes: Indices, most: int) -> tuple[Indices, Indices]:
    """Return a place of each code that occurs, by code, and of each place the index of its code.

    Args:
        codes: at all places.
        most: above all codes.
    """
    occurs, index = np.zeros(most, np.bool_), np.empty(most, np.intp)
    occurs[codes] = True
    present = occurs.nonzero()[0]
    index[present] = np.arange(len(present))
    numbers, places = index.take(codes), np.empty_like(present)
    places[numbers] = np.arange(len(numbers))
    return places, numbers
