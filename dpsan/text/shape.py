"""The shape of a text: one class for each visible character, and a closed list of literals.

Where a text is cut into tokens is a function of its shape alone (docs/strings.md, docs/proofs.md
0.2): never of the vocabulary, and never of which letters or digits stand there.  Only this module
looks at the characters; the rules of :mod:`dpsan.text.tokens` see shapes.
"""

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
_SEEN_ASCII: Final = bytes([*range(9, 14), *range(32, 127)])
_SAME: Final = {
    **{"’": "'", "\u066b": ".", "\u066c": ","},  # the last two of Arabic numbers
    **dict.fromkeys("‐‑−", "-"),
    **dict.fromkeys("\u00a0\u2009\u202f", NARROW),
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
    return regex.compile("|".join(f"({pattern})" for pattern in _CLASSES.values()), regex.V1)


class _Classes(dict[int, str]):
    """The class of each code point, for ``str.translate``; ASCII letters in lower case."""

    def __missing__(self, code: int) -> str:
        class_ = self._of(chr(code))
        if len(self) < _CACHED:
            self[code] = class_
        return class_

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
    classes = text.translate(_CHARACTERS)
    offsets = None
    if _UNSEEN in classes:
        offsets = [at for at, character in enumerate(classes) if character != _UNSEEN]
        classes = classes.replace(_UNSEEN, "")
    if any(character in classes for character in literals.anywhere):
        classes = literals.pattern.sub(_written, classes)
    return classes.translate(_LETTERS), offsets


def _written(match: re.Match[str]) -> str:
    """Return a literal as its class, whose letter is the first of the group's name."""
    start = match.start(match.lastindex or 0)
    letters = str(match.lastgroup)[0] * (match.end() - start)
    return match.string[match.start() : start] + letters


def visible(text: str) -> bool:
    """Return whether nothing in a text is invisible."""
    if text.isascii():  # most often, and without an engine
        return text.isprintable() or not text.encode().translate(None, _SEEN_ASCII)
    # Without its ASCII a text is short: an engine takes ten times as long.
    rest = text.encode("utf-8", "surrogatepass").translate(None, _SEEN_ASCII)
    return not INVISIBLE.search(rest.decode("utf-8", "surrogatepass"))


_BROKEN: Final = re.match(r"(?:\.[0-9]++)?+x", ".x") is not None


def compiled(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern, as the library re would compile it."""
    if _BROKEN:
        import regex

        return cast("re.Pattern[AnyStr]", regex.compile(pattern, flags))
    return re.compile(pattern, flags)


FAR: Final = 400
"""Characters from an offset on that decide whether such a token begins there."""
NUMBER_MARKS: Final = ".,:/"
"""Characters that join digits, besides hyphens and apostrophes."""
WORD: Final = LETTER + DIGIT + MARK + WEB
"""The classes of words' characters, inside of a set."""


def _whole() -> str:
    word, letter, num, money = f"[{WORD}]", f"[{LETTER}{MARK}]", DIGIT, rf"\{CURRENCY}"
    core, mark = rf"{WORD}/#&=%~@+$*_\-", ".,;:!?'"
    address = rf"(?:[{core}]|\([{core}{mark}]{{0,99}}+\)|[{mark}](?=[{core}]))*+"
    host = rf"{word}(?:{word}|[.\-](?={word}))*+"
    space, link, end = f"[ {NARROW}]", rf"[ {NARROW}.\-]", f"(?!{word})"
    # A time or a date after a telephone number is a token of its own, and so is a number with marks
    # after a row of groups.
    free = rf"(?!{num}{{1,2}}:{num}|{num}{{4}}-{num}{{2}}-{num})"
    plain = rf"(?!{num}++[{NUMBER_MARKS}\-]{num})"
    count = rf"{num}++(?:[{NUMBER_MARKS}'\-]{num}++)*+"
    clock = rf"{num}{{2}}:{num}{{2}}(?::{num}{{2}}(?:[.,]{num}++)?+)?+"
    letters = (
        rf"(?:{letter}[{WORD}+.\-]{{0,15}}+://|{WEB}{{3}}{num}?\.)(?=[{core}]){address}",
        rf"[{WORD}_][{WORD}._%+'\-]{{0,63}}+@{host}",
        rf"(?:{word}[{WORD}\-]{{0,62}}+\.){{1,4}}{letter}{{2,9}}/(?={word}){address}",
    )
    digits = (
        rf"{num}{{4}}-{num}{{2}}-{num}{{2}}[{LETTER} ]{clock}"
        rf"(?:{LETTER}|[+\-]{num}{{2}}:?{num}{{2}})?+{end}",
        rf"{num}{{3}}{space}{num}{{3}}{link}{num}{{4}}{end}",
        rf"(?=(?:{num}{space}?){{7}}{num}){num}{{2,6}}(?:{space}{plain}{num}{{2,6}}{end}){{2,5}}+",
        rf"(?:{num}{{3,5}}{space}{plain}{num}{{6,7}}|{num}{{3,4}}{space}{plain}{num}{{8}}){end}",
        rf"{count}{money}",
        rf"{num}{{1,3}}(?:[{NARROW}_]{num}{{3}}{end})++(?:[.,]{num}++{end})?+",
    )
    # An IBAN: after country, check digits and bank each group has a digit, unlike words in a row.
    either, has_digit = f"[{LETTER}{DIGIT}]", f"(?={LETTER}{{0,3}}{num})"
    head, group = f"{LETTER}{{2}}{num}{{2}} {either}{{4}}", f" {has_digit}{either}{{4}}{end}"
    signs = (
        rf"{head}(?:(?:{group}){{2,6}}+(?: {has_digit}{either}{{1,3}}{end})?+"
        rf"|{group} {has_digit}{either}{{3}}{end})",
        rf"@[{WORD}_](?:[{WORD}_]|[.\-](?=[{WORD}_]))*+(?:@{host})?+",
        rf"\+{num}(?:(?:[ {NARROW}.\-/]{free})?+{num}"
        rf"|{link}?\({num}{{1,4}}\)(?={link}?{num})){{6,16}}+",
        rf"\({num}{{2,5}}\){link}?"
        rf"(?:{num}{{6,10}}|{num}{{2,4}}(?:{link}{free}{num}{{2,4}}){{1,3}}+){end}",
        rf"(?:{letter}{{1,3}})?{money}{count}(?:{letter}{{1,4}}{end})?+",
        rf"&(?:{LETTER}[{LETTER}{DIGIT}]{{1,7}}|\#{num}{{1,7}}|\#{letter}[{LETTER}{DIGIT}]{{1,6}});",
    )
    # Each group has a quick condition, so that most words are soon seen to be none of these.
    return (
        rf"(?=[{WORD}_][{WORD}_\-]{{0,64}}+[.%+':@])(?:{'|'.join(letters)})"
        rf"|(?={num})(?:{'|'.join(digits)})|{'|'.join(signs)}"
    )


# An apostrophe joins two characters of words, a mark or a hyphen joins two digits.  Everything else
# ends a word: every hyphen beside a letter, and every possessive 's.
_JOINER: Final = rf"(?:'|(?<={DIGIT})[{NUMBER_MARKS}\-](?={DIGIT}))"
_WORDS: Final = rf"[{WORD}]+(?:{_JOINER}[{WORD}]+)*|{PICTURE}[{PICTURE}{MARK}]*|{CLITIC}+"
_MAY: Final = re.compile(
    rf"[@$&{NARROW}_]|://|{WEB}|\.[{LETTER}{MARK}]+/|0 0|[+(]0|0{LETTER}0|{LETTER}00 {LETTER}"
)
"""Found in every shape that has such a token which the rule of words would cut."""
_PLAIN_TOKEN: Final = re.compile(_WORDS)
_SEEN: Final = f"[^ {NARROW}{WHITE}]"
# Looked for at the start of a chunk only: else one without a word would be read from each sign.
CHUNK: Final = re.compile(f"(?<!{_SEEN}){_SEEN}*[{WORD}{PICTURE}]{_SEEN}*")


@cache
def _any_token() -> re.Pattern[str]:
    return compiled(f"{_whole()}|{_WORDS}")


def tokens_of(classes: str) -> re.Pattern[str]:
    """Return the pattern of the tokens of running text, for a shape."""
    return _any_token() if _MAY.search(classes) else _PLAIN_TOKEN


_SPACES: Final = "\u00a0\u2009\u202f"
_DIGITS: Final = r"\p{N}++"
_COUNT: Final = rf"{_DIGITS}(?:[{NUMBER_MARKS}\u066b\u066c'’‐‑−_\- {_SPACES}]{_DIGITS})*+"
_NUMBER: Final = regex.compile(_COUNT)
_AMOUNT: Final = regex.compile(rf"\p{{Lu}}{{0,3}}+\p{{Sc}}({_COUNT})|({_COUNT})\p{{Sc}}")


def is_number(word: str) -> bool:
    """Return whether a word is a number: digits, separators, the sign of a currency."""
    return bool(_NUMBER.fullmatch(word) or _AMOUNT.fullmatch(word))


def amount(word: str) -> str | None:
    """Return the number in an amount of money, $5 or 5€; None for all other words."""
    match = _AMOUNT.fullmatch(word)
    return match and (match[1] or match[2])
