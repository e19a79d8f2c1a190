"""One draw for each distinct word of a unit: a record, a file or a run.

Words are the same if they have the same row number or, outside the vocabulary, the same last
spelling of the look-up.  The distinct words of a record are drawn from the streams of that record,
in order.  In a file or a run each word has a stream of its own, so that batches, processes and
pieces of a file that know nothing of one another draw the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsan.errors import UsageError, unknown_name
from dpsan.privacy.randomness import (
    Streams,
    derive_key,
    streams_by_word,
    streams_for,
    string_positions,
)
from dpsan.sanitize.result import Texts
from dpsan.text.batch import Ids
from dpsan.text.tokens import folded

Draw = Callable[[Ids, Streams], Ids]
"""Draws outputs (m,) from inputs (m,) and their streams."""
Spelt = Callable[[Ids], Sequence[str]]
"""Returns the words at some indices, as they stand in the text."""

_TABLES: Final = 4
"""Keys of which it is held what was drawn for the words of the vocabulary: 4 bytes for each."""
_COUNTED: Final = 1 << 19
"""Number of distinct words that are counted once; further words count at every position."""


OFF: Final = "off"
"""Written in place of a unit where every word has a draw of its own."""


class Unit(StrEnum):
    """Within what equal words have the same draw."""

    RECORD = "record"
    FILE = "file"
    RUN = "run"
    UNIT = "unit"
    """All messages of a unit of a memo, in all runs."""


def unit_of(name: str | None, *, only: bool) -> Unit | None:
    """Return within what equal words have the same draw.

    Args:
        name: a unit or ``off``; None for the default.
        only: whether words of some classes are drawn alone: then the default is the record.
    """
    default = Unit.RECORD if only else None
    return default if name is None else None if name == OFF else Unit(name)


def check_unit_of_texts(name: str | None) -> None:
    """Raise UsageError for a name that is no unit of texts of no file."""
    if name == Unit.FILE:
        hint = "record: within each string; run: as long as this object lives"
        raise UsageError("consistent='file' is for files: a Sanitizer sees none", hint)
    if name not in (None, OFF, Unit.RECORD, Unit.RUN):
        raise unknown_name("unit", str(name), [OFF, Unit.RECORD, Unit.RUN])


class DrawnOnce(NamedTuple):
    """The drawn words of a batch."""

    outputs: Ids
    """Output row of each word, shape (m,)."""
    first: NDArray[np.bool_]
    """True for the first of equal words in its record, shape (m,)."""
    marks: NDArray[np.uint64] | None
    """64 bits of each word that is, equal for equal words of a file or run; None in a record."""


class OneDraw:
    """Draws each distinct word of a unit once.

    Args:
        unit: record, file, run or unit of a memo; of all but records a key has one.
        inputs: input of each code: the row of a word, or ``n`` for ⊥; words that are no entry of
            the vocabulary have codes from ``n`` on.
        n: words of the vocabulary.
        draw: the sampler's.
    """

    def __init__(self, unit: Unit, inputs: Ids, n: int, draw: Draw) -> None:
        self.unit, self.inputs, self.n, self.draw = unit, inputs, n, draw
        self._drawn = lru_cache(_TABLES)(lambda _: np.full(n, -1, dtype=np.int32))
        """Outputs of the words of the vocabulary under a key; -1: not drawn yet."""

    def __call__(self, codes: Ids, words: Spelt, sizes: Ids, texts: Texts) -> DrawnOnce:
        """Draw the words of a batch of texts.

        Args:
            codes: of the drawn words, (m,).
            words: gives these words.
            sizes: drawn words of each text, (texts,).
            texts: those of a record are neighbours.
        """
        codes, strings, inputs = self._numbered(codes, words)
        numbers, key = texts.numbers, texts.key
        begins = np.diff(np.asarray(numbers, dtype=np.int64), prepend=-1) != 0
        records = np.repeat(np.cumsum(begins) - 1, sizes)
        _, indices, which = np.unique(
            records * (self.n + len(strings)) + codes, return_index=True, return_inverse=True
        )
        new = np.sort(indices)
        marks = None
        if self.unit is Unit.RECORD:
            outputs = np.empty_like(codes)
            counts = np.bincount(records[new], minlength=int(begins.sum())).tolist()
            units = [
                number for number, begin in zip(numbers, begins.tolist(), strict=True) if begin
            ]
            outputs[new] = self.draw(inputs[new], streams_for(key, units, counts))
            outputs = outputs[indices][which]
        else:
            positions = string_positions(derive_key(key, "strings"), strings)
            outputs = self._by_word(derive_key(key, "words"), codes, inputs, positions)
            names_of = np.array([second for _, second in positions], dtype=np.uint64)
            marks = codes[new].astype(np.uint64)
            unknown = codes[new] >= self.n
            marks[unknown] = names_of[codes[new][unknown] - self.n]
        first = np.zeros(len(codes), dtype=np.bool_)
        first[new] = True
        return DrawnOnce(outputs, first, marks)

    def _numbered(self, codes: Ids, words: Spelt) -> tuple[Ids, list[str], Ids]:
        """Return keys, the strings of keys from ``n`` on, and the inputs.

        The key of a word of the vocabulary is its row, also where several words are one input.
        """
        inputs = self.inputs[codes]
        unknown = np.flatnonzero(codes >= self.n)
        if not len(unknown):
            return codes, [], inputs
        numbers: dict[str, int] = {}
        keys = codes.copy()
        keys[unknown] = [
            self.n + numbers.setdefault(folded(word), len(numbers)) for word in words(unknown)
        ]
        return keys, list(numbers), inputs

    def _by_word(self, key: bytes, codes: Ids, inputs: Ids, strings: list[tuple[int, int]]) -> Ids:
        """Outputs of words that have a stream each, (m,)."""
        table, listed = self._drawn(key), codes < self.n
        rows = codes[listed]
        missing = np.unique(rows[table[rows] < 0])
        of_strings = np.full(len(strings), self.n)
        of_strings[codes[~listed] - self.n] = inputs[~listed]
        streams = streams_by_word(key, missing.tolist(), strings)
        drawn = self.draw(np.append(missing, of_strings), streams)
        table[missing] = drawn[: len(missing)]
        outputs = np.empty_like(codes)
        outputs[listed] = table[rows]
        outputs[~listed] = drawn[len(missing) :][codes[~listed] - self.n]
        return outputs


@dataclass
class Distinct:
    """Counts the distinct words of a file or run, in bounded memory.

    The count depends on which words are equal alone, not on which words they are.  It is exact up
    to half a million distinct words, and never too low.
    """

    marks: set[int] = field(default_factory=set, repr=False)
    """Those of words that count no more."""
    count: int = 0

    def add(self, marks: Sequence[int]) -> int:
        """Count words by their marks; returns how many are new."""
        new = 0
        for mark in marks:
            if mark not in self.marks:
                new += 1
                if len(self.marks) < _COUNTED:
                    self.marks.add(mark)
        self.count += new
        return new

    def of_texts(self, marks: NDArray[np.uint64], sizes: Sequence[int]) -> list[int]:
        """Count the words of texts of so many each; returns how many of each are new."""
        ranges = pairwise(accumulate(sizes, initial=0))
        return [self.add(marks[begin:end].tolist()) for begin, end in ranges]

    def merge(self, other: Distinct) -> int:
        """Count the words of another; returns how many are new."""
        untold = other.count - len(other.marks)
        self.count += untold
        return self.add([*other.marks]) + untold
