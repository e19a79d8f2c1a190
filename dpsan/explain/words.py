"""The words asked for, and the input that each is to the mechanism.

Knows how a sanitizer looks words up.  Must not know where words come from: messages name an
argument or a line by its number, since a line may be private.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from dpsan.errors import UsageError
from dpsan.sanitizer import Sanitizer

__all__ = ["UNKNOWN", "Word", "printable", "read"]

UNKNOWN: Final = "⊥"
"""The one input that every unknown word becomes."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word asked for."""

    text: str = field(repr=False)
    id: int
    """Row number; n for ⊥."""


def read(sanitizer: Sanitizer, texts: Iterable[tuple[str, str]]) -> list[Word]:
    """Look words up as ``rewrite`` does.

    Args:
        sanitizer: with unknown words drawn as ⊥.
        texts: the place of each word, for messages, and its text; :data:`UNKNOWN` is ⊥ itself.

    Raises:
        UsageError: a text that is not one word to the tokenizer.
    """
    out = []
    for place, text in texts:
        found = sanitizer.space.n if text == UNKNOWN else sanitizer.input_of(text)
        if found is None:
            raise UsageError(f"{place}: not one word to dpsan", "give its words one by one")
        out.append(Word(text, found))
    return out


def printable(text: str) -> str:
    """Text that does nothing to a terminal: control and format characters are escaped."""
    if text.isprintable():
        return text
    return "".join(each if _plain(each) else _escape(each) for each in text)


def _plain(character: str) -> bool:
    return character.isprintable() and not unicodedata.category(character).startswith("C")


def _escape(character: str) -> str:
    code = ord(character)
    return (
        f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"
    )
