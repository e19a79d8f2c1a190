"""The texts of a batch as one row of gaps and words, so that all words are worked on at once.

Below: texts cut at spaces, and the codes of short pieces by their bytes.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
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
    """Occurs in no gap and no word of a text."""

    def lines(self, outputs: list[str]) -> list[str]:
        """Return the texts with these words, (words,)."""
        if not len(self.sizes):
            return []
        pieces = [""] * (2 * len(outputs) + 1)
        pieces[::2], pieces[1::2] = self.gaps, outputs
        lines = "".join(pieces).split(self.seam)
        if len(lines) != len(self.sizes):
            raise ValueError("a word to be written has NUL in it, which no text and no list has")
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

_STORED: Final = 64
"""Characters of the longest string that is stored."""


class BoundedCache(dict[str, T]):
    """Memoize a function of strings, for at most ``most`` strings of up to 64 characters."""

    def __init__(self, function: Callable[[str], T], most: int) -> None:
        super().__init__()
        self._function, self._most = function, most

    def __missing__(self, text: str) -> T:
        value = self._function(text)
        if len(text) <= _STORED:
            if len(self) >= self._most:
                self.clear()
            self[text] = value
        return value


# Texts cut at spaces by arithmetic on their bytes, and short pieces looked up by theirs.
#
# A string for each word takes longer to make and to hash than to draw another word.  Here a piece
# is where it begins in its text and how long it is; it is compared as whole numbers of eight bytes.

Integers = NDArray[np.uint64]

TRAILING: Final = ',.;:!?)"'
"""Most frequent characters between a word and the space after it."""
_EDGE, _SPACE = 1, 2
_KINDS: Final = bytes(
    _SPACE if chr(code) == " " else _EDGE * (chr(code) in TRAILING) for code in range(256)
)
_PLAIN: Final = bytes(_SPACE * (chr(code) == " ") for code in range(256))
# A token with a space in it has digits on both sides of it, or brackets of a telephone number, or
# is an IBAN in groups.  Invisible characters may stand between, but no mark: no text has one here.
_UNSEEN: Final = bytes(code for code in range(1, 32) if code not in b"\t\n\v\f\r ") + b"\x7f"
_BEFORE: Final = np.array([code in b"0123456789)" + _UNSEEN or code > 127 for code in range(256)])
_LEADS: Final = b"0123456789(\xd9\xdb\xdf\xe0\xe1\xea\xef\xf0\xc2\xcd\xd8\xe2\xe3\xf3" + _UNSEEN
_AFTER: Final = np.array([code in _LEADS for code in range(256)])
"""The bytes that such a space may stand between; digits of other scripts begin with the first of
these bytes, and invisible characters with the last."""
_ODD: Final = np.array([code in _UNSEEN or code > 127 for code in range(256)])
_LETTERS: Final = np.array([chr(code).isalpha() and code < 128 for code in range(256)])
_DIGITS: Final = np.array([code in b"0123456789" for code in range(256)])
_APART: Final = np.array([chr(code) in f" {MARK}" for code in range(256)])
"""The bytes that are beside no space of a token."""
_SPACES: Final = 8
"""Most spaces of an IBAN in groups."""
_JOINERS: Final = str.maketrans("", "", "'’‐‑-")

_LANES: Final = 3
_LONGEST: Final = 8 * _LANES
"""Bytes of the longest piece that has a code."""
_MASKS: Final = np.array([(1 << 8 * size) - 1 for size in range(9)], dtype=np.uint64)
_FACTORS: Final = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9)
_PROBES: Final = 8
"""Positions where a piece may stand; one that has none is looked up another way."""
_FIRST: Final = 1 << 12
_MOST: Final = 200_000
"""Pieces that are cached, about."""


@dataclass(frozen=True, slots=True)
class Pieces:
    """Pieces between the spaces of some texts."""

    text: str
    """A character for each byte of the texts in UTF-8, with marks and spaces between them."""
    begins: Ids
    """Offset of each piece, shape (pieces,)."""
    lengths: Ids
    """Bytes of each, less its tail."""
    tails: Ids
    """Number of BEHIND characters at the end of each piece, if it has no other of them; else 0."""

    def __len__(self) -> int:
        return len(self.begins)

    def strings(self, indices: Ids | slice, *, tails: bool = False) -> list[str]:
        """Return some pieces, with or without their tails."""
        begins = self.begins[indices]
        ends = begins + self.lengths[indices]
        if tails:
            ends = ends + self.tails[indices]
        strings = self._slices(begins, ends)
        if self.text.isascii():
            return strings
        return [piece if piece.isascii() else _decoded(piece) for piece in strings]

    def trailing(self, indices: Ids) -> list[str]:
        """Return the tails of some pieces, and the space after each."""
        begins = self.begins[indices] + self.lengths[indices]
        return self._slices(begins, begins + self.tails[indices] + 1)

    def _slices(self, begins: Ids, ends: Ids) -> list[str]:
        text, both = self.text, zip(begins.tolist(), ends.tolist(), strict=True)
        return [text[begin:end] for begin, end in both]


def _decoded(piece: str) -> str:
    return piece.encode("latin-1").decode("utf-8", "surrogatepass")


def cut(texts: Sequence[str], *, last: bool, tails: bool) -> Pieces:
    """Texts in pieces, each of which every tokenizer splits as it does within its text.

    Args:
        texts: one or more, without the mark.
        last: whether no mark follows.
        tails: whether punctuation at the end of a piece is taken off.
    """
    between = f" {MARK} "
    joined = between.join(texts) + (" " if last else between)
    data = joined.encode("utf-8", "surrogatepass")
    kinds = np.frombuffer(data.translate(_KINDS if tails else _PLAIN), dtype=np.uint8)
    edges = np.flatnonzero(kinds.view(np.bool_))
    cuts = np.flatnonzero(kinds[edges] == _SPACE)
    ends = edges[cuts]
    values = np.frombuffer(data + MARK.encode(), dtype=np.uint8)
    across = np.flatnonzero(_BEFORE[values[ends - 1]] & _AFTER[values[ends + 1]])
    across = np.append(across, _in_accounts(values, ends))
    if len(across):
        cuts = np.delete(cuts, across)
        ends = edges[cuts]
    begins = np.append(0, ends[:-1] + 1)
    first = np.append(0, cuts[:-1] + 1)
    tail, here = ends - edges[first], cuts - first
    # All edges of a piece are at its end if there are as many as there is room for.
    sizes = np.where(tail == here, tail, 0)
    return Pieces(data.decode("latin-1"), begins, ends - begins - sizes, sizes)


def _in_accounts(values: NDArray[np.uint8], ends: Ids) -> Ids:
    """Return the indices of all spaces that are in an IBAN in groups, and of a few others.

    Two letters and two digits stand before its first space.  If the four bytes before a space are
    visible ASCII, they are these characters or none; if one is not, the space is taken.

    Args:
        values: the bytes of the texts.
        ends: offset of each space.
    """
    may = np.flatnonzero(_DIGITS[values[ends - 1]] | _ODD[values[ends - 1]])
    last, two, three, four = (values[ends[may] - back] for back in range(1, 5))
    plain = _DIGITS[last] & _DIGITS[two] & _LETTERS[three] & _LETTERS[four]
    # A digit of another script, or what is invisible, begins with one of these bytes.
    lead = np.where(two >= 0xC0, two, np.where(three >= 0xC0, three, four))
    odd = np.where(last > 127, _AFTER[lead], _ODD[last] | _ODD[two] | _ODD[three] | _ODD[four])
    every = (may[plain | odd][:, np.newaxis] + np.arange(_SPACES)).ravel()
    every = every[every < len(ends)]
    apart = _APART[values[ends[every] - 1]] | _APART[values[ends[every] + 1]]
    return np.delete(every, np.flatnonzero(apart))


def one_word(piece: str) -> bool:
    """Return True if no punctuation after the piece could change its tokens."""
    return piece.isalnum() or piece.translate(_JOINERS).isalnum()


class Codes:
    """Codes of short pieces, for one thread at a time.

    Args:
        code_of: the code of a piece, which never changes.
    """

    def __init__(self, code_of: Callable[[str], int]) -> None:
        self._code_of = code_of
        self._lock = threading.Lock()
        self._rows = np.zeros((_FIRST, _LANES + 1), dtype=np.uint64)
        """The bytes of a piece and its code; no piece begins with NUL, so 0 is an empty row."""
        self._held = 0

    @property
    def full(self) -> bool:
        """Return True if the cache is full."""
        return self._held >= _MOST

    def __call__(self, pieces: Pieces) -> Ids:
        """Return the code of each piece, without its tail; CHUNK, BETWEEN or EMPTY where it has
        none.
        """
        keys = _keys(pieces)
        there = (pieces.lengths > 0) & (keys[:, 0] != 0)
        with self._lock:
            codes, missing = self._find(keys, there & (pieces.lengths <= _LONGEST))
            if len(missing):
                strings = pieces.strings(missing)
                indices = dict(zip(strings, missing.tolist(), strict=True))
                new_codes = dict(zip(indices, map(self._code_of, indices), strict=True))
                codes[missing] = [new_codes[string] for string in strings]
                self._remember(keys[[*indices.values()]], np.array([*new_codes.values()], np.int64))
        codes[(pieces.lengths > 0) & ~there] = BETWEEN
        codes[pieces.lengths + pieces.tails == 0] = EMPTY
        return codes

    def _find(self, keys: Integers, usable: NDArray[np.bool_]) -> tuple[Ids, Ids]:
        """Codes, CHUNK where there is none, and which usable pieces are not here."""
        indices = self._indices(keys)
        rows = self._rows.take(indices, axis=0)
        same = _same(rows, keys) & usable
        codes = np.where(same, rows[:, _LANES].view(np.int64), CHUNK)
        rest = np.flatnonzero(usable & ~same)
        free = rows[rest, 0] == 0
        missing = [rest[free]]
        rest = rest[~free]
        for probe in range(1, _PROBES):
            if not len(rest):
                break
            rows = self._rows[(indices[rest] + probe) & (len(self._rows) - 1)]
            same, free = _same(rows, keys[rest]), rows[:, 0] == 0
            codes[rest[same]] = rows[same, _LANES].view(np.int64)
            missing.append(rest[free])
            rest = rest[~same & ~free]
        return codes, np.concatenate([*missing, rest])

    def _indices(self, keys: Integers) -> Ids:
        """Return the first row of each piece."""
        mixed = keys[:, 0] * np.uint64(_FACTORS[0])
        for lane in range(1, _LANES):
            mixed += keys[:, lane] * np.uint64(_FACTORS[lane])
        mixed ^= mixed >> np.uint64(32)
        mixed *= np.uint64(_FACTORS[0])
        mixed >>= np.uint64(65 - len(self._rows).bit_length())
        return mixed.view(np.int64)

    def _remember(self, keys: Integers, codes: Ids) -> None:
        """Remember pieces, all different and not here; a piece without a free slot is left out."""
        size = len(self._rows)
        while 2 * (self._held + len(keys)) > size:
            size *= 2
        if size > len(self._rows):
            old = self._rows[self._rows[:, 0] != 0]
            self._rows, self._held = np.zeros((size, _LANES + 1), dtype=np.uint64), 0
            self._remember(old[:, :_LANES], old[:, _LANES].view(np.int64))
        rows = np.column_stack([keys, codes.view(np.uint64)])
        indices = self._indices(keys)
        for _ in range(_PROBES):
            if not len(rows):
                break
            free = np.flatnonzero(self._rows[indices, 0] == 0)
            taken, chosen = np.unique(indices[free], return_index=True)
            self._rows[taken] = rows[free[chosen]]
            self._held += len(taken)
            rows, indices = (np.delete(array, free[chosen], axis=0) for array in (rows, indices))
            indices = (indices + 1) & (size - 1)


def _keys(pieces: Pieces) -> Integers:
    """Return the first bytes of each piece as whole numbers, shape (pieces, lanes)."""
    data = pieces.text.encode("latin-1") + bytes(_LONGEST)
    values = np.ndarray((len(data) - 7,), dtype="<u8", buffer=data, strides=(1,))
    keys = np.zeros((len(pieces), _LANES), dtype=np.uint64)
    keys[:, 0] = values[pieces.begins] & _MASKS[np.minimum(pieces.lengths, 8)]
    for lane in range(1, _LANES):
        longer = np.flatnonzero(pieces.lengths > 8 * lane)
        sizes = np.minimum(pieces.lengths[longer] - 8 * lane, 8)
        keys[longer, lane] = values[pieces.begins[longer] + 8 * lane] & _MASKS[sizes]
    return keys


def _same(rows: Integers, keys: Integers) -> NDArray[np.bool_]:
    same = rows[:, 0] == keys[:, 0]
    for lane in range(1, _LANES):
        same &= rows[:, lane] == keys[:, lane]
    return np.asarray(same)
