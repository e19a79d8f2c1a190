"""The words requested, and the input that each is to the mechanism.

Messages name an argument or a line by its number, since a line may be private.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from dpsan.errors import UsageError
from dpsan.sanitize.sanitizer import Sanitizer

UNKNOWN: Final = "⊥"
"""The one input that every unknown word becomes."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word requested."""

    text: str = field(repr=False)
    id: int
    """Row number; n for ⊥."""


def read(sanitizer: Sanitizer, texts: Iterable[tuple[str, str]]) -> list[Word]:
    """Look words up as ``rewrite`` does.

    Args:
        sanitizer: with unknown words drawn as ⊥.
        texts: the position of each word, for messages, and its text; :data:`UNKNOWN` is ⊥ itself.

    Raises:
        UsageError: a text that is not one word to the tokenizer.
    """
    out = []
    for position, text in texts:
        found = sanitizer.space.n if text == UNKNOWN else sanitizer.input_of(text)
        if found is None:
            raise UsageError(f"{position}: not a single word", "give its words one by one")
        out.append(Word(text, found))
    return out
