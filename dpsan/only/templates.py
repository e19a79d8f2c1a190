"""Strings of a form: what may stand in place of each of its marks.

A template is a row of pieces: texts, ranges of numbers, and lists of choices.  The strings of a
form are numbered by a mixed radix, the last piece first.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from dpsan.only.dates import ANY, HALF_DAY, NO_HOUR, QUARTERS
from dpsan.only.forms import (
    DAY_FIRST,
    DIGIT,
    FEW_MANY,
    FIVE,
    HALVES,
    HEX,
    LARGE,
    LARGE_HEX,
    NEXT,
    NIL,
    PADDED,
    SHORT,
    SIZES,
    SMALL,
    WARM,
    YEARS,
    ZERO,
    Range,
    rows,
    unsized,
)

Piece = str | Range | list[str]

WIDEST: Final = 1 << 60
"""Strings of one form that an injection tells apart; further pieces are drawn independently."""
_ALPHABETS: Final = {
    LARGE: "ABCDEFGHJKLMNPQRSTUVWXYZ",
    SMALL: "abcdefghjkmnpqrstuvwxyz",
    HEX: "0123456789abcdef",
    LARGE_HEX: "0123456789ABCDEF",
    FIVE: "05",
}
_AT_ONCE: Final = 15
"""Digits of a piece."""
_SPANS: Final = ((0, 4, 0), (5, 9, 0), (2, 5, 0), (6, 9, 0), (36, 37, 0), (38, 39, 0))
_DIGITS: Final[dict[str, Piece]] = dict(zip(HALVES + FEW_MANY + WARM, _SPANS, strict=True))
"""Digits of measured values by the mark of their size."""
_LOCAL: Final = re.compile("(|.*?[^\x01])((?:\x01{3}[^\x01]{1,2})?)\x01{3}([ .-])\x01{4}", re.S)
_MARKS: Final = re.compile(r"[\x01\x02\x0e-\x10]+|[\x03-\x07\x12]|[^\x01-\x07\x0e-\x10\x12]+")
_COUNTRY: Final = re.compile(rf"\+({DIGIT}{{1,3}})(?=[ .(-])")
_ZONE: Final = re.compile(rf"(?<={DIGIT})([+\u2212-])[\d{DIGIT}]{{2}}(:?)[\d{DIGIT}]{{2}}$")
_PAIR: Final = re.compile(f"[dmey](?:[ps]|{DIGIT}+)([^{DIGIT}]){DIGIT}*")
_DOSE: Final = re.compile(rf"({DIGIT}{{1,3}})(mg|mcg|µg)")
_MARK_OF: Final = {"#": DIGIT, "<0>": ZERO, "<5>": FIVE, "<A>": LARGE, "<a>": SMALL} | dict(
    zip(("<s>", "<m>", "<l>"), SIZES, strict=True)
)
"""Marks by what stands for them in ``forms.tsv``."""
_LETTERS: Final = {r"\a": SMALL, r"\A": LARGE, r"\h": HEX}


def _form(text: str) -> re.Pattern[str]:
    """Return the pattern of forms of a row."""
    return re.compile(re.sub("#|<.>", lambda mark: _MARK_OF[mark[0]], text))


def _range(text: str) -> Range:
    """Return a range of a row: from..to."""
    low, high = text.split("..")
    return int(low), int(high), len(low) if low[0] == "0" and low[1:] else 0


def _piece(text: str) -> Piece:
    """Return a piece of a row."""
    if text in _LETTERS:
        return list(_ALPHABETS[_LETTERS[text]])
    if ".." in text:
        return _range(text)
    if "|" in text or text[0] == "[":
        return text.split("|") if "|" in text else list(text[1:-1])
    return text.replace(r"\s", " ")


_ROWS: Final = defaultdict[str, list[tuple[re.Pattern[str], list[Piece]]]](list)
"""Templates by their groups: the pattern of a form, and the pieces of the first one that fits."""
for _groups, _text, _pieces, *_ in rows("template"):
    for _group in _groups.split():
        _ROWS[_group].append((_form(_text), [*map(_piece, _pieces.split(" "))]))
_LIKE: Final = {group: other for groups, other, *_ in rows("like") for group in groups.split()}
"""Groups that have the templates of another one."""
RANGES: Final = {group: [*map(_range, text.split())] for group, text, *_ in rows("range")}
"""Ranges of the numbers that people have, by group: one for each run of digits."""
_NATURAL: Final = frozenset(RANGES) - {"shortyear"}
"""Groups of numbers that no zero fills up."""
_CODES: Final = {name: codes.split() for name, codes, *_ in rows("codes")}
"""Codes of areas, and of countries by their number of digits."""


@lru_cache(1 << 14)
def template(group: str, form: str, names: tuple[str, ...] = ()) -> list[Piece]:
    """Return the pieces of the strings of a form.

    Args:
        group: of the token.
        form: its marks and what stands between them.
        names: what stands for a mark of letters in e-mail addresses, handles and paths.
    """
    if group == "clock" and (zone := _ZONE.search(form)):
        drawn: list[Piece] = [zone[1], (0, 12, 2), f"{zone[2]}00"]
        offset = [zone[0]] if zone[0][1:].replace(":", "").isdigit() else drawn
        return [*template(group, form[: zone.start()]), *offset]
    simple = _simple(group, form, names)
    if simple is not None:
        return simple
    if group == "clock":
        return _clock(form[0], int(form[1]), form[2], form[3:])
    ranges = list(RANGES.get(group, ()))
    if group.startswith("phone"):
        own, group = group.removeprefix("phone"), "phone"
        if country := _COUNTRY.match(form):
            digits = len(country[1])
            codes = [own] if len(own) == digits else _CODES[f"country{digits}"]
            return ["+", codes, *template("phone", form[len(country[0]) :])]
    whole = group == "int" and form == DIGIT
    form = form.replace(NIL, "0")
    local = _LOCAL.fullmatch(form)
    if group == "phone" and local:
        code = template("code", local[1])
        area: list[Piece] = [_CODES["area"], local[2].replace(DIGIT * 3, "", 1)] if local[2] else []
        return [*code, *area, "555", local[3], "01", (0, 99, 2)]
    pieces: list[Piece] = []
    for number, match in enumerate(_MARKS.finditer(form)):
        run = match[0]
        if run[0] in (DIGIT, ZERO, *SIZES):
            low = (2 if whole else 1) if number < 2 or group != "int" else 0
            piece = _digits(run[:_AT_ONCE], group, ranges, low)
            pieces.append(piece)
            for at in range(_AT_ONCE, len(run), _AT_ONCE):
                size = len(run[at : at + _AT_ONCE])
                pieces.append((0, 10**size - 1, size))
        elif run in _ALPHABETS:
            pieces.append(list(_ALPHABETS[run]))
        else:
            pieces.append(run)
    return pieces


def _clock(kind: str, part: int, minutes: str, form: str) -> list[Piece]:
    """Return the template of a time, by the parts of its form; see :func:`~dpsan.only.dates`."""
    first = part * 6
    hours: Piece = (first, first + 5 - 2 * (part == 3), 2)  # few things happen at 23:00
    if kind == HALF_DAY:
        # In each six hours five: 1 to 5, 7 to 11, 1 to 5 pm, 6 to 10 pm.
        hours = [
            str(hour % 12 or 12) for hour in range(first + (part < 3), first + 6 - (part == 3))
        ]
    elif kind == SHORT:
        hours = (1, 5, 0) if part == 2 else (6, 9, 0)
    every = [f"{minute:02}" for minute in range(60)]
    minute_of_hour: Piece = every[:: 15 if minutes == QUARTERS else 5]
    if minutes == ANY:
        seconds = re.search(f"{DIGIT}[:.]{DIGIT}{DIGIT}[:.]", form)
        minute_of_hour = every if seconds else [text for text in every if int(text) % 5]
    start, _, rest = form.partition(DIGIT)
    pieces: list[Piece] = [start, hours]
    if kind == NO_HOUR:
        start, _, rest = form.rpartition("0")
        pieces = [start + "0"]
    values: list[Piece] = [minute_of_hour, (0, 59, 2)]
    for match in re.finditer(f"{DIGIT}{{2}}(?={DIGIT}{{2}}(?!{DIGIT}))|{DIGIT}+|[^{DIGIT}]+", rest):
        run = match[0]
        digits = (0, 10 ** len(run) - 1, len(run))
        pieces.append(run if run[0] != DIGIT else values.pop(0) if values else digits)
    return pieces


def _days(form: str) -> list[str]:
    """Return the days of a year, by which number is the day, its zeros, and what is between."""
    width = 2 if form[1] == PADDED else 1
    days = []
    for month, day in itertools.product(range(1, 13), range(1, 29)):
        pair = (day, month) if form[0] == DAY_FIRST else (month, day)
        days.append(form[2:].join(str(number).zfill(width) for number in pair))
    return days


def _simple(group: str, form: str, names: tuple[str, ...]) -> list[Piece] | None:
    """Return the template of a group whose strings need no look at their marks."""
    if group == "near":  # behind a point no 0
        return [
            (int(form[at - 1 : at] == "."), 9, 0) if mark == DIGIT else _DIGITS.get(mark, mark)
            for at, mark in enumerate(form)
        ]
    if group == "daymonth":
        return [_days(form)]
    if group == "year":
        low, high = YEARS[form[0]]
        return [(low % 100, high % 100, 2) if len(form) > 1 else (low, high, 0)]
    if joined := _DOSE.fullmatch(unsized(form)):
        return [*template("dose", joined[1]), joined[2]]
    if group == "number" and form[-1:] in YEARS:  # No. 214/2022
        month: list[Piece] = [(1, 9, 2)]
        before = month if form[:-2] == ZERO * 2 else template(group, form[:-2])
        return [*before, "/", (*YEARS[form[-1]], 0)]
    if group == "card":  # none begins with 0
        return ["0", *template("number", form[1:])]
    if group == "iban":  # check digits of none are 00 or 01 (ISO 13616)
        return [form[:2], (0, 1, 2), *template("code", form[4:])]
    if group == "yearspan":  # the last piece counts from the first
        last = 1 if form.endswith(NEXT) else 6
        return [(YEARS[form[0]][0], YEARS[form[0]][1] - last, 0), form[1], (1, last, len(form) - 2)]
    if group == "number" and (pair := _PAIR.fullmatch(form)):
        return [[f"{part}{pair[1]}{whole}" for whole in range(2, 10) for part in range(1, whole)]]
    for of_form, pieces in _ROWS.get(group, ()):
        if (names or r"\n" not in pieces) and (found := of_form.fullmatch(form)):
            return [_filled(piece, found, names) for piece in pieces]
    return template(_LIKE[group], form) if group in _LIKE else None


def _filled(piece: Piece, form: re.Match[str], names: tuple[str, ...]) -> Piece:
    """Return a piece with a part of a form, or with names, in place of what stands for them."""
    if isinstance(piece, str) and piece[0] == "\\":
        return list(names) if piece[1] == "n" else form[int(piece[1])]
    return piece


def _digits(run: str, group: str, ranges: list[Range], lowest: int) -> Range | str:
    """Return the range of one run of digits; takes the next of some ranges, if there is one."""
    size = len(run)
    if ranges:
        low, high, _ = ranges.pop(0)
        padded = size > 1 and (group not in _NATURAL or run[0] == ZERO)
        return (low, high, size if padded else 0)
    if run[0] == ZERO:
        return "0" if size == 1 else (0, 10**size // 10 - 1, size)
    if run[0] in SIZES:
        low, high = SIZES[run[0]]
        return (low * 10 ** (size - 2), (high + 1) * 10 ** (size - 2) - 1, 0)
    if size == 1:
        return (lowest, 9, 0)
    return (10 ** (size - 1), 10**size - 1, 0)


def local_part(marks: Sequence[str], names: tuple[str, ...]) -> list[Piece]:
    """Return the template of the marks of a local part."""
    pieces: list[Piece] = []
    for mark in marks:
        if mark == LARGE:
            pieces.append(list(names))
        elif mark == SMALL:
            pieces.append(list(_ALPHABETS[SMALL]))
        elif mark[0] == DIGIT:
            pieces += [(1, 9, 0)] * len(mark)
        else:
            pieces.append(mark)
    return pieces


def choices(piece: Piece) -> int:
    """Return how many values a piece has."""
    if isinstance(piece, tuple):
        return piece[1] - piece[0] + 1
    return len(piece) if isinstance(piece, list) else 1


def radices(pieces: Sequence[Piece]) -> list[int]:
    """Return the sizes of the numbers of a string, each at most :data:`WIDEST`.

    The first is that of the injection; a string with more values has further, independent ones.
    """
    sizes = [1]
    for piece in reversed(pieces):
        count = choices(piece)
        if sizes[-1] * count > WIDEST:
            sizes.append(1)
        sizes[-1] *= count
    return sizes


def string(pieces: Sequence[Piece], numbers: Sequence[int]) -> str:
    """Return the string of a template with these numbers, one for each of :func:`radices`."""
    out: list[str] = []
    rest = iter(numbers)
    number, left = next(rest), 1
    for piece in reversed(pieces):
        if isinstance(piece, str):
            out.append(piece)
            continue
        low, high, width = (0, len(piece) - 1, 0) if isinstance(piece, list) else piece
        count = high - low + 1
        if left * count > WIDEST:
            number, left = next(rest), 1
        left *= count
        number, value = divmod(number, count)
        out.append(piece[value] if isinstance(piece, list) else str(low + value).zfill(width))
    return "".join(reversed(out))


def finished(group: str, text: str) -> str:
    """Return a string whose last part depends on the first."""
    if group == "ordinal":
        return ordinal(int(text[:-2]))
    if group == "yearspan":
        first, mark, last = text[:4], text[4], text[5:]
        return first + mark + str(int(first) + int(last))[-len(last) :]
    return text


def ordinal(number: int) -> str:
    """Return a number with its ending."""
    ending = "th" if number // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
