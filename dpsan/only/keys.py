"""Names of members and columns that hold the name or the address of a person."""

from functools import cache, lru_cache
from typing import Final

import regex

from dpsan.only.lexicon import Lexicon
from dpsan.only.strings import spans
from dpsan.only.view import COLUMN, LOWER, TITLE, UPPER

_WORD: Final = regex.compile(r"(?!Nick[ _-]?[Nn]ame)(?:\p{Lu}?\p{Ll}+|\p{Lu}+(?!\p{Ll}))")
_NAMES: Final = frozenset({"given_f", "given_m", "given_u", "surname", "surnamepl"})
_ADDRESSES: Final = frozenset({"email", "userhost", "userip", "handle", "phone"})
_LONGEST: Final = 1_000
"""Characters of a name that are looked at."""


@cache
def _lexicon() -> Lexicon:
    return Lexicon()


@lru_cache(1 << 14)
def is_ordinary(word: str) -> bool:
    """Return whether a word in small letters is an ordinary one: will, hope."""
    return _lexicon().plain(word)


@lru_cache(1 << 14)
def is_month(word: str) -> bool:
    """Return whether a word in small letters is a month, or short for one."""
    label = _lexicon().label(word, COLUMN[TITLE]) or ""
    return label.startswith("month") or word in ("mai", "mayo")


@lru_cache(1 << 14)
def holds_person(name: str) -> bool:
    """Return whether a listed name or an address is in the name of a member."""
    lexicon, name = _lexicon(), name[:_LONGEST]
    for match in _WORD.finditer(name):
        word = match[0]
        caps = UPPER if word.isupper() and len(word) > 1 else TITLE if word[0].isupper() else LOWER
        if lexicon.label(word.lower(), COLUMN[caps]) in _NAMES:
            return True
    return any(label in _ADDRESSES for _, _, label, _ in spans(f" {name}", lexicon.fixed))
