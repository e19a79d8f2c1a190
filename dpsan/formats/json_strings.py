"""JSON strings: what they say, and how they are written, also in pieces.

Knows escapes.  Must not know records.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import ClassVar, Final

from dpsan.formats.text import long_text
from dpsan.text.long_text import LONG, LongText

_WHOLE_ESCAPES: Final = re.compile(
    r"(?:[^\\]++|\\(?=.{11})(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u.{4}|[^u]))*+"
)
"""As much of a text as holds no part of an escape: of two together for what is beyond U+FFFF."""


def parsed(text: str) -> str:
    """The value of a JSON string; escaped surrogates that stand alone stay as they are."""
    if "\\" not in text:
        return text[1:-1]
    value: str = json.loads(text)
    return value


@dataclass(frozen=True, slots=True)
class JsonStyle:
    """How a JSON string writes what need not be escaped."""

    ascii: bool
    slashes: bool
    """Whether slashes are escaped."""
    opening: ClassVar[bytes] = b'"'

    @classmethod
    def of(cls, raw: bytes) -> JsonStyle:
        """That of a string, from quote to quote."""
        return cls(raw.isascii(), rb"\/" in raw)

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
        write: Callable[[str], str] = encode_basestring_ascii if self.ascii else encode_basestring
        try:
            out = write(text).encode()
        except UnicodeEncodeError:  # a lone surrogate exists in JSON as an escape only
            out = encode_basestring_ascii(text).encode()
        return (out.replace(b"/", rb"\/") if self.slashes else out)[1:-1]


def long_string(raw: bytes, start: int, end: int) -> LongText | None:
    """The value of a long string, from quote to quote."""
    if end - start <= LONG:
        return None
    return long_text(raw, "utf-8", start + 1, end - 1, JsonStyle.of(raw[start:end]))
