"""Made-up strings: a string of a recognized kind becomes another string of the same kind.

The kind of a token is a function of its *shape* (:mod:`dpsan.text.shape`), never of its letters or
digits.  A made-up string is drawn uniformly from a public range of its kind, so it says nothing
about the string that stood there: epsilon is 0, and the kind is not protected.  Addresses,
telephone numbers, cards and accounts come from ranges that nobody can own: ``example.org``
(RFC 2606), 555-01xx, the documentation networks of RFC 5737 and 3849, check digits that are wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, NamedTuple

from dpsan.text.bounded_cache import BoundedCache
from dpsan.text.number_forms import FormedNumber, formed_number
from dpsan.text.shape import DIGIT, LETTER, PICTURE, POSSESSIVES, shape

_NAMES: Final = re.findall(
    r"\w+",
    "alex ari casey dana eli finn jamie jo kai kim kit lee lou max nico noa pat quinn remy robin "
    "sam sascha sky tony val",
)
"""First names of any gender, for addresses."""
_AREAS: Final = re.findall(
    r"\d+", "202 203 205 206 207 208 209 212 213 214 215 216 217 218 219 224 225 228 229 231"
)
_NETWORKS: Final = ("192.0.2.", "198.51.100.", "203.0.113.")
_PICTURES: Final = tuple("🙂😀😊👍🎉🌟🌞🍀🌈🎈")
_UNITS: Final = {
    1: tuple("mgslhk"),
    2: ("km", "kg", "cm", "mm", "ml", "th", "GB", "MB"),
    3: ("mph", "rpm", "kWh", "MHz", "GHz"),
}
"""Letters after a number, by their count."""
_ORDINAL: Final = 3
"""Most digits of a number that is an ordinal with two letters after it."""
_ENDINGS: Final = {1: "st", 2: "nd", 3: "rd"}
_DECADES: Final = {2: (2, 8), 4: (180, 23)}
"""First tens and their number, by the digits of a decade: 20s to 90s, 1800s to 2020s."""
_CODE: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ"
_NAMED: Final = 3 * LETTER
"""A code with so many letters in a row may hold a name."""
_LONGEST: Final = 12
"""Characters of a code or account that are drawn; a longer one becomes one of this length."""


class MadeUp(NamedTuple):
    """A kind of strings, and how its strings are written."""

    kind: str
    contact: bool
    """True if the kind belongs to the class of contacts, False for numbers. Strings that may write
    a name, such as *maria85* and Braille, are contacts."""
    size: int
    """Number of strings of the kind."""
    write: Callable[[int], str]
    """Return the string of a number below ``size``."""


def _digits(number: int, width: int) -> str:
    return str(number).zfill(width)


def _email(number: int) -> str:
    return f"{_NAMES[number // 100]}{number % 100:02}@example.org"


def _handle(number: int) -> str:
    return f"@{_NAMES[number // 100]}{number % 100:02}"


def _grouped(text: str) -> str:
    return " ".join(text[at : at + 4] for at in range(0, len(text), 4))


def _card(number: int) -> str:
    """Write a card number of 16 digits whose check digit is wrong (ISO/IEC 7812)."""
    body = f"400000{number:09}"
    total = sum(sum(divmod(int(digit) * (2 - at % 2), 10)) for at, digit in enumerate(body))
    digits = f"{body}{(11 - total % 10) % 10}"
    return _grouped(digits)


def _phone(number: int) -> str:
    return f"({_AREAS[number // 100]}) 555-01{number % 100:02}"


def _international(number: int) -> str:
    return f"+1 {_AREAS[number // 100]} 555 01{number % 100:02}"


def _iban(number: int) -> str:
    """Write an IBAN whose check digits are wrong (ISO 13616: modulo 97 they leave 1)."""
    turned = int(f"14332225{number:014}161100")  # EXMP, number, GB00: letters are 10 to 35
    check = "01" if turned % 97 == 1 else "00"
    return f"GB{check}EXMP{number:014}"


_FIXED: Final = (
    ("e-mail address", rf"[^@]+@.*[{LETTER}].*", 100 * len(_NAMES), _email),
    ("handle", r"@.*", 100 * len(_NAMES), _handle),
    (
        "URL",
        rf"[{LETTER}].*://.*|W+.*|[^/{LETTER}]*[{LETTER}][^/]*\.[{LETTER}M]+/.*",
        10**4,
        lambda number: f"https://example.org/{number:04}",
    ),
    (
        "IP address",
        r"0{1,3}(?:\.0{1,3}){3}",
        256 * len(_NETWORKS),
        lambda number: f"{_NETWORKS[number // 256]}{number % 256}",
    ),
    (
        "social security number",
        r"000-00-0000",
        10**6,
        lambda n: f"000-{n // 10000:02}-{n % 10000:04}",
    ),
    ("telephone number", r"000[-. N]0000", 100, lambda number: f"555-01{number:02}"),
    ("telephone number", r"000\.000\.0000", 100 * len(_AREAS), _phone),
    (
        "IBAN",
        rf"{LETTER}{{2}}00[{LETTER}0]{{11,30}}",
        10**12,
        _iban,
    ),
    (
        "IBAN",
        rf"{LETTER}{{2}}00(?: [{LETTER}0]{{1,4}}){{3,8}}",
        10**12,
        lambda number: _grouped(_iban(number)),
    ),
)
"""Kind, pattern of the whole shape, number of strings, and the string of a number."""
_GROUPS: Final = re.compile(r"\+?[()\-. N/]*0[0()\-. N/]*")
_ACCOUNT_DIGITS: Final = 7
"""Digits in a row from which a number is an account."""
_DATE: Final = re.compile(r"0000[-/.]00[-/.]00|00?[-/.]00?[-/.](?:00)?00")
_UNIT: Final = re.compile(rf"(0+)({LETTER}{{1,3}})")
_KINDS: Final = tuple(
    (re.compile(pattern), MadeUp(kind, True, size, write)) for kind, pattern, size, write in _FIXED
)


def recognized(token: str) -> MadeUp | FormedNumber | None:
    """Return the kind of a token, or its value if it is a number by value; None for words."""
    # Letters alone are a word, whatever they are.
    return None if token.isalpha() else _RECOGNIZED[token]


def _recognized(token: str) -> MadeUp | FormedNumber | None:
    kind = made_up(token)
    return kind if kind and kind.contact else formed_number(token) or kind


_RECOGNIZED: Final = BoundedCache(_recognized, 1 << 14)


def made_up(token: str) -> MadeUp | None:
    """Return the kind of a token; None for words, and for numbers that have a value.

    Args:
        token: one token of running text.
    """
    return _of_shape(shape(token, POSSESSIVES)[0])


@lru_cache(maxsize=1 << 12)
def _of_shape(own: str) -> MadeUp | None:
    for pattern, kind in _KINDS:
        if pattern.fullmatch(own):
            return kind
    digits = own.count(DIGIT)
    if _GROUPS.fullmatch(own) and not _DATE.fullmatch(own):
        if own.startswith("+"):
            return MadeUp("telephone number", True, 100 * len(_AREAS), _international)
        if 13 <= digits <= 19:
            return MadeUp("card number", True, 10**9, _card)
        grouped = own.strip(DIGIT) != ""
        if 9 <= digits <= 12 and grouped and "." not in own.replace(".0000", ""):
            return MadeUp("telephone number", True, 100 * len(_AREAS), _phone)
        if digits >= _ACCOUNT_DIGITS and not grouped:
            width = min(digits, _LONGEST)
            return MadeUp("account", True, 10**width, lambda n: _digits(n, width))
    if PICTURE in own:
        return MadeUp("picture", True, len(_PICTURES), _PICTURES.__getitem__)
    if not digits or LETTER not in own:
        return None
    named = _NAMED in own
    if unit := _UNIT.fullmatch(own):
        return _with_unit(len(unit[1]), len(unit[2]))._replace(contact=named)
    return _code(own[:_LONGEST])._replace(contact=named)


def _with_unit(width: int, letters: int) -> MadeUp:
    """Return the kind of a number with letters after it.

    Most numbers with two letters are ordinals (*21st*: 97 % in the corpus of the vocabulary), and
    most of four digits with one letter are decades (*1990s*: 98 %; of two digits, 48 %).
    """
    width, units = min(width, _LONGEST), _UNITS[letters]
    kind, first = "number with a unit", 10 ** (width - 1) if width > 1 else 1
    size = 10**width - first
    if letters == 1 and width in _DECADES:
        least, size = _DECADES[width]
        return MadeUp(kind, False, size, lambda number: f"{least + number}0s")
    if letters == 2 and width <= _ORDINAL:
        return MadeUp(kind, False, size, lambda number: _ordinal(first + number))

    def write(number: int) -> str:
        return f"{first + number // len(units)}{units[number % len(units)]}"

    return MadeUp(kind, False, size * len(units), write)


def _ordinal(number: int) -> str:
    ending = "th" if number // 10 % 10 == 1 else _ENDINGS.get(number % 10, "th")
    return f"{number}{ending}"


def _code(own: str) -> MadeUp:
    """Return the kind of a code of letters and digits: all codes of its shape."""
    alphabets = [
        "0123456789" if each == DIGIT else _CODE if each == LETTER else each
        for each in own
        if each.isprintable()
    ]
    size = 1
    for alphabet in alphabets:
        size *= len(alphabet)

    def write(number: int) -> str:
        out = []
        for alphabet in reversed(alphabets):
            number, at = divmod(number, len(alphabet))
            out.append(alphabet[at])
        return "".join(reversed(out))

    return MadeUp("code", False, size, write)
