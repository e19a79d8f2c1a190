"""The texts of a batch as one row of gaps and words, so that all words are worked on at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
Mask = NDArray[np.bool_]

MARK: Final = "\0"
"""Stands between two texts."""
CHUNK: Final = -7
"""The code of what is more or less than a word."""
BETWEEN: Final = -8
"""The code of a mark."""
EMPTY: Final = -9
"""The code of nothing, between two spaces."""


class Chunk(NamedTuple):
    """Some words of a text and the gaps around them: one more than words."""

    gaps: list[str]
    """Gaps as they will be written."""
    words: list[str]
    codes: list[int]
    invisible: int = 0
    """Characters of the gaps that are not written."""
    more: list[int] | None = None
    """Number of characters that each gap was longer in the input; None: no gap was."""


@dataclass(frozen=True, slots=True)
class Words:
    """Words that are made when they are requested, which is rare."""

    count: int
    some: Callable[[Ids], list[str]]
    """Returns those at some indices; all words are not made for them."""

    def __iter__(self) -> Iterator[str]:
        return iter(self.some(np.arange(self.count)))

    def __getitem__(self, index: int) -> str:
        return self.some(np.array([index]))[0]


@dataclass(frozen=True, slots=True)
class Layout:
    """What will be written between the words of some texts; it has no word of them."""

    gaps: list[str]
    """Before each word, and after the last: one more than words.  One that ends a text goes on
    with the seam and the gap that begins the next text."""
    sizes: Ids
    """Words of each text, (texts,)."""
    odd: Ids
    """Positions of the gaps that may be no single space, ascending."""
    seam: str
    """Occurs in no gap of a text."""

    def lines(self, outputs: list[str]) -> list[str]:
        """Return the texts with these words, (words,)."""
        if not len(self.sizes):
            return []
        pieces = [""] * (2 * len(outputs) + 1)
        pieces[::2], pieces[1::2] = self.gaps, outputs
        lines = "".join(pieces).split(self.seam)
        if len(lines) == len(self.sizes):
            return lines
        # A word has the seam in it.
        gaps = self.seam.join(self.gaps).split(self.seam)
        lines, at = [], 0
        for text, size in enumerate(self.sizes.tolist()):
            pieces = [""] * (2 * size + 1)
            pieces[::2], pieces[1::2] = (
                gaps[at + text : at + text + size + 1],
                outputs[at : at + size],
            )
            lines.append("".join(pieces))
            at += size
        return lines


@dataclass(frozen=True, slots=True)
class Batch(Layout):
    """The words of some texts and what will be written between them."""

    words: Words
    codes: Ids
    """Input code of each word, shape (words,)."""
    invisible: int
    more: list[tuple[int, list[int]]]
    """First gap of some chunks (each text has one gap more than words), and lost characters."""

    def gap_lengths(self) -> tuple[Ids, Ids]:
        """Code points of the gap before each word that will be written, and of that which was read,
        both (words,).
        """
        lengths = np.ones(len(self.codes), dtype=np.int64)
        odd = self.odd[: np.searchsorted(self.odd, len(lengths))]
        lengths[odd] = list(map(len, map(self.gaps.__getitem__, odd.tolist())))
        ends = np.cumsum(self.sizes)
        # What is before a seam belongs to an earlier text.
        begun = (ends - self.sizes)[1:][self.sizes[1:] > 0]
        seam = self.seam
        lengths[begun] -= len(seam) + np.array(
            [self.gaps[index].rfind(seam) for index in begun.tolist()], dtype=np.int64
        )
        if not self.more:
            return lengths, lengths
        every = np.zeros(len(self.codes) + len(self.sizes), dtype=np.int64)
        for begin, differences in self.more:
            every[begin : begin + len(differences)] += differences
        return lengths, lengths + np.delete(every, ends + np.arange(len(ends)))


T = TypeVar("T")

_LONGEST: Final = 64
"""Characters of the longest string that is stored."""


class BoundedCache(dict[str, T]):
    """Memoize a function of strings, for at most ``most`` strings of up to 64 characters."""

    def __init__(self, function: Callable[[str], T], most: int) -> None:
        super().__init__()
        self._function, self._most = function, most

    def __missing__(self, text: str) -> T:
        value = self._function(text)
        if len(text) <= _LONGEST:
            if len(self) >= self._most:
                self.clear()
            self[text] = value
        return value
