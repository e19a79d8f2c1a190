"""The texts of a batch as one row of gaps and words, so that all words are worked on at once.

Knows pieces of text and codes.  Must not know vocabularies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, compress
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]

MARK: Final = "\0"
"""Stands between two texts."""
CHUNK: Final = -6
"""The code of what is not one word without a gap, and is not remembered."""
BETWEEN: Final = -7
"""The code of a mark; below it are those of other chunks."""


class Chunk(NamedTuple):
    """Some words of a text and the gaps around them: one more than words."""

    gaps: list[str]
    """As they will be written."""
    words: list[str]
    codes: list[int]
    invisible: int = 0
    """Characters of the gaps that are not written."""
    more: list[int] | None = None
    """How much longer each gap was in the input; None: none was."""


@dataclass(frozen=True, slots=True)
class Batch:
    """The words of some texts and what will be written between them."""

    gaps: list[str]
    """Before each word, and behind the last: one more than words.  One that ends a text goes on
    with the seam and the gap that begins the next text."""
    words: list[str]
    codes: Ids
    """What each word stands for, (words,)."""
    sizes: Ids
    """Words of each text, (texts,)."""
    odd: Ids
    """Places of the gaps that may be no single space, ascending."""
    seam: str
    """Occurs in no gap of a text."""
    invisible: int
    more: list[tuple[int, list[int]]]
    """Of some chunks the place of the first word, and how much longer the gaps were."""

    def lines(self, outputs: list[str]) -> list[str]:
        """The texts with these words, (words,)."""
        if not len(self.sizes):
            return []
        pieces = [""] * (2 * len(outputs) + 1)
        pieces[::2], pieces[1::2] = self.gaps, outputs
        lines = "".join(pieces).split(self.seam)
        if len(lines) == len(self.sizes):
            return lines
        gaps = self.seam.join(self.gaps).split(self.seam)  # a word has the seam in it
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

    def gap_lengths(self) -> tuple[Ids, Ids]:
        """Code points of the gaps that will be written, one more in each text than words, and of
        those that were read.
        """
        seams = np.bincount(np.cumsum(self.sizes[:-1]), minlength=len(self.gaps))
        last = np.arange(len(self.gaps)) + np.cumsum(seams)
        first = last - seams
        lengths = np.ones(len(self.words) + len(self.sizes), dtype=np.int64)
        if len(self.odd) and len(lengths):
            parts = self.seam.join([self.gaps[place] for place in self.odd.tolist()])
            counts = seams[self.odd] + 1
            places = np.repeat(first[self.odd] - np.cumsum(counts) + counts, counts)
            places += np.arange(len(places))
            lengths[places] = list(map(len, parts.split(self.seam)))
        if not self.more:
            return lengths, lengths
        read = lengths.copy()
        for begin, differences in self.more:
            read[last[begin]] += differences[0]
            read[first[begin + 1 : begin + len(differences)]] += differences[1:]
        return lengths, read


def joined(texts: Sequence[Chunk], gaps_with_marks: str = "") -> Batch:
    """Texts of any kind, each one chunk.

    Args:
        gaps_with_marks: all gaps, if there are marks in some.
    """
    seam = f" {MARK * (gaps_with_marks.count(MARK) + 1)} "  # more marks than there are together
    gaps = [""]
    more = []
    for text, chunk in enumerate(texts):
        gaps[-1] += (seam if text else "") + chunk.gaps[0]
        if chunk.more and chunk.words:
            more.append((len(gaps) - 1, chunk.more))
        gaps += chunk.gaps[1:]
    codes = list(chain.from_iterable(chunk.codes for chunk in texts))
    return Batch(
        gaps,
        list(chain.from_iterable(chunk.words for chunk in texts)),
        np.array(codes, dtype=np.int64),
        np.array([len(chunk.words) for chunk in texts], dtype=np.int64),
        np.arange(len(gaps)),
        seam,
        sum(chunk.invisible for chunk in texts),
        more,
    )


def at_spaces_joined(
    pieces: list[str], codes: Ids, chunks_of: Callable[[list[str], Ids], list[Chunk]]
) -> Batch:
    """Texts that were cut at spaces, with marks between them.

    Args:
        pieces: words, and what is more or less than a word; changed.
        codes: of each piece, (pieces,).
        chunks_of: says what pieces are that are no word.
    """
    special = np.flatnonzero(codes <= CHUNK)
    chunks = chunks_of([pieces[place] for place in special.tolist()], codes[special])
    counts = np.ones(len(pieces), dtype=np.int64)
    counts[special] = [len(chunk.words) for chunk in chunks]
    ends = np.cumsum(counts)
    begins = (ends - counts)[special]
    total = int(ends[-1])
    gaps = [" "] * (total + 1)
    gaps[0] = ""
    several, more = [], []
    for place, at, (inner, own, _, _, longer) in zip(
        special.tolist(), begins.tolist(), chunks, strict=True
    ):
        if not own:
            gaps[at] += inner[0] + " "
            continue
        if inner[0]:
            gaps[at] += inner[0]
        end = at + len(own)
        gaps[end] = inner[-1] + " "
        pieces[place] = own[-1]
        if end > at + 1:
            gaps[at + 1 : end] = inner[1:-1]
            several.append((place, own[:-1]))
        if longer:
            more.append((at, longer))
    gaps[-1] = gaps[-1][:-1]  # no space behind the last piece
    own_code = codes > CHUNK
    words = _with_others(pieces, counts, several)
    within = np.repeat(~own_code, counts)
    unusual = np.zeros(total + 1, dtype=np.bool_)
    unusual[[0, total]] = True
    unusual[begins] = True
    unusual[1:] |= within
    sizes = np.diff(begins[codes[special] == BETWEEN], prepend=0, append=total)
    codes = np.repeat(codes, counts)
    codes[within] = list(chain.from_iterable([chunk.codes for chunk in chunks]))
    invisible = sum([chunk.invisible for chunk in chunks])
    return Batch(gaps, words, codes, sizes, np.flatnonzero(unusual), f" {MARK} ", invisible, more)


def _with_others(pieces: list[str], counts: Ids, several: list[tuple[int, list[str]]]) -> list[str]:
    """Pieces that are words, and before some of them others."""
    words: list[str] = []
    done = 0
    there = (counts > 0).tolist()
    for place, before in several:
        words += compress(pieces[done:place], there[done:place])
        words += before
        done = place
    if done:
        pieces, there = pieces[done:], there[done:]
    words += compress(pieces, there)
    return words
