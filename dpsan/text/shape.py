"""The shape of a text: one class for each visible character, and a closed list of literals.

Where a text is cut into tokens is a function of its shape alone (docs/strings.md, docs/proofs.md
0.2): never of the vocabulary, and never of which letters or digits stand there.  Only this module
looks at the characters; the rules of :mod:`dpsan.text.tokens` see shapes.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, AnyStr, Final, NamedTuple, cast

import regex

LETTER: Final = "x"
"""Letters of every script, numbers that are no digits, private use, unassigned; and U+FFFD."""
DIGIT: Final = "0"
MARK: Final = "M"
"""Combining marks and skin tones."""
PICTURE: Final = "P"
"""Emoji, flags, and the symbols of category So that are words."""
CURRENCY: Final = "$"
NARROW: Final = "N"
"""No-break, thin and narrow no-break space, which may group digits."""
POSSESSIVE: Final = "S"
"""The literal 's at the end of a word."""
CLITIC: Final = "C"
"""A literal ending that the tokenizer ptb makes a token of its own."""
WEB: Final = "W"
"""The literal www at the beginning of an address."""
WHITE: Final = "\n"
"""All other white space than the space itself."""
_OTHER: Final = "\x7f"
_UNSEEN: Final = "\0"

INVISIBLE: Final = regex.compile(
    r"[[\p{Cf}\p{Cc}\p{Default_Ignorable_Code_Point}]--\p{White_Space}]", regex.V1
)
"""One character that shows nothing to a reader: format and control characters but for white space,
and what Unicode calls default ignorable (variation selectors, tags that can spell ASCII)."""
_UNSEEN_ASCII: Final = re.compile(r"[\x00-\x08\x0E-\x1F\x7F]")
_SAME: Final = {
    "’": "'",
    "‐": "-",
    "‑": "-",
    "−": "-",
    "\u00a0": NARROW,
    "\u2009": NARROW,
    "\u202f": NARROW,
    "\u066b": ".",  # of Arabic numbers
    "\u066c": ",",
    "\ufffd": LETTER,  # bytes that could not be decoded were letters, for all that is known
}
# The first one that matches.  Enclosed alphanumerics are symbols by category but can write names.
LETTERS: Final = r"[\p{L}\p{N}\p{Co}\p{Cn}\p{Cs}\u2460-\u24FF]"
_CLASSES: Final = {
    _UNSEEN: INVISIBLE.pattern,
    DIGIT: r"\p{Nd}",
    MARK: r"[\p{M}\U0001F3FB-\U0001F3FF]",
    LETTER: LETTERS,
    PICTURE: r"[\p{Extended_Pictographic}[\p{So}--[°¦\u2190-\u21FF\u2500-\u25FF\uFFFC]]]",
    CURRENCY: r"\p{Sc}",
    WHITE: r"\p{White_Space}",
}
_CACHED: Final = 1 << 16


@cache
def _any_class() -> Any:
    """Compile the classes when the first text asks for them: it takes 12 ms at every start."""
    return regex.compile("|".join(f"({each})" for each in _CLASSES.values()), regex.V1)


class _Classes(dict[int, str]):
    """The class of each code point, for ``str.translate``; ASCII letters in lower case."""

    def __missing__(self, code: int) -> str:
        found = self._of(chr(code))
        if len(self) < _CACHED:
            self[code] = found
        return found

    def _of(self, character: str) -> str:
        if character.isascii() and character.isprintable():
            return DIGIT if character.isdigit() else character.lower()
        if character in _SAME:
            return _SAME[character]
        match = _any_class().fullmatch(character)
        return [*_CLASSES][match.lastindex - 1] if match else _OTHER


_CHARACTERS: Final = _Classes()
_LETTERS: Final = str.maketrans("abcdefghijklmnopqrstuvwxyz", LETTER * 26)
_WORD: Final = f"[a-z{DIGIT}{MARK}]"
_ENDS: Final = f"(?!{_WORD}|'{_WORD})"
_WWW: Final = rf"(?<!{_WORD})(?P<{WEB}>www)(?={DIGIT}?\.)"


class Literals(NamedTuple):
    """Literals of a tokenizer, each a class of its own."""

    pattern: re.Pattern[str]
    """In lower case; each named group is written as the class of its name."""
    anywhere: tuple[str, ...]
    """One of these is in every text that has a literal."""


POSSESSIVES: Final = Literals(
    re.compile(rf"(?<={_WORD})(?P<{POSSESSIVE}>'s){_ENDS}|{_WWW}"), ("'s", "www")
)
"""The literals of the tokenizer *unicode*.  One possessive ending of a word passes: a row of them
could say something."""
CLITICS: Final = Literals(
    re.compile(
        rf"(?<={_WORD})(?P<{CLITIC}>n't|'(?:s|m|d|ll|re|ve)){_ENDS}|{_WWW}"
        rf"|(?<!{_WORD})(?:can(?=not)|(?:gim|lem)(?=me)|(?:gon|wan)(?=na)|got(?=ta))"
        rf"(?P<{CLITIC}{CLITIC}>not|me|na|ta){_ENDS}"
    ),
    ("'", "www", "cannot", "gimme", "lemme", "gonna", "wanna", "gotta"),
)
"""The literals of the tokenizer *ptb*: clitics and fused words of the Penn Treebank."""


def shape(text: str, literals: Literals) -> tuple[str, list[int] | None]:
    """Return the class of each visible character, and where these characters stand.

    Args:
        text: any string.
        literals: of the tokenizer.

    Returns:
        A string of ASCII characters, and the offset in the text of each of them, with the length of
        the text after the last; None where all characters are visible.
    """
    found = text.translate(_CHARACTERS)
    offsets = None
    if _UNSEEN in found:
        offsets = [at for at, each in enumerate(found) if each != _UNSEEN]
        found = found.replace(_UNSEEN, "")
    if any(each in found for each in literals.anywhere):
        found = literals.pattern.sub(_written, found)
    return found.translate(_LETTERS), offsets


def _written(match: re.Match[str]) -> str:
    """Return a literal as its class, whose letter is the first of the group's name."""
    start = match.start(match.lastindex or 0)
    own = str(match.lastgroup)[0] * (match.end() - start)
    return match.string[match.start() : start] + own


def visible(text: str) -> bool:
    """Return whether nothing in a text is invisible."""
    if text.isascii():  # most often, and with a faster engine
        return text.isprintable() or not _UNSEEN_ASCII.search(text)
    return not INVISIBLE.search(text)


_BROKEN: Final = re.match(r"(?:\.[0-9]++)?+x", ".x") is not None


def compiled(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern, as the library re would compile it."""
    if _BROKEN:
        import regex

        return cast("re.Pattern[AnyStr]", regex.compile(pattern, flags))
    return re.compile(pattern, flags)
