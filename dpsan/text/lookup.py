"""From strings to inputs: which row number, or which rule, every word of a text stands for."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from dpsan.text import batch as batches
from dpsan.text.batch import CHUNK, MARK, Batch, BoundedCache, Chunk, Ids, Mask, Pieces
from dpsan.text.shape import INVISIBLE, amount
from dpsan.text.spanned_tokens import Spans, in_spans
from dpsan.text.tokens import gaps_to_write, lookup_keys

KEPT: Final = -1
"""On the keep-list."""
MASKED: Final = -2
"""Unknown, and masked."""
OUTSIDE: Final = -3
"""Outside the spans that are drawn, and written unchanged."""
_CACHE_TOKENS: Final = 100_000
_CACHE_CHUNKS: Final = 50_000
"""Each takes some 500 bytes."""
_TEXTS: Final = 1024
"""Texts that are cut and looked up at once, so that they stay in the processor's cache."""
_FEW: Final = 2000
"""Characters of texts that are sooner split as they are."""
_PLAIN: Final = frozenset(",.;:!?")
"""Most gaps are of these, which are written as they are."""


# Texts that were cut at spaces, as a batch: words, and what is written between them.

_MARK: Final = Chunk([MARK], [], [])


class _Cut(NamedTuple):
    """Texts in pieces that are looked up."""

    blocks: Sequence[Pieces]
    """The pieces; none where all are chunks."""
    codes: Ids
    """Code of each piece."""
    tails: Ids
    """Number of characters of the tail of each piece."""
    special: Ids
    """The pieces that are no word, ascending."""
    chunks: Sequence[Chunk]
    """The chunk of each of these pieces."""


def joined(texts: Sequence[Chunk]) -> Batch:
    """Texts of any kind, each one chunk."""
    if not texts:
        none, first = np.arange(0), np.arange(1)
        return Batch([""], none, first, MARK, batches.Words(0, lambda _: []), none, 0, [])
    marks = sum(piece.count(MARK) for text in texts for piece in (*text.gaps, *text.words))
    mark = MARK * (marks + 1)  # more than there are together
    codes = np.full(2 * len(texts) - 1, CHUNK)
    codes[1::2] = batches.BETWEEN
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
    between = codes[special] == batches.BETWEEN
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
    made = batches.Words(total, partial(_words, texts, chunks_here, ends))
    lost = sum([chunk.invisible for chunk in chunks])
    return Batch(gaps, sizes, np.flatnonzero(odd), seam, made, codes, lost, longer)


def _chunks(
    blocks: Sequence[Pieces], codes: Ids, chunk_of: Callable[[str], Chunk]
) -> tuple[Ids, list[Chunk]]:
    """Return positions and kinds of pieces that are no word; of several empty ones the first."""
    empty = codes == batches.EMPTY
    again = empty & np.append(False, empty[:-1])
    special = np.flatnonzero((codes <= CHUNK) & ~again)
    kinds = codes[special]
    chunks = [_MARK] * len(special)
    others = np.flatnonzero(kinds == CHUNK).tolist()
    pieces = _each(blocks, codes == CHUNK, partial(Pieces.strings, tails=True))
    for index, piece in zip(others, pieces, strict=True):
        chunks[index] = chunk_of(piece)
    runs = np.flatnonzero(kinds == batches.EMPTY)
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


class ClassRules(NamedTuple):
    """Rules for texts of which words or strings have classes, or numbers are drawn by value."""

    string: Callable[[str], int | None]
    """Return the code of a string of a kind, a function of its shape; None: a word.  It decides
    before the vocabulary."""
    lacking: Callable[[str], int | None]
    """Return the code of the group of an OOV word, in lower case; None: no group."""


