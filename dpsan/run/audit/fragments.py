"""The parts of which rows of an audit are put together, each made once.

Knows JSON and columns of words.  Must not know files.  A row is a few fragments of bytes: making an
object for each word, or its JSON, would take longer than drawing the word.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import numpy as np
import orjson
from numpy.typing import NDArray

from dpsan.sanitize.result import ACTIONS, AuditTable

Ids = NDArray[np.int64]
Column = NDArray[np.object_]

_MOST: Final = 1 << 21
"""Fragments of a kind that are kept: a pointer each, and their bytes where they occurred."""
_LENGTHS: Final = 64
"""Words as long as this, or longer, have no fragment of start and end together."""


class _Made:
    """Fragments by a number, each made when it is first asked for.

    Args:
        make: gives the fragments of some numbers, of each of which a place is told.
    """

    def __init__(self, make: Callable[[list[int], list[int]], Iterable[bytes]]) -> None:
        self._make = make
        self._made: Column = np.empty(1 << 10, dtype=object)
        self._known = np.zeros(1 << 10, dtype=np.bool_)

    def __call__(self, numbers: Ids) -> Column:
        """The fragment of each number (at least 0, less than _MOST), shape (m,)."""
        more = int(numbers.max(initial=0)) + 1 - len(self._known)
        if more > 0:
            more += len(self._known)
            self._made = np.append(self._made, np.empty(more, dtype=object))
            self._known = np.append(self._known, np.zeros(more, dtype=np.bool_))
        new = np.flatnonzero(~self._known[numbers])
        if len(new):
            which, first = np.unique(numbers[new], return_index=True)
            self._made[which] = list(self._make(which.tolist(), new[first].tolist()))
            self._known[which] = True
        return self._made[numbers]


class Fragments:
    """The fragments of an audit's word rows: places with actions, and outputs."""

    def __init__(self) -> None:
        self._places = _Made(lambda codes, _: map(_place, codes))
        self._outputs: list[str] = []
        self._usual = _Made(lambda _, places: as_json([self._outputs[place] for place in places]))

    def places(self, table: AuditTable) -> list[Column]:
        """From the start of each word in its output text to its action: input positions would tell
        word lengths.
        """
        starts, lengths = table.output_starts, table.output_lengths
        codes = (starts * _LENGTHS + lengths) * len(ACTIONS) + table.actions
        if codes.max(initial=0) < _MOST and lengths.max(initial=0) < _LENGTHS:
            return [self._places(codes)]
        each = zip(
            starts.tolist(), (starts + lengths).tolist(), table.actions.tolist(), strict=True
        )
        return [np.array([_from_to(*one) for one in each], dtype=object)]

    def outputs(self, table: AuditTable) -> Column:
        """Each output as JSON."""
        self._outputs = table.outputs
        # Number 0 stands for all that is not written as usual, until it is put in its place.
        column = self._usual(table.usual + 1)
        places = np.flatnonzero(table.usual < 0)
        column[places] = as_json([table.outputs[place] for place in places.tolist()])
        return column


def _place(code: int) -> bytes:
    rest, action = divmod(code, len(ACTIONS))
    start, length = divmod(rest, _LENGTHS)
    return _from_to(start, start + length, action)


def _from_to(start: int, end: int, action: int) -> bytes:
    return b'%d,"end":%d,"action":"%s","out":' % (start, end, ACTIONS[action].encode())


def as_json(values: Sequence[str] | Sequence[float | None]) -> list[bytes]:
    """Each value as JSON."""
    if not values:
        return []
    try:
        data = orjson.dumps(values, option=orjson.OPT_INDENT_2)
    except orjson.JSONEncodeError:
        data = orjson.dumps([encodable(str(each)) for each in values], option=orjson.OPT_INDENT_2)
    # One value a line, and no newline within a value: JSON writes it as an escape.
    return data[4:-2].split(b",\n  ")


def encodable(text: str) -> str:
    """The text with lone surrogates (which JSON in UTF-8 cannot hold) replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
