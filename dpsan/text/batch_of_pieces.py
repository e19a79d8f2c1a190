"""Texts that were cut at spaces, as a batch: words, and what is written between them.

Knows pieces and their codes.  Must not know vocabularies, or how pieces are looked up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Final

import numpy as np

from dpsan.text.batch import BETWEEN, CHUNK, MARK, Batch, Chunk, Ids, Words
from dpsan.text.pieces import Pieces

_MARK: Final = Chunk([MARK], [], [])


def joined_at_spaces(
    blocks: Sequence[Pieces], found: Sequence[Ids], chunk_of: Callable[[str], Chunk]
) -> Batch:
    """Texts in blocks, with marks between them.

    Args:
        blocks: the pieces of some texts each.
        found: of each block the codes of pieces without tails.
        chunk_of: says what a piece is that has none.
    """
    codes = np.concatenate(found)
    special = np.flatnonzero(codes <= CHUNK)
    between = codes[special] == BETWEEN
    chunks = [_MARK] * len(special)
    others = np.flatnonzero(~between)
    for place, piece in zip(others.tolist(), _strings(blocks, special[others]), strict=True):
        chunks[place] = chunk_of(piece)
    counts = np.ones(len(codes), dtype=np.int64)
    counts[special] = [len(chunk.words) for chunk in chunks]
    ends = np.cumsum(counts)
    begins = (ends - counts)[special]
    total = int(ends[-1])
    gaps = [" "] * (total + 1)
    gaps[0] = ""
    unusual = np.zeros(total + 1, dtype=np.bool_)
    unusual[[0, total]] = True
    first = 0
    for block, own in zip(blocks, found, strict=True):
        tails = np.flatnonzero((block.tails > 0) & (own > CHUNK))
        places = ends[first + tails]
        for place, gap in zip(places.tolist(), block.behind(tails), strict=True):
            gaps[place] = gap
        unusual[places] = True
        first += len(block)
    more = []
    added = defaultdict[int, list[str]](list)
    """What follows in some gaps: joined at the end, as most of a text may be one gap."""
    before = (begins + np.cumsum(between)).tolist()
    for at, place, (inner, words, _, _, longer) in zip(
        begins.tolist(), before, chunks, strict=True
    ):
        if longer:
            more.append((place, longer))
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
    gaps[-1] = gaps[-1][:-1]  # no space behind the last piece
    own_code = codes > CHUNK
    within = np.repeat(~own_code, counts)
    unusual[begins] = True
    unusual[1:] |= within
    sizes = np.diff(begins[between], prepend=0, append=total)
    codes = np.repeat(codes, counts)
    codes[within] = list(chain.from_iterable([chunk.codes for chunk in chunks]))
    words_of = partial(_words, blocks, special.tolist(), [chunk.words for chunk in chunks])
    invisible = sum([chunk.invisible for chunk in chunks])
    odd = np.flatnonzero(unusual)
    return Batch(gaps, Words(total, words_of), codes, sizes, odd, f" {MARK} ", invisible, more)


def _strings(blocks: Sequence[Pieces], places: Ids) -> list[str]:
    """Some pieces of all blocks, ascending."""
    ends = np.cumsum([len(block) for block in blocks])
    cuts = np.searchsorted(places, ends)
    out: list[str] = []
    for block, end, some in zip(blocks, ends.tolist(), np.split(places, cuts), strict=False):
        out += block.strings(some - (end - len(block)), tails=True)
    return out


def _words(
    blocks: Sequence[Pieces], special: Sequence[int], others: Sequence[Sequence[str]]
) -> list[str]:
    """All words: pieces, and in the places of some what these have instead."""
    pieces = [*chain.from_iterable(block.strings(slice(None)) for block in blocks)]
    words: list[str] = []
    done = 0
    for place, some in zip(special, others, strict=True):
        words += pieces[done:place]
        words += some
        done = place + 1
    return words + pieces[done:]
