"""An original and its sanitized version, record by record and word by word.

Texts are held for those figures that need strings; no message contains any of them.

Gaps (white space, punctuation) pass a sanitizer unchanged, so the gaps of the original line cut the
sanitized one; a word of the output may hold characters that a gap is made of ("U.S."), so every cut
is tried whose words could have been written by a sanitizer, and the shortest words win where
several cuts are left.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np

from dpsan.analysis.evaluate.vocabulary import HELD, OTHER, Vocabulary, WordKind
from dpsan.errors import InputError
from dpsan.files.compression import open_decompressed
from dpsan.formats.base import ReadOptions, Record
from dpsan.formats.kinds import format_for
from dpsan.outcomes.ngrams import Gap, gap_kind
from dpsan.space.arrays import Ids, Mask
from dpsan.text.tokens import folded, gaps_to_write

_STATES: Final = 4096
"""Positions in a line that are followed at once; hostile lines are given up beyond it."""
_SLACK = 4


def aligned(
    gaps: Sequence[str],
    line: str,
    split: Callable[[str], list[str]],
    possible: Callable[[int, str], bool],
    longest: int,
) -> list[str] | None:
    """Return the output words of a line, or None if it cannot have come from these gaps.

    Args:
        gaps: of the original line, one more than words.
        split: the tokenizer: line -> alternating list of gaps and words.
        possible: (number of the word, string) -> whether a sanitizer can have written it there.
        longest: length of the longest such string.
    """
    pieces = split(line)
    words, alike = pieces[1::2], pieces[::2] == gaps
    if alike and all(possible(at, word) for at, word in enumerate(words)):
        return words
    words_cut = cut(gaps, line, possible, longest)
    # Another program's words have the same positions all the same.
    return words if words_cut is None and alike else words_cut


def cut(
    gaps: Sequence[str], line: str, possible: Callable[[int, str], bool], longest: int
) -> list[str] | None:
    """Cut a line at gaps into possible words; None where there is no way.

    Args:
        gaps: in order, one more than words.
        possible: (number of the word, string) -> bool.
        longest: length of the longest possible string.
    """
    if not line.startswith(gaps[0]):
        return None
    if len(gaps) == 1:
        return [] if line == gaps[0] else None
    # Positions after each gap, with the position after the gap before: found forwards, all at once.
    layers: list[dict[int, int]] = [{len(gaps[0]): -1}]
    for at, gap in enumerate(gaps[1:]):
        last = at == len(gaps) - 2
        reached: dict[int, int] = {}
        for begin in layers[-1]:
            for end in _ends(line, begin, gap, longest, last=last):
                after = end + len(gap)
                if after not in reached and possible(at, line[begin:end]):
                    reached[after] = begin
        if not reached or len(reached) > _STATES:
            return None
        layers.append(reached)
    words = []
    index = len(line)
    for at in range(len(gaps) - 1, 0, -1):
        begin = layers[at][index]
        words.append(line[begin : index - len(gaps[at])])
        index = begin
    return words[::-1]


def _ends(line: str, begin: int, gap: str, longest: int, *, last: bool) -> list[int]:
    """Return possible ends of the word at ``begin``: before a gap, at most ``longest`` further."""
    if last:
        end = len(line) - len(gap)
        return [end] if begin < end <= begin + longest and line.endswith(gap) else []
    if not gap:
        return list(range(begin + 1, min(begin + longest, len(line)) + 1))
    out, end = [], begin
    while (end := line.find(gap, end + 1, begin + longest + len(gap))) >= 0:
        out.append(end)
    return out


@dataclass(frozen=True)
class Inputs:
    """Options for reading both files."""

    format: str = "auto"
    options: ReadOptions = field(default_factory=ReadOptions)


@dataclass
class Pairs:
    """Two versions of the same records; m words in all lines that could be aligned."""

    original: list[str] = field(repr=False)
    """One text a record (or field of a record), in order."""
    sanitized: list[str] = field(repr=False)
    lines: list[int] = field(repr=False)
    """Line of each text in its file."""
    records: int
    unaligned: int
    """Texts whose words could not be paired; they are in no figure by word."""
    text: Ids = field(repr=False)
    """Number of the text of each word, ascending, shape (m,)."""
    spans: Ids = field(repr=False)
    """First code point and the one after the last of each word in the original, (m, 2)."""
    inputs: Ids = field(repr=False)
    """Row of each word of the original, n where it is unknown, (m,)."""
    outputs: Ids = field(repr=False)
    """Row of each output word, or MASKED or OTHER, (m,)."""
    same: Mask = field(repr=False)
    """True for each word that is unchanged, but for letter case, shape (m,)."""
    kinds: Ids = field(repr=False)
    """Kind of the gap before each word, LINE before the first of a text, (m,)."""
    classes: Ids = field(repr=False)
    """Sum of ``1 << position in WordKind``, (m,)."""
    more: tuple[Ids, ...] = field(default=(), repr=False)
    """Outputs of further independent noisings of the same words, (m,) each."""

    def of(self, kind: WordKind) -> Mask:
        """Return a mask of the words of a class, shape (m,)."""
        return np.asarray((self.classes >> list(WordKind).index(kind)) & 1, dtype=np.bool_)


def records(path: Path, inputs: Inputs) -> Iterator[Record]:
    """Yield the records of a file.

    Raises:
        InputError: it cannot be read, naming file and line.
    """
    with open_decompressed(path, steady=True) as source:
        for record in format_for(inputs.format, str(path)).read(source, inputs.options):
            if record and record.part == "record" and not record.bare and record.texts:
                yield record


def read_pairs(
    original: Path, sanitized: Path, inputs: Inputs, vocabulary: Vocabulary, copies: int = 1
) -> Pairs:
    """Read and align an original and its sanitized versions.

    Args:
        copies: versions of each record in the sanitized file, one after the other.

    Raises:
        InputError: a file cannot be read, or they have not the same number of records.
    """
    reading = _Reading(vocabulary)
    first = records(original, inputs)
    others = records(sanitized, inputs)
    for record in first:
        reading.records += 1
        versions = list(islice(others, copies))
        if len(versions) < copies:
            many = copies * (reading.records - 1) + len(versions)
            originals = reading.records + sum(1 for _ in first)
            where = f"{original}:{reading.apart or record.line}"
            raise _unequal(sanitized, many, original, originals, copies, where)
        for other in versions:
            if len(record.texts) != len(other.texts):
                what = f"{len(other.texts)} texts where the original has {len(record.texts)}"
                hint = "the same records and --field in both"
                raise InputError(sanitized, what, hint, line=other.line)
        for texts in zip(record.texts, *(other.texts for other in versions), strict=True):
            reading.add(texts[0], texts[1:], record.line)
    if extra := next(others, None):
        many = copies * reading.records + 1 + sum(1 for _ in others)
        where = f"{original}:{reading.apart}" if reading.apart else f"{sanitized}:{extra.line}"
        raise _unequal(sanitized, many, original, reading.records, copies, where)
    return reading.pairs()


def _unequal(
    path: Path, many: int, original: Path, originals: int, copies: int, where: str
) -> InputError:
    times = "" if copies == 1 else f", {copies} copies of each"
    hint = "the sanitized versions of every record, in order; see --copies"
    what = f"{many} records where {original} has {originals}{times}; they part at {where}"
    return InputError(path, what, hint)


class _Reading:
    """Texts and words as they are collected."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self.records = 0
        self._unaligned = 0
        self.apart: int | None = None
        """Line of the first text that could not be aligned."""
        self._texts: tuple[list[Any], list[Any], list[Any]] = ([], [], [])
        """Originals, first sanitized versions and lines."""
        self._parts: list[Ids] = []
        self._versions = 1
        self._code = lru_cache(maxsize=HELD)(vocabulary.code)

    def add(self, original: str, versions: Sequence[str], line: int) -> None:
        """The next text, and its sanitized versions."""
        number, vocabulary = len(self._texts[0]), self._vocabulary
        self._versions = len(versions)
        for column, part in zip(self._texts, (original, versions[0], line), strict=True):
            column.append(part)
        pieces, codes = vocabulary.inputs(original)
        alignment = self._align(pieces, versions)
        if alignment is None:  # not made by dpsan: compounds may have been one word
            pieces = vocabulary.split(original)
            rows = map(vocabulary.row, pieces[1::2])
            codes = [vocabulary.n if row is None else row for row in rows]
            alignment = self._align(pieces, versions)
        gaps, words = pieces[::2], pieces[1::2]
        if alignment is None:
            self._unaligned += 1
            self.apart = self.apart or line
            return
        if not words:
            return
        ends = np.cumsum([len(piece) for piece in pieces])
        first, *more = alignment
        self._parts.append(
            np.array(
                [
                    [number] * len(words),
                    ends[0:-1:2],
                    ends[1::2],
                    codes,
                    [self._code(word) for word in first],
                    [a == b or folded(a) == folded(b) for a, b in zip(words, first, strict=True)],
                    [Gap.LINE, *map(gap_kind, gaps[1:-1])],
                    vocabulary.classes(gaps, words, codes),
                    *([self._code(word) for word in part] for part in more),
                ],
                dtype=np.int64,
            )
        )

    def _align(self, pieces: list[str], versions: Sequence[str]) -> list[list[str]] | None:
        """Return the output words of every version, or None if one of them cannot be aligned."""
        pieces = pieces.copy()
        pieces[::2], _ = gaps_to_write(pieces[::2])
        gaps, words = pieces[::2], pieces[1::2]
        longest = max([self._vocabulary.longest, *map(len, words)]) + _SLACK

        def possible(at: int, word: str) -> bool:
            return word == words[at] or self._code(word) != OTHER

        out = []
        for line in versions:
            if (outputs := aligned(gaps, line, self._vocabulary.split, possible, longest)) is None:
                return None
            out.append(outputs)
        return out

    def pairs(self) -> Pairs:
        """Return all of it."""
        empty = np.zeros((7 + self._versions, 0), dtype=np.int64)
        table = np.concatenate([empty, *self._parts], axis=1)
        return Pairs(
            *self._texts,
            self.records,
            self._unaligned,
            text=table[0],
            spans=table[1:3].T,
            inputs=table[3],
            outputs=table[4],
            same=table[5].astype(np.bool_),
            kinds=table[6],
            classes=table[7],
            more=tuple(table[8:]),
        )
