"""JSON strings: what they say, and how they are written, also in pieces.

Knows escapes.  Must not know records.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import Final

from dpsan.formats.text import long_text
from dpsan.text.long_text import LONG, LongText, Style
from dpsan.text.patterns import compiled

_WHOLE_ESCAPES: Final = compiled(
    r"(?:[^\\]++|\\(?=.{11})(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u.{4}|[^u]))*+"
)
"""As much of a text as holds no part of an escape: of two together for what is beyond U+FFFF."""


def parsed(text: str) -> str:
    """The value of a JSON string; escaped surrogates that stand alone stay as they are."""
    if "\\" not in text:
        return text[1:-1]
    value: str = json.loads(text)
    return value


class _JsonStyle:
    """Escapes stand only where one is needed, however the string was written that was read.

    They would tell which words were in it: of a string that comes out equal, and of one that is
    written in ASCII where it could be.
    """

    opening = b'"'

    def read(self, pieces: Iterator[str]) -> Iterator[str]:
        """The value of what stands between the quotes."""
        held = ""
        for piece in pieces:
            held += piece
            match = _WHOLE_ESCAPES.match(held)
            cut = match.end() if match else 0
            yield parsed(f'"{held[:cut]}"')
            held = held[cut:]
        yield parsed(f'"{held}"')

    def write(self, text: str) -> bytes:
        """The text between its quotes."""
        try:
            out = encode_basestring(text).encode()
        except UnicodeEncodeError:  # a lone surrogate exists in JSON as an escape only
            out = encode_basestring_ascii(text).encode()
        return out[1:-1]


JSON_STYLE: Final[Style] = _JsonStyle()


def long_string(raw: bytes, start: int, end: int) -> LongText | None:
    """The value of a long string, from quote to quote."""
    if end - start <= LONG:
        return None
    return long_text(raw, "utf-8", start + 1, end - 1, JSON_STYLE)
