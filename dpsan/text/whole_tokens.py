"""Strings with punctuation that are one token: addresses, telephone numbers, dates, amounts.

Knows how they are written.  Must not know words, vocabularies or privacy.

Whether such a string begins at a place is decided by the characters from there on, a few hundred at
most (:data:`FAR`): none of the rules looks back, so a long text may be cut in any gap.  Repetitions
are possessive or bounded, and what one of them may begin with cannot end the one before it: the
time is linear in the length of a line.
"""

from __future__ import annotations

import re
from typing import Final

import regex

FAR: Final = 400
"""Characters behind a place that decide whether a token of these begins there."""
NUMBER_MARKS: Final = ".,:/\u066b\u066c"
"""What joins digits (the last two in Arabic) besides the hyphens and apostrophes of all words."""

# Domains that are also English words, such as .it and .me, are only recognised behind http:// or
# www.: "finished.It" is two sentences.
_DOMAINS: Final = "com|org|net|edu|gov|mil|info|biz|io|app|dev|uk|de|fr|nl|ch|eu|ca|jp|cn|au"


def _whole(inner: str, digit: str, spaces: str, currency: str) -> str:
    """The pattern of all kinds.

    Args:
        inner: inside of a set: the characters of words.
        digit: the same for digits.
        spaces: the same for spaces within telephone numbers.
        currency: the same for signs of currencies.
    """
    one, num = f"[{inner}]", f"[{digit}]"
    core, mark = rf"{inner}/#&=%~@+$*_\-", ".,;:!?'’"
    address = rf"(?:[{core}]|\([{core}{mark}]{{0,99}}+\)|[{mark}](?=[{core}]))*+"
    host = rf"{one}(?:{one}|[.\-](?={one}))*+"
    ending = rf"(?:['’][sS](?!{one}))?+"  # of a possessive, which is taken off again
    scheme = r"[A-Za-z][A-Za-z0-9+.\-]{0,15}+://"
    space = f"[{spaces}]"
    link = rf"[{spaces}.\-]"
    end = f"(?!{one})"
    # A time or a date behind a telephone number is a token of its own.
    free = rf"(?!{num}{{1,2}}:{num}|{num}{{4}}-{num}{{2}}-{num})"
    count = rf"{num}++(?:[{NUMBER_MARKS}'’\-]{num}++)*+"
    clock = rf"{num}{{2}}:{num}{{2}}(?::{num}{{2}}(?:[.,]{num}++)?+)?+"
    letters = (
        rf"(?:{scheme}|[Ww]{{3}}[0-9]?\.)(?=[{core}]){address}",
        rf"[{inner}_][{inner}._%+'’\-]{{0,63}}+@{host}{ending}",
        rf"(?:{one}[{inner}\-]{{0,62}}+\.){{1,4}}(?:{_DOMAINS}|[a-z]{{2,9}}(?=/{one}))(?![{inner}\-])"
        rf"(?:\.[a-z]{{2}}(?![{inner}\-]))?+(?:(?=/|[?#:]{one})[/?#:]{address})?+{ending}",
    )
    digits = (
        rf"{num}{{4}}-{num}{{2}}-{num}{{2}}[Tt ]{clock}"
        rf"(?:[Zz]|[+\-−]{num}{{2}}:?{num}{{2}})?+{end}",
        rf"{num}{{3}}{space}{num}{{3}}{link}{num}{{4}}{end}",
        rf"0{num}{{1,4}}(?:{space}{free}{num}{{2,4}}){{2,4}}+{end}",
        rf"{count}[{currency}]",
        rf"{num}{{1,3}}(?:[{spaces.strip(' ')}_]{num}{{3}}{end})++(?:[.,]{num}++{end})?+",
    )
    signs = (
        rf"@[{inner}_](?:[{inner}_]|[.\-](?=[{inner}_]))*+(?:@{host})?+{ending}",
        rf"\+{num}(?:(?:[{spaces}.\-/]{free})?+{num}|{link}?\({num}{{1,4}}\)(?={link}?{num})){{6,16}}+",
        rf"\({num}{{2,5}}\){link}?(?:{num}{{6,10}}|{num}{{2,4}}(?:{link}{free}{num}{{2,4}}){{1,3}}+){end}",
        rf"(?:[A-Z]{{1,3}})?[{currency}]{count}(?:[A-Za-z]{{1,4}}{end})?+",
    )
    # Said twice, so that most words are soon seen to be none of these.
    return (
        rf"(?=[{inner}_][{inner}_\-]{{0,64}}+[.%+'’:@])(?:{'|'.join(letters)})"
        rf"|(?={num})(?:{'|'.join(digits)})|{'|'.join(signs)}"
    )


_SPACES: Final = " \u00a0\u2009\u202f"
WHOLE_ASCII: Final = _whole("A-Za-z0-9", "0-9", " ", "$")
"""The pattern for the standard library's engine, where all is ASCII and visible."""


def whole_unicode(letter: str) -> str:
    """The same for the regex package, version 1.

    Args:
        letter: the set of the characters of words.
    """
    return _whole(letter, r"\p{Nd}", _SPACES, r"\p{Sc}")


# A superset, and quickly said of most lines: what such a token has, and a word has not.
MAY: Final = r"(?<=[^:.(+0-9])|(?<=:)//|(?<=\.)[A-Za-z]|(?<=[(+])[0-9]|(?<=[0-9]) [0-9]"
"""What such a token has behind one of its characters, or behind any that is not one of these."""
_MAY: Final = re.compile(rf"[@$_:.(+0-9](?:{MAY})")


def may_have_ascii(line: str) -> bool:
    """Whether a line of visible ASCII may have such a token that the rule of words would split."""
    return _MAY.search(line) is not None


_DIGITS: Final = r"\p{N}++"
_MORE: Final = rf"(?:[{NUMBER_MARKS}'’‐‑_\-{_SPACES}]{_DIGITS})"
_NUMERIC: Final = regex.compile(rf"{_DIGITS}{_MORE}++\p{{L}}{{0,4}}+")
_COUNT: Final = f"{_DIGITS}{_MORE}*+"
_NUMBER: Final = regex.compile(_COUNT)
_AMOUNT: Final = regex.compile(rf"\p{{Lu}}{{0,3}}+\p{{Sc}}({_COUNT})|({_COUNT})\p{{Sc}}")


def is_numeric(word: str) -> bool:
    """Whether a word is digits with separators, perhaps with a short unit: 1,000 or 10:30pm."""
    return _NUMERIC.fullmatch(word) is not None


def is_number(word: str) -> bool:
    """Whether a word is a number: digits, separators, the sign of a currency."""
    return bool(_NUMBER.fullmatch(word) or _AMOUNT.fullmatch(word))


def amount(word: str) -> str | None:
    """The number in an amount of money, $5 or 5€; None for all other words."""
    match = _AMOUNT.fullmatch(word)
    return match and (match[1] or match[2])
