"""Texts of many megabytes, cut between words: split as a whole they would take 20 times their size.

Knows bytes and tokenizers.  Must not know vocabularies or formats.
"""

from __future__ import annotations

import codecs
import operator
import unicodedata
from collections.abc import Callable, Iterator
from io import SEEK_END, BytesIO
from itertools import chain, starmap, zip_longest
from typing import Final, Protocol, TypeAlias

LONG: Final = 1 << 20
"""Characters, or bytes, above which a text is long."""
_STRETCH: Final = 1 << 18
"""Characters that are split at once."""
_AHEAD: Final = 1 << 12
"""Characters behind a cut that must be known: what follows a word decides where it ends."""
_VISIBLE: Final = "PSZ"
"""Categories of characters that stay in a gap whatever stands beside it."""


class Style(Protocol):
    """How a container writes the characters of a text."""

    @property
    def opening(self) -> bytes:
        """What stands before it."""
        ...

    def read(self, pieces: Iterator[str]) -> Iterator[str]:
        """The text that stands in a container, of which the pieces are told."""
        ...

    def write(self, text: str) -> bytes:
        """A piece of a text as it stands in a container."""
        ...


class _Plain:
    """Characters stand for themselves."""

    opening = b""

    def read(self, pieces: Iterator[str]) -> Iterator[str]:
        return pieces

    def write(self, text: str) -> bytes:
        return text.encode(errors="replace")


PLAIN: Final[Style] = _Plain()


class LongText:
    """A text as it stands in a container, read in pieces: nothing of its size is made of it.

    Args:
        data: UTF-8.
        start, end: where in the data the text stands; default all.
        style: how it is written there.
    """

    __slots__ = ("_bytes", "_end", "_start", "_style")

    def __init__(
        self, data: bytes = b"", start: int = 0, end: int | None = None, style: Style = PLAIN
    ) -> None:
        self._bytes = BytesIO(data)  # copies nothing
        self._start, self._end = start, len(data) if end is None else end
        self._style = style

    def __len__(self) -> int:
        """Bytes."""
        return self._end - self._start

    def __iter__(self) -> Iterator[str]:
        """The text, some characters at a time.  Raises UnicodeDecodeError."""
        return self._style.read(self._decoded())

    def _decoded(self) -> Iterator[str]:
        decoder = codecs.getincrementaldecoder("utf-8")()
        for at in range(self._start, self._end, _STRETCH):
            self._bytes.seek(at)
            data = self._bytes.read(min(_STRETCH, self._end - at))
            yield decoder.decode(data, final=at + len(data) == self._end)

    def __str__(self) -> str:
        return "".join(self)

    def __eq__(self, other: object) -> bool:
        """Whether the characters are the same, however they are written."""
        if not isinstance(other, LongText):
            return NotImplemented
        characters = zip_longest(chain.from_iterable(self), chain.from_iterable(other))
        return self is other or all(starmap(operator.eq, characters))

    __hash__ = None  # type: ignore[assignment]  # it grows

    def __reduce__(self) -> tuple[type[LongText], tuple[bytes, int, int | None, Style]]:
        before = len(self._style.opening)
        data = self._bytes.getvalue()[self._start - before : self._end]
        return LongText, (data, before, None, self._style)

    @property
    def valid(self) -> bool:
        """Whether all of it can be read, and written as UTF-8."""
        try:
            for piece in self:
                piece.encode()
        except UnicodeError:
            return False
        return True

    def blank(self) -> LongText:
        """An empty text in the same style."""
        opening = self._style.opening
        return LongText(opening, len(opening), None, self._style)

    def append(self, text: str) -> None:
        """Write more at the end."""
        self._bytes.seek(0, SEEK_END)
        self._bytes.write(self._style.write(text))
        self._end = self._bytes.tell()

    def ended(self, ending: bytes) -> bytes:
        """What a container holds of a text that was written: opening, text, ending; no copy."""
        self._bytes.seek(0, SEEK_END)
        self._bytes.write(ending)
        return self._bytes.getvalue()


Text: TypeAlias = str | LongText


def encoded(text: Text) -> Iterator[bytes]:
    """The characters of a text as bytes, the same however it is written in its container."""
    for piece in (text,) if isinstance(text, str) else text:
        yield piece.encode("utf-8", "surrogatepass")


def stretches(text: Text, split: Callable[[str], list[str]]) -> Iterator[list[str]]:
    """The alternating pieces of a text, some words at a time.

    Put together they are those of ``split(text)``, but for empty gaps at the seams: a text is cut
    where something visible stands between two words, and all of a word is seen before it is cut.
    """
    held, wanted = "", _STRETCH
    for more in text if isinstance(text, LongText) else _slices(text):
        held += more
        if len(held) < wanted:
            continue
        pieces = split(held)
        cut = _last_gap(pieces, len(held) - _AHEAD)
        if cut:
            yield [*pieces[:cut], ""]
            held, wanted = "".join(pieces[cut:]), _STRETCH
        else:
            wanted = 2 * len(held)
    yield split(held)


def _slices(text: str) -> Iterator[str]:
    for at in range(0, len(text), _STRETCH):
        yield text[at : at + _STRETCH]


def _last_gap(pieces: list[str], limit: int) -> int:
    """The place of the last gap before ``limit`` that can be seen, 0 if there is none."""
    end = sum(map(len, pieces))
    for at in range(len(pieces) - 1, 0, -2):
        gap = pieces[at]
        if end <= limit and any(unicodedata.category(each)[0] in _VISIBLE for each in gap):
            return at
        end -= len(gap) + len(pieces[at - 1])
    return 0
