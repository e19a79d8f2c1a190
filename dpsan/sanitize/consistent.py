"""One draw for each distinct word of a unit: a record, a file or a run.

Words are the same if they have the same row number or, outside the vocabulary, the same last
spelling of the look-up.  The distinct words of a record are drawn from the streams of that record,
in order.  In a file or a run each word has a stream of its own, so that batches, processes and
pieces of a file that know nothing of one another draw the same words.

Numbers that are drawn by value are drawn so, too: which words they are, and with which random
numbers each is drawn, stands below.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate, pairwise
from math import prod
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np

from dpsan.embeddings.word_lists import DATES, NUMBERS
from dpsan.errors import Hint, UsageError, refuse, unknown_name
from dpsan.privacy import randomness
from dpsan.privacy.guarantee import Guarantee
from dpsan.sanitize.result import Forms, Texts
from dpsan.text.batch import BoundedCache, Ids, Integers, Mask
from dpsan.text.tokens import folded

if TYPE_CHECKING:
    from dpsan.mechanisms.tables.sparse import GridResponse
    from dpsan.only.alone import Kind
    from dpsan.text.number_forms import FormedNumber

Draw = Callable[[Ids, randomness.Streams], Ids]
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


DrawnOnce: TypeAlias = tuple[Ids, Mask, Integers | None]
"""The drawn words of a batch: output row of each, (m,); True for the first of equal words in its
record, (m,); 64 bits of each word that is, equal for equal words of a file or run, None in a
record."""


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
            outputs[new] = self.draw(inputs[new], randomness.streams_for(key, units, counts))
            outputs = outputs[indices][which]
        else:
            positions = randomness.string_positions(randomness.derive_key(key, "strings"), strings)
            outputs = self._by_word(randomness.derive_key(key, "words"), codes, inputs, positions)
            names_of = np.array([second for _, second in positions], dtype=np.uint64)
            marks = codes[new].astype(np.uint64)
            unknown = codes[new] >= self.n
            marks[unknown] = names_of[codes[new][unknown] - self.n]
        first = np.zeros(len(codes), dtype=np.bool_)
        first[new] = True
        return outputs, first, marks

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
        streams = randomness.streams_by_word(key, missing.tolist(), strings)
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

    def of_texts(self, marks: Integers, sizes: Sequence[int]) -> list[int]:
        """Count the words of texts of so many each; returns how many of each are new."""
        ranges = pairwise(accumulate(sizes, initial=0))
        return [self.add(marks[begin:end].tolist()) for begin, end in ranges]

    def merge(self, other: Distinct) -> int:
        """Count the words of another; returns how many are new."""
        untold = other.count - len(other.marks)
        self.count += untold
        return self.add([*other.marks]) + untold


_STRING: Final = 1 << 63
"""Bit of a stream that belongs to a string."""


class NumberPolicy(StrEnum):
    """Policy for numbers; the key of a memo has its representation."""

    WORD = "word"
    """A word of the vocabulary, as all other words do."""
    VALUE = "value"
    """A number of the same form, mostly near in value."""


def check_numbers(policy: str, guarantee: Guarantee) -> None:
    """Refuse what no number could be drawn with.

    Raises:
        UsageError: the mechanism has no finite LDP epsilon for a word, or has a better guarantee
            for neighbours, which numbers do not have.
    """
    unbounded = guarantee.metric is not None or guarantee.epsilon_ldp == np.inf
    what = "numbers by value need a mechanism whose guarantee is an LDP epsilon for each word"
    hint = Hint("such as mechanism='optimal-response'", "such as -m optimal-response")
    refuse(policy == NumberPolicy.VALUE and unbounded, what, hint)


def kind_or_number(token: str, *, by_value: bool) -> Kind | FormedNumber | None:
    """Return what a token is drawn as: a string of its kind, or a number by value; None: a word.

    Args:
        by_value: whether dates and numbers are drawn by value where their form has an order.
    """
    from dpsan.only.alone import alone  # patterns that take time

    kind = alone().kind(token)
    if kind is not None and by_value and kind.word_class in (DATES, NUMBERS):
        from dpsan.text.number_forms import formed_number

        return formed_number(token) or kind
    return kind


class _Drawn(NamedTuple):
    """How a number or string is drawn."""

    write: Callable[[Sequence[int]], str]
    """Return the string of some numbers, each below its bound."""
    sizes: list[int]
    """Bounds of these numbers."""
    response: tuple[GridResponse, int]
    """Distribution of the first number, and the value of the string."""
    same: float
    """Probability that nothing changes."""


class Numbers:
    """Draws numbers by value.

    Args:
        epsilon: LDP epsilon of each number by value; None: none is drawn by value.
        unit: within what equal ones have the same draw.
        strings: also strings of a kind, which are drawn uniformly.
    """

    def __init__(self, epsilon: float | None, unit: Unit | None, *, strings: bool = False) -> None:
        self._epsilon, self._unit, self._strings = epsilon, unit, strings
        self._kinds = BoundedCache(self._kind_of, 1 << 14)

    def _kind_of(self, word: str) -> _Drawn:
        """Return how a number or string is drawn."""
        from dpsan.mechanisms.tables.sparse import grid_response, uniform
        from dpsan.text.number_forms import FormedNumber, formed_number  # patterns that take time

        by_value = self._epsilon is not None
        number = kind_or_number(word, by_value=by_value) if self._strings else formed_number(word)
        assert number is not None  # noqa: S101 - the look-up found a kind
        if not isinstance(number, FormedNumber):
            sizes = number.sizes
            return _Drawn(number.write, sizes, (uniform(sizes[0]), 0), 1 / prod(sizes))
        grid = grid_response(self._epsilon or 0.0, number.size, number.widest)
        same, write = min(1.0, number.widest * grid.inside / grid.total), number.written
        return _Drawn(lambda bits: write(bits[0]), [number.size], (grid, number.value), same)

    def forms(self, words: Sequence[str]) -> Forms:
        """Return the smallest form of strings, and how many may stay unchanged by chance."""
        kinds = [self._kinds[word] for word in words]
        return Forms(min(prod(kind.sizes) for kind in kinds), sum(kind.same for kind in kinds))

    def drawn(self, words: Sequence[str], indices: Ids, streams: randomness.Streams) -> list[str]:
        """Return another number for each, from the streams of a batch.

        Args:
            words: the numbers.
            indices: index of each number among the drawn words of the batch, ascending.
            streams: one for each drawn word of the batch.
        """
        from dpsan.mechanisms.tables.sparse import respond
        from dpsan.only.draws import draw_further

        kinds = [self._kinds[word] for word in words]
        drawn = [[value] for value in respond([kind.response for kind in kinds], indices, streams)]
        draw_further(drawn, [kind.sizes for kind in kinds], indices.tolist(), streams)
        return [kind.write(bits) for kind, bits in zip(kinds, drawn, strict=True)]

    def drawn_once(
        self, words: Sequence[str], records: Ids, key: bytes, by_word: dict[str, int] | None = None
    ) -> list[str]:
        """Return the same where each has a stream of its own, and equal ones of a unit the same.

        Without a unit each mention is drawn anew.  In a record, streams are numbered in the order
        in which numbers appear, so that no draw depends on how a number is spelt.

        Args:
            words: the numbers.
            records: the number of the record of each, (words,).
            key: of the batch.
            by_word: where the words are parts of one record, numbers of its earlier parts; grows.
        """
        subkey, by_record = randomness.derive_key(key, "numbers"), self._unit in (None, Unit.RECORD)
        units = records.tolist() if by_record else [0] * len(words)
        names = [folded(word) for word in words]
        if self._unit is None:
            names = [str(len(by_word or ()) + at) for at in range(len(words))]
        in_unit = list(zip(units, names, words, strict=True))
        orders: defaultdict[int, dict[str, int]] = defaultdict(dict)
        drawn_as: dict[tuple[int, str], int] = {}
        positions: list[tuple[int, int]] = []
        spellings = dict.fromkeys(in_unit, 0)
        for unit, string, word in spellings:
            if (unit, string) not in drawn_as:
                order = orders[unit] if by_word is None else by_word
                drawn_as[unit, string] = len(drawn_as)
                positions.append((unit, order.setdefault(string, len(order)) | _STRING))
            spellings[unit, string, word] = drawn_as[unit, string]
        if not by_record:
            positions = randomness.string_positions(subkey, [string for _, string in drawn_as])
        # Spellings of one string have the same form and value, and so the same digits.
        order_of_draws = sorted(spellings, key=spellings.__getitem__)
        indices = np.array([spellings[pair] for pair in order_of_draws])
        streams = randomness.streams_by_word(subkey, [], positions)
        values = self.drawn([word for *_, word in order_of_draws], indices, streams)
        written = dict(zip(order_of_draws, values, strict=True))
        return [written[pair] for pair in in_unit]
