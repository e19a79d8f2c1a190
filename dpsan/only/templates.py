"""Strings of a form: what may stand in place of each of its marks.

A template is a row of pieces: texts, ranges of numbers, and lists of choices.  The strings of a
form are numbered by a mixed radix, the last piece first.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from dpsan.only.dates import ANY, HALF_DAY, NO_HOUR, QUARTERS
from dpsan.only.marks import (
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
    NOW,
    PADDED,
    RANGES,
    SHORT,
    SIZES,
    SMALL,
    WARM,
    YEARS,
    ZERO,
    Range,
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
_ACRONYMS: Final[dict[int, list[Piece]]] = {
    len(columns): [*map(list, columns)]
    for columns in (
        ("ABCDEFGHIMNPRSTU", "ABCDEFHILMNPRST", "ABCDEFGILMNOPRSTU"),
        ("ABCDEFGHIMNPRSTU", "ABCEFHILMNPRST", "ACDEFILMNPRST", "ABCDFGPSTU"),
        ("BCDFGLMNPRST", "AEIO", "BCDFGLMNPRST", "AEIO", "CDFGLMNPRST"),
    )
}
"""Letters of an acronym, by its length: such as those of offices and firms."""
_AT_ONCE: Final = 15
"""Digits of a piece."""
_CODES: Final = {
    name: codes.split()
    for name, codes in (
        ("area", "202 203 205 206 207 208 209 212 213 214 215 216 217 218 219 224 225 228 229 231"),
        ("country1", "1"),
        ("country2", "27 30 31 32 33 34 36 39 40 41 43 44 45 46 47 48 49 52 55 61 64 65 81 91"),
        ("country3", "211 212 216 233 234 254 255 351 352 353 354 358 370 385 386 420 421"),
        ("dose1", "2 4 5"),
        ("dose2", "10 20 25 40 50"),
        ("dose3", "100 150 200 250 300 400"),
    )
}
"""Codes of areas, codes of countries and doses by their number of digits."""
_AGES: Final = dict(zip(SIZES, ((16, 24, 0), (25, 49, 0), (50, 84, 0)), strict=True))
_SPANS: Final = ((0, 4, 0), (5, 9, 0), (2, 5, 0), (6, 9, 0), (36, 37, 0), (38, 39, 0))
_DIGITS: Final[dict[str, Piece]] = dict(zip(HALVES + FEW_MANY + WARM, _SPANS, strict=True))
"""Digits of measured values by the mark of their size."""
_HOSTS: Final = ["192.0.2.", "203.0.113.", *(f"198.18.{host}." for host in range(256))]
_PARTS: Final = {
    f"{DIGIT}.{DIGIT}": ["1.5", "2.5", "7.5"],
    f"{ZERO}.{DIGIT}": ["0.2", "0.4", "0.5"],
    f"{ZERO}.{DIGIT * 2}": ["0.25", "0.05", "0.75"],
    f"{DIGIT * 2}.{DIGIT}": ["12.5", "37.5", "62.5"],
    f"{DIGIT}.{DIGIT * 2}": ["1.25", "3.75", "6.25"],
    f"{DIGIT},{DIGIT * 3}": ["1,000", "1,500", "2,000"],
}
"""Doses that are no whole numbers below a thousand."""
_NATURAL: Final = frozenset(RANGES) - {"shortyear"}
"""Groups of numbers that no zero fills up."""
_LOCAL: Final = re.compile("(|.*?[^\x01])((?:\x01{3}[^\x01]{1,2})?)\x01{3}([ .-])\x01{4}", re.S)
_MARKS: Final = re.compile(r"[\x01\x02\x0e-\x10]+|[\x03-\x07\x12]|[^\x01-\x07\x0e-\x10\x12]+")
_COUNTRY: Final = re.compile(rf"\+({DIGIT}{{1,3}})(?=[ .(-])")
_ZONE: Final = re.compile(rf"(?<={DIGIT})([+\u2212-])[\d{DIGIT}]{{2}}(:?)[\d{DIGIT}]{{2}}$")
_GRAMS: Final[dict[str, list[Piece]]] = {
    f"{DIGIT}g": [["1", "2"], "g"],
    f"{DIGIT}.{DIGIT}g": [["1.2", "1.5", "1.8", "2.4"], "g"],
    f"{DIGIT * 4}g": [(2100, 4400, 0), "g"],
    f"{DIGIT}.{DIGIT * 2}kg": [(2, 4, 0), ".", (1, 99, 2), "kg"],
}
"""Doses in grams, and what babies weigh."""
_PAIR: Final = re.compile(f"[dmey](?:[ps]|{DIGIT}+)([^{DIGIT}]){DIGIT}*")
_TAXES: Final = ["5", "7", "8", "10", "15", "16", "18", "19", "20", "21", "23", "25"]
_MARKED: Final = re.compile(r"[\x01\x0e-\x10]")
_DOSE: Final = re.compile(rf"({DIGIT}{{1,3}})(mg|mcg|µg)")


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
    hexadecimal: list[Piece] = [list(_ALPHABETS[HEX])] * 4
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
    if group.startswith("acr"):
        size = int(group[3:])
        return [*_ACRONYMS.get(size, [])] or [list(_ALPHABETS[LARGE])] * size
    if group == "ordinal":
        if form[0] == "d":  # of a day
            return [(2, 9, 0) if len(form) == 2 else (10, 31, 0), "th"]
        low = 10 ** (len(form) - 1) + (len(form) == 2) * 22
        return [(low, 10 ** len(form) - 1, 0), "th"]
    if group == "decade":
        head = form.rstrip(DIGIT + "s")
        return [head, (185, 202, 0) if len(form) == 5 else (2, 9, 0), "0s"]
    if joined := _DOSE.fullmatch(unsized(form)):
        return [_CODES[f"dose{len(joined[1])}"], joined[2]]
    if group == "road":
        small = re.fullmatch(f"{LARGE}({DIGIT}{{1,4}})", form)
        return [["A", "B", "M"], *template("number", small[1])] if small else template("code", form)
    if group == "number" and form[-1:] in YEARS:  # No. 214/2022
        month: list[Piece] = [(1, 9, 2)]
        before = month if form[:-2] == ZERO * 2 else template(group, form[:-2])
        return [*before, "/", (*YEARS[form[-1]], 0)]
    if group == "number" and form[-2:] == DIGIT + FIVE and len(form) < 6:
        return [(1, 9, 0) if form[1] == "." else (10, 23, 0), ".", (0, 5, 0), list("05")]
    if group == "card":  # none begins with 0
        return ["0", *template("number", form[1:])]
    if group == "iban":  # check digits of none are 00 or 01 (ISO 13616)
        return [form[:2], (0, 1, 2), *template("code", form[4:])]
    if group == "yearspan":  # the last piece counts from the first
        last = 1 if form.endswith(NEXT) else 6
        low, high = YEARS[form[0]]
        first = min(high, NOW - last) if low < NOW else high
        return [(low, first, 0), form[1], (1, last, len(form) - 2)]
    if group == "dotclock":
        if form[-3:-1] != f".{DIGIT}" or len(form) > 5:  # bought at 1,204.55
            return template("number", form)
        hours: Piece = (7, 9, 0) if form[1] == "." else (10, 18, 0)
        return [hours, ".", (0, 5, 0), list("05" if form[-1] == FIVE else "12346789")]
    if group in ("dose", "microgram"):
        usual = _PARTS.get(form) or _CODES.get(f"dose{len(form)}")
        return [usual] if usual else template("number", form)
    if group == "number" and (pair := _PAIR.fullmatch(form)):
        return [[f"{part}{pair[1]}{whole}" for whole in range(2, 10) for part in range(1, whole)]]
    if group in ("code", "comacode") and form == f"E{DIGIT}V{DIGIT}M{DIGIT}":
        return [["E3V5M6", "E4V4M6", "E4V5M5"]]
    if group == "code" and form == f"G{DIGIT}P{DIGIT}":
        return [["G2P1", "G3P1", "G3P2", "G4P2", "G4P3"]]
    if group == "mark":
        best, _, decimals = form.partition(":")
        return [
            (int(best) // 2, int(best) - 1, 0),
            ".",
            (0, 10 ** int(decimals) - 1, int(decimals)),
        ]
    if group == "quantity" and form.endswith((" C", " F")):  # of a body
        return [(36, 38, 0) if form[-1] == "C" else (97, 101, 0), ".", (0, 9, 0), form[-2:]]
    pieces: dict[str, list[Piece] | None] = {
        "hhmm": [(5, 9, 2) if form[:1] == ZERO else (10, 23, 2), (0, 59, 2)],
        "monthno": [(1, 9, 2) if form[:1] == ZERO else (10, 12, 0) if form[1:] else (1, 9, 0)],
        "taxrate": [_TAXES, re.sub(r"^[^ %]+", "", form)],
        "rating": [(1, 4, 0), ".", (0, 9, 0)] if form == f"{DIGIT}.{DIGIT}" else None,  # of five
        "letters": [list(_ALPHABETS[SMALL])] * 3,
        "score": [(1, 9, 0), "/10"],
        "days7": [["3", "4", "5", "7", "10"], "/7"],
        "months12": [(2, 9, 0), "/12"],
        "port": [(10240, 65535, 0)],
        "clothes": [["10", "12", "14", "16", "36", "38", "40", "42", "44"]],
        "times": [form[:1], (2, 9, 0) if len(form) == 2 else (10, 30, 0)],
        "quarter": [form[:1], (1, 4, 0)],
        "tooth": [[f"{side}{tooth}" for side in range(1, 5) for tooth in range(4, 8)]],
        "unitdose": [["2500", "4500", "5000", "7500"] if len(form) == 4 else ["10000", "12500"]],
        "gram": [["1", "2"]],
        "nth": [["1st", "2nd", "3rd", "4th"]],
        "roundth": [["18th", "21st", "30th", "40th", "50th", "60th"]],
        "strength": [["2%"]],
        "votes": [["3:1", "4:1", "4:2", "5:1", "5:2", "6:1"]],
        "grams": [(2100, 4400, 0)],
        "minutes": [[str(minutes) for minutes in range(10, 60, 5)]],
        "months2": [["12", "15", "18", "24", "30", "36"]],
        "age": [_AGES.get(form[:1], (2, 9, 0)), _MARKED.sub("", form)],
        "gestday": [(30, 36, 0), "+", (0, 6, 0)],
        "costrength": [["8/500", "15/500", "30/500"]],
        "score30": [(14, 29, 0), "/30"],
        "score20": [(7, 20, 0), "/20"],
        "majority": [["18", "21"]],
        "score5": [(2, 5, 0), "/5"],
        "acuity": [["6/6", "6/9", "6/12", "6/18"]],
        "overweeks": [(26, 41, 0) if form.endswith("/40") else (2, 9, 0), form[-3:]],
        "quantity": _GRAMS.get(form),
        "ip": [_HOSTS, (1, 254, 0)],
        "ipv6": ["3fff:1", *hexadecimal[:2], "::", *hexadecimal, ":", *hexadecimal],
        "url": ["https://example.org/", (1000, 9999, 0)],
        "ssn": ["000-", (1, 99, 2), "-", (1000, 9999, 0)],
        "handle": ["@", list(names), (10, 99, 0)],
    }
    return pieces.get(group)


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
