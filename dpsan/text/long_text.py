"""Texts of many megabytes, cut between words: split as a whole they would take 20 times their size.

Knows bytes and tokenizers.  Must not know vocabularies or formats.
"""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Final, TypeAlias

__all__ = ["LONG", "LongText", "Text", "stretches"]

LONG: Final = 1 << 20
"""Characters, or bytes, above which a text is long."""
_STRETCH: Final = 1 << 18
"""Characters that are split at once."""
_AHEAD: Final = 1 << 12
"""Characters behind a cut that must be known: what follows a word decides where it ends."""
_VISIBLE: Final = "PSZ"
"""Categories of characters that stay in a gap whatever stands beside it."""


class LongText:
    """A text as the bytes of valid UTF-8: a string takes up to four bytes for each character."""

    __slots__ = ("_bytes",)

    def __init__(self, data: bytes = b"") -> None:
        self._bytes = BytesIO(data)

    def __len__(self) -> int:
        """Bytes."""
        return self._bytes.getbuffer().nbytes

    def __iter__(self) -> Iterator[str]:
        """The text, some characters at a time."""
        decoder = codecs.getincrementaldecoder("utf-8")()
        at = 0
        while True:
            self._bytes.seek(at)
            data = self._bytes.read(_STRETCH)
            yield decoder.decode(data, final=not data)
            if not data:
                return
            at += len(data)

    def __str__(self) -> str:
        return self._bytes.getvalue().decode()

    def __reduce__(self) -> tuple[type[LongText], tuple[bytes]]:
        return LongText, (self._bytes.getvalue(),)

    def append(self, text: str) -> None:
        """Write more at the end."""
        self._bytes.seek(0, 2)
        self._bytes.write(text.encode(errors="replace"))

    def ended(self, ending: bytes) -> bytes:
        """The bytes and an ending, which the text has from now on: nothing is copied."""
        self._bytes.seek(0, 2)
        self._bytes.write(ending)
        return self._bytes.getvalue()


Text: TypeAlias = str | LongText


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
