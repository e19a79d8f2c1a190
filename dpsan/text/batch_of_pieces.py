"""Texts that were cut at spaces, as a batch: words, and what is written between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from dpsan.text.batch import BETWEEN, CHUNK, EMPTY, MARK, Batch, Chunk, Ids, Mask, Words
from dpsan.text.pieces import Pieces

_MARK: Final = Chunk([MARK], [], [])


class _Cut(NamedTuple):
    """Texts in pieces that are looked up."""

    blocks: Sequence[Pieces]
    """The pieces; none where all are chunks."""
    codes: Ids
    """Of each piece."""
    tails: Ids
    """Number of characters of the tail of each."""
    special: Ids
    """The pieces that are no word, ascending."""
    chunks: Sequence[Chunk]
    """What each of them is."""


def joined(texts: Sequence[Chunk]) -> Batch:
    """Texts of any kind, each one chunk."""
    if not texts:
        none = np.zeros(0, dtype=np.int64)
        first = np.zeros(1, dtype=np.int64)
        return Batch([""], none, first, MARK, Words(0, lambda _: []), none, 0, [])
    marks = sum(gap.count(MARK) for text in texts for gap in text.gaps)
    mark = MARK * (marks + 1)  # more than there are together
    codes = np.full(2 * len(texts) - 1, CHUNK)
    codes[1::2] = BETWEEN
    chunks = [Chunk([mark], [], [])] * len(codes)
    chunks[::2] = texts
    every = np.arange(len(codes))
    return _batch(_Cut([], codes, np.zeros_like(codes), every, chunks), f" {mark} ")


def joined_at_spaces(
    blocks: Sequence[Pieces], codes_of: Sequence[Ids], chunk_of: Callable[[str], Chunk]
) -> Batch:
    """Texts in blocks, with marks between them.

    Args:
        blocks: the pieces of some texts each.
        codes_of: of each block the codes of pieces without tails.
        chunk_of: says what a piece is that has none.
    """
    codes = np.concatenate(codes_of)
    tails = np.concatenate([block.tails for block in blocks])
    special, chunks = _chunks(blocks, codes, chunk_of)
    return _batch(_Cut(blocks, codes, tails, special, chunks), f" {MARK} ")


def _batch(texts: _Cut, seam: str) -> Batch:
    """Return the batch of some texts.

    Args:
        seam: stands between two of them.
    """
    blocks, codes, tails, special, chunks = texts
    chunks_here = codes > CHUNK
    counts = chunks_here.astype(np.int64)
    counts[special] = [len(chunk.words) for chunk in chunks]
    ends = np.cumsum(counts)
    begins = (ends - counts)[special]
    total = int(ends[-1])
    between = codes[special] == BETWEEN
    trailing = chunks_here & (tails > 0)
    tails = ends[trailing]
    gaps = [" "] * (total + 1)
    gaps[0] = ""
    for at, gap in zip(tails.tolist(), _each(blocks, trailing, Pieces.trailing), strict=True):
        gaps[at] = gap
    added = defaultdict[int, list[str]](list)
    """Strings after some gaps, joined at the end, as most of a text may be one gap."""
    longer = []
    before = (begins + np.cumsum(between)).tolist()
    for at, index, (inner, words, _, _, more) in zip(begins.tolist(), before, chunks, strict=True):
        if more:
            longer.append((index, more))
        if not words:
            added[at] += inner[0], " "
            continue
        if inner[0]:
            added[at].append(inner[0])
        end = at + len(words)
        gaps[end] = inner[-1] + " "
        gaps[at + 1 : end] = inner[1:-1]
    for at, parts in added.items():
        gaps[at] += "".join(parts)
    gaps[-1] = gaps[-1][:-1]  # no space after the last piece
    sizes = np.diff(begins[between], prepend=0, append=total)
    within = np.repeat(~chunks_here, counts)
    codes = np.repeat(codes, counts)
    codes[within] = list(chain.from_iterable([chunk.codes for chunk in chunks]))
    odd = np.zeros(total + 1, dtype=np.bool_)
    odd[[0, total]] = odd[tails] = odd[begins] = True
    odd[1:] |= within
    return Batch(
        gaps,
        sizes,
        np.flatnonzero(odd),
        seam,
        Words(total, partial(_words, texts, chunks_here, ends)),
        codes,
        sum([chunk.invisible for chunk in chunks]),
        longer,
    )


def _chunks(
    blocks: Sequence[Pieces], codes: Ids, chunk_of: Callable[[str], Chunk]
) -> tuple[Ids, list[Chunk]]:
    """Return positions and kinds of pieces that are no word; of several empty ones the first."""
    empty = codes == EMPTY
    again = empty & np.append(False, empty[:-1])
    special = np.flatnonzero((codes <= CHUNK) & ~again)
    kinds = codes[special]
    chunks = [_MARK] * len(special)
    others = np.flatnonzero(kinds == CHUNK).tolist()
    pieces = _each(blocks, codes == CHUNK, partial(Pieces.strings, tails=True))
    for index, piece in zip(others, pieces, strict=True):
        chunks[index] = chunk_of(piece)
    runs = np.flatnonzero(kinds == EMPTY)
    first = np.flatnonzero(~again)
    more = np.diff(first, append=len(codes)) - 1
    more = more[np.searchsorted(first, special[runs])]
    for index, count in zip(runs.tolist(), more.tolist(), strict=True):
        chunks[index] = Chunk([" " * count], [], [])
    return special, chunks


def _each(
    blocks: Sequence[Pieces], chosen: Mask, strings: Callable[[Pieces, Ids], list[str]]
) -> Iterator[str]:
    """Yield a string for each chosen piece of all blocks."""
    end = 0
    for block in blocks:
        begin, end = end, end + len(block)
        yield from strings(block, np.flatnonzero(chosen[begin:end]))


def _words(texts: _Cut, chunks_here: Mask, ends: Ids, indices: Ids) -> list[str]:
    """Return the words at some indices.

    Args:
        chunks_here: whether each piece is a word.
        ends: number of words up to the end of each piece.
    """
    blocks, _, _, special, chunks = texts
    pieces = np.searchsorted(ends, indices, side="right")
    firsts = np.cumsum([0, *map(len, blocks)])
    in_block = np.searchsorted(firsts, pieces, side="right") - 1
    alone = chunks_here[pieces]
    out = [""] * len(indices)
    for number, block in enumerate(blocks):
        mine = np.flatnonzero(alone & (in_block == number))
        strings = block.strings(pieces[mine] - firsts[number])
        for at, word in zip(mine.tolist(), strings, strict=True):
            out[at] = word
    others = np.flatnonzero(~alone)
    before_end = (indices - ends[pieces])[others].tolist()
    numbers = np.searchsorted(special, pieces[others]).tolist()
    for at, number, from_end in zip(others.tolist(), numbers, before_end, strict=True):
        out[at] = chunks[number].words[from_end]
    return out
