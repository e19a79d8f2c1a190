"""The fragments of which rows of an audit are put together.

A row is a few fragments of bytes: making an object for each word, or its JSON, would take longer
than drawing the word.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
import orjson
from numpy.typing import NDArray

from dpsan.run.audit.cells import WIDTH, Cells, Ids, longer
from dpsan.sanitize.result import ACTIONS, AuditTable

_LENGTHS: Final = 64
"""Words as long as this, or longer, have no fragment of start and end together."""
_MOST: Final = _LENGTHS << 12
"""Positions of an action that are kept, a multiple of the lengths: a number each, and their cells
where they occurred."""


class _Made:
    """Fragments by a key, each made when it is first requested.

    Args:
        cells: keeps them.
        make: returns the fragments of keys, each of which comes with the index of one occurrence.
    """

    def __init__(
        self, cells: Cells, make: Callable[[list[int], list[int]], Sequence[bytes]]
    ) -> None:
        self._cells, self._make = cells, make
        self._numbers: Ids = np.zeros(1 << 10, dtype=np.int64)
        """1 more than the number of each fragment, 0 where there is none yet."""

    def __call__(self, keys: Ids) -> Ids:
        """Return the number of the fragment of each key (at least 0), shape (m,)."""
        self._numbers = longer(self._numbers, int(keys.max(initial=0)) + 1)
        numbers = self._numbers[keys]
        if not numbers.all():
            new = np.flatnonzero(numbers == 0)
            which, first = np.unique(keys[new], return_index=True)
            made = self._make(which.tolist(), new[first].tolist())
            self._numbers[which] = self._cells.add(made) + 1
            numbers = self._numbers[keys]
        numbers -= 1
        return numbers


class Fragments:
    """The fragments of an audit's word rows: heads, positions with actions, and outputs.

    Those of positions and of usual outputs are kept, the others until :meth:`words` is called
    again.
    """

    def __init__(self) -> None:
        self.cells = Cells()
        self._kept = 0
        self._positions = _Made(self.cells, lambda codes, _: [*map(_position, codes)])
        self._outputs: list[str] = []
        self._usual = _Made(self.cells, self._spelled)
        self._lengths = np.zeros(1 << 10, dtype=np.int64)
        """Code points of the outputs of ``_usual``."""

    def words(self, table: AuditTable) -> tuple[Ids, Ids]:
        """Return two fragments of each word: output position with action, and output.

        Positions in the input would tell word lengths.
        """
        self.cells.count = self._kept
        self._outputs = table.outputs
        # Key 0 stands for all that is not written as usual, until it is inserted.
        keys = table.usual + 1
        outputs = self._usual(keys)
        others = np.flatnonzero(keys == 0)
        words = list(map(table.outputs.__getitem__, others.tolist()))
        lengths = self._lengths[keys]
        lengths[others] = list(map(len, words))
        starts = table.output_starts(lengths)
        codes = starts * _LENGTHS
        few = codes.max(initial=0) < _MOST and lengths.max(initial=0) < _LENGTHS
        positions = np.empty(0, dtype=np.int64)
        if few:
            codes += table.actions * _MOST
            codes += lengths
            positions = self._positions(codes)
        self._kept = self.cells.count
        if not few:
            ends = (starts + lengths).tolist()
            each = zip(starts.tolist(), ends, table.actions.tolist(), strict=True)
            positions = self.cells.add([_from_to(*one) for one in each])
        outputs[others] = self.cells.add(as_json(words))
        return positions, outputs

    def heads(self, file: int, lines: Ids, texts: Ids) -> Ids:
        """Return the beginning of the row of each text, from its line and its number there."""
        pieces = [
            _bytes(b'{"type":"word","file":%d,"line":' % file),
            _digits(lines),
            _bytes(b',"text":'),
            _digits(texts),
            _bytes(b',"start":'),
        ]
        length = sum(piece.shape[1] for piece in pieces)
        pieces.append(np.zeros((1, -length % WIDTH), dtype=np.uint8))
        every = [np.broadcast_to(each, (len(lines), each.shape[1])) for each in pieces]
        filled = np.concatenate(every, axis=1).ravel()
        if length > WIDTH:
            return self.cells.add(filled.view(f"S{len(filled) // max(len(lines), 1)}").tolist())
        return self.cells.add_filled(filled)

    def _spelled(self, keys: list[int], indices: list[int]) -> list[bytes]:
        """Return the usual outputs of these keys, given the index of one occurrence of each."""
        outputs = [
            self._outputs[index] if key else "" for key, index in zip(keys, indices, strict=True)
        ]
        self._lengths = longer(self._lengths, keys[-1] + 1)
        self._lengths[keys] = list(map(len, outputs))
        return as_json(outputs)


def _bytes(text: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(text, dtype=np.uint8)[np.newaxis]


def _digits(values: Ids) -> NDArray[np.uint8]:
    """Return each value (at least 0) in decimal digits, NUL before the first, shape (m, most
    digits).
    """
    powers = np.arange(len(str(values.max(initial=0))))[::-1]
    left = values[:, np.newaxis] // 10**powers
    return np.where((left > 0) | (powers == 0), left % 10 + ord("0"), 0).astype(np.uint8)


def _position(code: int) -> bytes:
    action, rest = divmod(code, _MOST)
    start, length = divmod(rest, _LENGTHS)
    return _from_to(start, start + length, action)


def _from_to(start: int, end: int, action: int) -> bytes:
    return b'%d,"end":%d,"action":"%s","out":' % (start, end, ACTIONS[action].encode())


def as_json(values: Sequence[str] | Sequence[float | None]) -> list[bytes]:
    """Return each value as JSON."""
    if not values:
        return []
    try:
        data = orjson.dumps(values, option=orjson.OPT_INDENT_2)
    except orjson.JSONEncodeError:
        data = orjson.dumps([encodable(str(each)) for each in values], option=orjson.OPT_INDENT_2)
    # One value a line, and no newline within a value: JSON writes it as an escape.
    return data[4:-2].split(b",\n  ")


def encodable(text: str) -> str:
    """Return the text with lone surrogates (which JSON in UTF-8 cannot hold) replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