class Lookup:
    """Splits texts into words and finds a code for each: a row number, or a negative rule.

    Args:
        split: line -> alternating list, gaps at even positions and words at odd ones.
        rows: row number of each known word.
        keep: words passed through, in any case.
        unknown: the code of unknown words.
        classes: words and strings that have codes of their own.
    """

    def __init__(
        self,
        split: Callable[[str], list[str]],
        rows: Mapping[str, int],
        keep: Iterable[str],
        unknown: int,
        classes: ClassRules | None = None,
    ) -> None:
        self.split = split
        kept = frozenset(key for word in keep for key in lookup_keys(word))
        rules = _Rules(rows, kept, unknown, classes)
        self._codes = codes = BoundedCache(rules.code, _CACHE_TOKENS)
        self._chunks = BoundedCache(lambda piece: _chunk(codes, split(piece)), _CACHE_CHUNKS)
        self._pieces = batches.Codes(partial(_code, split, codes))
        self._tails = split("a" + batches.TRAILING) == ["", "a", batches.TRAILING]

    def texts(self, texts: Sequence[str]) -> tuple[list[list[str]], list[str], Ids]:
        """Split texts.

        Returns:
            The alternating pieces of each text, all words of all texts, and their codes.
        """
        split = list(map(self.split, texts))
        words = list(chain.from_iterable([pieces[1::2] for pieces in split]))
        codes = np.fromiter(map(self._codes.__getitem__, words), np.int64, len(words))
        return split, words, codes

    def batch(self, texts: Sequence[str], spans: Sequence[Spans] | None = None) -> Batch:
        """Texts whose words are all looked up, or those that spans touch."""
        few = sum(map(len, texts)) < _FEW or any(MARK in text for text in texts)
        if few or spans is not None:
            return self.of_split([self.split(text) for text in texts], spans)
        return self.of_pieces(texts)

    def of_pieces(self, texts: Sequence[str]) -> Batch:
        """Return the same of one text or more without the mark, which takes less time for many
        words.
        """
        if self._pieces.full:
            self._pieces = batches.Codes(partial(_code, self.split, self._codes))
        blocks = [
            batches.cut(texts[at : at + _TEXTS], last=at + _TEXTS >= len(texts), tails=self._tails)
            for at in range(0, len(texts), _TEXTS)
        ]
        codes = [self._pieces(block) for block in blocks]
        return joined_at_spaces(blocks, codes, self._chunks.__getitem__)

    def of_split(self, split: Sequence[list[str]], spans: Sequence[Spans] | None = None) -> Batch:
        """Texts that are split already.

        Args:
            split: the alternating pieces of each.
            spans: of each text: only words that these touch are looked up.
        """
        if spans is None:
            chunks = [_chunk(self._codes, pieces) for pieces in split]
        else:
            chunks = list(map(self._in_spans, split, spans))
        return joined(chunks)

    def _in_spans(self, pieces: list[str], spans: Spans) -> Chunk:
        drawn, gaps, invisible = in_spans(pieces, spans)
        words = pieces[1::2]
        codes = [
            self._codes[word] if touched else OUTSIDE
            for word, touched in zip(words, drawn, strict=True)
        ]
        return Chunk(gaps, words, codes, invisible, _more(pieces[::2], gaps))


def _more(read: list[str], written: list[str]) -> list[int] | None:
    """Return the number of characters that each gap lost; None: no gap changed."""
    if read == written:
        return None
    return [len(before) - len(after) for before, after in zip(read, written, strict=True)]


class _Rules(NamedTuple):
    """Which code a token has.

    Apart from :class:`Lookup`, so that nothing refers to itself: a vocabulary in a reference cycle
    would stay in memory until the garbage collector runs.
    """

    rows: Mapping[str, int]
    keep: Set[str]
    unknown: int
    classes: ClassRules | None

    def code(self, token: str) -> int:
        """Return the code of a token."""
        row = self.rows.get(token)
        is_word = self.classes is None or (token.isascii() and token.isalpha())
        if row is not None and is_word and not self.keep:
            return row
        unseen = INVISIBLE.search(token)
        for key in lookup_keys(token):
            # What is invisible passes within a word only as the list has it.
            if key in self.keep and (not unseen or INVISIBLE.search(key)):
                return KEPT
            if row is None:
                row = self.rows.get(key)
        if self.classes is not None and (code := self.classes.string(token)) is not None:
            return code
        if row is None and (number := amount(token)):
            row = self.rows.get(number)  # $5 is read as 5, whatever the currency
        if row is None and self.classes is not None:
            row = self.classes.lacking(key)
        return self.unknown if row is None else row


def _chunk(codes: Mapping[str, int], pieces: list[str]) -> Chunk:
    """Return what is written of the pieces of a text, and the codes of its words."""
    read, words = pieces[::2], pieces[1::2]
    if len(words) == 1 and _PLAIN.issuperset(pieces[2]) and not pieces[0]:
        return Chunk(read, words, [codes[words[0]]])
    gaps, invisible = gaps_to_write(read)
    return Chunk(gaps, words, [codes[word] for word in words], invisible, _more(read, gaps))


def _code(split: Callable[[str], list[str]], codes: Mapping[str, int], piece: str) -> int:
    """Return the code of a piece that is a word, whatever punctuation is after it; else CHUNK."""
    if not batches.one_word(piece) or split(piece) != ["", piece, ""]:
        return CHUNK
    return codes[piece]
