"""Tokens of several characters' kinds: addresses, telephone numbers, dates, amounts.

The patterns match shapes (:mod:`dpsan.text.shape`).  Whether such a token begins at an offset is
decided by the characters from there on, a few hundred at most (:data:`FAR`): a long text may be cut
in any gap.  Repetitions are possessive or bounded, and what one of them may begin with cannot end
the one before it: the time is linear in the length of a line.
"""

from __future__ import annotations

from typing import Final

import regex

from dpsan.text.shape import CURRENCY, DIGIT, LETTER, MARK, NARROW, WEB

FAR: Final = 400
"""Characters from an offset on that decide whether such a token begins there."""
NUMBER_MARKS: Final = ".,:/"
"""Characters that join digits, besides hyphens and apostrophes."""
WORD: Final = LETTER + DIGIT + MARK + WEB
"""The classes of words' characters, inside of a set."""


def _whole() -> str:
    one, letter, num, money = f"[{WORD}]", f"[{LETTER}{MARK}]", DIGIT, rf"\{CURRENCY}"
    core, mark = rf"{WORD}/#&=%~@+$*_\-", ".,;:!?'"
    address = rf"(?:[{core}]|\([{core}{mark}]{{0,99}}+\)|[{mark}](?=[{core}]))*+"
    host = rf"{one}(?:{one}|[.\-](?={one}))*+"
    space, link, end = f"[ {NARROW}]", rf"[ {NARROW}.\-]", f"(?!{one})"
    # A time or a date after a telephone number is a token of its own, and so is a number with marks
    # after a row of groups.
    free = rf"(?!{num}{{1,2}}:{num}|{num}{{4}}-{num}{{2}}-{num})"
    plain = rf"(?!{num}++[{NUMBER_MARKS}\-]{num})"
    count = rf"{num}++(?:[{NUMBER_MARKS}'\-]{num}++)*+"
    clock = rf"{num}{{2}}:{num}{{2}}(?::{num}{{2}}(?:[.,]{num}++)?+)?+"
    letters = (
        rf"(?:{letter}[{WORD}+.\-]{{0,15}}+://|{WEB}{{3}}{num}?\.)(?=[{core}]){address}",
        rf"[{WORD}_][{WORD}._%+'\-]{{0,63}}+@{host}",
        rf"(?:{one}[{WORD}\-]{{0,62}}+\.){{1,4}}{letter}{{2,9}}/(?={one}){address}",
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


WHOLE: Final = _whole()
"""The pattern of all kinds."""
MAY: Final = (
    rf"[@$&{NARROW}_]|://|{WEB}|\.[{LETTER}{MARK}]+/|0 0|[+(]0|0{LETTER}0|{LETTER}00 {LETTER}"
)
"""Found in every shape that has such a token which the rule of words would cut."""

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
