"""Dates in digits: a year, a day and a time, so that equal years and equal days stay equal.

The form of a day tells which number is the day, and between what it stands.  Where one date alone
does not tell, the other dates of its text do: what is public of a date is whether its day is above
12 and whether a number below 10 has a zero.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from datetime import date
from functools import lru_cache
from itertools import compress
from typing import Final

import numpy as np

from dpsan.only.forms import (
    DAY_FIRST,
    DIGIT,
    EITHER,
    MONTH_FIRST,
    NOW,
    PADDED,
    SHORT,
    YEAR_FIRST,
    YEARS,
)
from dpsan.only.view import Codes, Indices, Ints, distinct, ranks

LABELS: Final = ("daymonth", "monthday", "over5", "over20", "over7", "over10", "over12", "pair")
"""Labels of days: of a date, and alone."""
KINDS: Final = {
    "iso": re.compile("(?P<dateyear>.{4})-(?P<daymonth>.{5})(?: ?(?P<clock>.+))?"),
    "basic": re.compile("(?P<dateyear>.{4})(?P<daymonth>.{4})(?P<clock>T.+)"),
    "fiscal": re.compile("\\D+(?P<dateyear>.{2})"),
    "ymd": re.compile("(?P<dateyear>.{4})[/.](?P<daymonth>.+)"),
    "dmy": re.compile(r"(?P<daymonth>\d+[-/.]\d+)[-/.](?P<dateyear>.+)"),
    "daydot": re.compile(r"(?P<daymonth>\d+\.\d+)\."),
    "shortyear": re.compile("['’](?P<dateyear>.{2})"),
    "logtime": re.compile("(?P<dateyear>.{4}):(?P<clock>.+)"),
}
"""By the kind of a string its parts, named by their labels."""
DAYS: Final = 2
"""Sort of the days of dates in digits."""
SORTS: Final = {
    **dict.fromkeys(("year", "dateyear"), 1),
    **dict.fromkeys(LABELS, DAYS),
    **dict.fromkeys(("int1", "int2", "int3", "bit", "int4", "int40", "int5", "int6", "intlong"), 3),
    **dict.fromkeys(("number", "clock"), 3),
    "ordinal": 5,
    **dict.fromkeys(("month", "month?", "month3", "month3?", "month_de", "month_fr"), 6),
    **dict.fromkeys(("day", "day3", "day3?", "day_de"), 7),
    **dict.fromkeys(("money", "percent", "quantity"), 8),
}
"""By their labels the sorts of tokens of which one may be earlier than another, or smaller."""
_RUNS: Final = re.compile(r"\d+")
_PAIRS: Final = re.compile(r"\d\d?")
_MONTH_YEAR: Final = re.compile(r"\d{1,2}/\d{4}")
_HALF: Final = re.compile("[apAP]")
_UNPADDED: Final = re.compile(r"[1-5][:h]")
_NAMES = {
    name: at
    for at, name in enumerate(
        re.findall("...", "janfebmaraprmayjunjulaugsepoctnovdecmontuewedthufrisatsun")
    )
} | {"mär": 2, "mai": 4, "okt": 9, "dez": 11, "die": 13, "mit": 14, "don": 15, "fre": 16}
_NAMES |= {"sam": 17, "son": 18, "fév": 1, "avr": 3, "aoû": 7, "déc": 11}
"""First letters of months and weekdays, of German ones and French months too, and their order."""
NO_HOUR, HALF_DAY = "zh"
"""Marks of an hour that is 0, and of one before am or pm; other hours have marks of dates."""
QUARTERS, FIVES, ANY = "qfx"
"""Marks of minutes that are a multiple of fifteen, of five, and of all others."""
_OFFSET: Final = re.compile(r"(?:^T[\d:.,]+|:\d\d:\d\d(?:[.,]\d+)?)([+\u2212-]\d\d:?\d\d)$")
"""The offset of a zone: behind T or seconds it is no end of a range of times."""
_CLOCK: Final = re.compile(r"(\D{0,2})(\d{1,2})(?:[:.h](\d\d)(?!\d))?([:.]\d\d)?")
_LIMIT: Final = 10_000
_DIGITS: Final = 4
"""Digits of a run that are compared: those of one form have as many."""
_BETWEEN: Final = re.compile(rf"{DIGIT}+([^{DIGIT}]){DIGIT}+")
_BARE: Final = re.compile(rf"(?<!{DIGIT}){DIGIT}(?!{DIGIT})")


def date_parts(kind: str, text: str) -> list[tuple[int, int, str, str]]:
    """Return start, end, label and form of the parts of a date; none if the string is no date."""
    match = KINDS[kind].fullmatch(text)
    parts = {name: part for name, part in match.groupdict().items() if part} if match else {}
    day = parts.get("daymonth", "")
    order = date_order(day) if kind in ("dmy", "daydot") else YEAR_FIRST
    if match is None or not order:
        return []
    forms = {
        "dateyear": year_form(parts["dateyear"]) if "dateyear" in parts else "",
        "daymonth": order + re.sub(r"\d", DIGIT, day),
        "clock": clock_form(parts["clock"]) if "clock" in parts else "",
    }
    return sorted((*match.span(name), name, forms[name]) for name in parts)


def clock_form(text: str) -> str:
    """Return the form of a time: how its hour is written, the six hours of the day in which it
    lies, whether its minutes are a multiple of five, and its marks, one for the hour. The offset of
    a zone (+05:30) stays.
    """
    offset = (_OFFSET.search(text) or ["", ""])[1]
    text = text.removesuffix(offset)
    match = _CLOCK.match(text)
    if match is None:
        return PADDED + "0" + ANY + re.sub(r"\d", DIGIT, text) + offset
    before, hour, minutes, seconds = match.groups()
    half = re.search("[apAP]", text)
    rest = re.sub(r"\d", DIGIT, text[match.end(2) :]) + offset
    if int(hour) == 0 and not half:  # as a duration has it
        return NO_HOUR + "0" + _minutes(minutes, seconds) + before + hour + rest
    number = int(hour) % 12 + 12 * (half[0] in "pP") if half else int(hour) % 24
    number = int(hour) if 24 < int(hour) < 60 else number  # minutes: 33:18
    short = len(hour) == 1 and not half
    number += 12 * (short and number < 6)
    kind = HALF_DAY if half else SHORT if short else PADDED
    return kind + str(number // 6) + _minutes(minutes, seconds) + before + DIGIT + rest


def _minutes(minutes: str | None, seconds: str | None) -> str:
    """Return the mark of the minutes of a time."""
    if minutes is None or seconds or int(minutes) % 5:
        return ANY
    return FIVES if int(minutes) % 15 else QUARTERS


def date_order(text: str) -> str:
    """Return which of two numbers is the day; nothing if they are no date."""
    first, second = map(int, re.findall(r"\d+", text))
    if not 0 < min(first, second) <= 12 or max(first, second) > 31:
        return ""
    if first > 12 or ("." in text and second <= 12):
        return DAY_FIRST
    return MONTH_FIRST if second > 12 else EITHER


def year_class(year: int) -> str:
    """Return the class of a year that a form may show."""
    return next(name for name, (_, last) in YEARS.items() if year <= last or name == "G")


def year_form(year: str) -> str:
    """Return the form of the year of a date: its class, and marks of two digits."""
    if len(year) == 4:
        return year_class(int(year))
    return year_class(int(year) + (2000 if 2000 + int(year) <= NOW else 1900)) + DIGIT * 2


def day_forms(
    forms: Sequence[str], texts: Sequence[int], british: Collection[int] = ()
) -> list[str]:
    """Return the forms of days by what the dates of each text tell together.

    Args:
        forms: as :func:`date_parts` returns them.
        texts: the text of each.
        british: texts about a country where the day stands first.
    """
    sure = [(form[0], text) for form, text in zip(forms, texts, strict=True)]
    led = {text for first, text in sure if first == DAY_FIRST}
    led |= {text for text in british if (MONTH_FIRST, text) not in sure}
    marks_between = [_BETWEEN.fullmatch(form, 1) for form in forms]
    places = [*zip(texts, (match and match[1] for match in marks_between), strict=True)]
    short = {
        place
        for form, place in zip(forms, places, strict=True)
        if form[0] != YEAR_FIRST and _BARE.search(form)
    }
    forms_of_days = []
    for form, text, place, between in zip(forms, texts, places, marks_between, strict=True):
        order = form[0]
        bare = place in short if order != YEAR_FIRST else _BARE.search(form)
        first = order == DAY_FIRST or (order == EITHER and text in led)
        marks = (DAY_FIRST if first else MONTH_FIRST) + (SHORT if bare else PADDED)
        forms_of_days.append(marks + (between[1] if between else ""))
    return forms_of_days


@lru_cache(1 << 14)
def moment(text: str, *, day_first: bool | None) -> int:
    """Return a number that is smaller for an earlier date, time or number of one sort.

    Args:
        text: of one sort.
        day_first: whether the first number of a day and month is the day; None: it is no such.
    """
    name = text[:3].lower()
    if name in _NAMES:
        return _NAMES[name]
    # 0503, T100000Z: nothing need be between two numbers.
    runs = (_RUNS if day_first is None and text[:1] != "T" else _PAIRS).findall(text)
    numbers = [int(run[:_DIGITS]) for run in runs[:4]] or [0]
    if day_first or _MONTH_YEAR.fullmatch(text):
        numbers.reverse()
    numbers[0] += 12 * _afternoon(text, numbers[0])
    value = 0
    for number in [*numbers, 0, 0, 0][:4]:
        value = value * _LIMIT + number
    return value


def weekday_of(day: str, month: str, year: str, *, day_first: bool) -> int:
    """Return the weekday of a date in parts, from 0 on Monday; without a year that of 2026.

    Args:
        day: of the month, or day and month in digits.
        month: its name, or nothing.
        year: of two or four digits, or nothing.
        day_first: of a day and month, see :func:`moment`.
    """
    of_year, number = day_of_year(day, month, day_first=day_first)
    whole = full_year(int(re.sub(r"\D", "", year) or NOW))
    return int(date(whole, of_year, 1).weekday() + number - 1) % 7


def day_of_year(day: str, month: str, *, day_first: bool) -> tuple[int, int]:
    """Return month and day of a date in parts, see :func:`weekday_of`."""
    first, second = divmod(moment(day, day_first=day_first) // _LIMIT**2, _LIMIT)
    return (first, second) if second else (moment(month, day_first=False) + 1, first)


def full_year(year: int) -> int:
    """Return a year that may have two digits with four."""
    return year + (year < 100) * (2000 if 2000 + year <= NOW else 1900)


def _afternoon(text: str, hour: int) -> int:
    """Return 1 behind noon, -1 in the hour after midnight as twelve hours write it."""
    half = _HALF.search(text)
    if half:
        return int(half[0] in "pP") - int(hour == 12)
    return int(_UNPADDED.match(text) is not None)  # unpadded: of the afternoon


def in_turn(
    sort: Codes, values: Sequence[int], text: Ints, at: Indices
) -> list[tuple[int, list[int]]]:
    """Return the tokens of each day (0) and month (1) of a text, the least first.

    Args:
        sort: of some tokens; so are the others.
        values: as :func:`moment` returns them.
        at: their places.
    """
    tables: defaultdict[tuple[int, int, int], list[int]] = defaultdict(list)
    for kind_of, value, number, token in zip(
        sort.tolist(), values, text.tolist(), at.tolist(), strict=True
    ):
        first, second = divmod(value // _LIMIT**2, _LIMIT)
        month = {DAYS: first, SORTS["month"]: value + 1}.get(kind_of, 0)
        day = {DAYS: second, SORTS["ordinal"]: first, SORTS["int1"]: first}.get(kind_of, 0)
        for kind, part, last in ((0, day, 31), (1, month, 12)):
            if 0 < part <= last:
                tables[number, kind, part].append(token)
    return [(kind, tokens) for (_, kind, _), tokens in sorted(tables.items())]


def earlier(
    sort: Codes, block: str, start: Ints, end: Ints, text: Ints, form: Ints, forms: Sequence[str]
) -> tuple[Ints, list[tuple[int, list[int]]]]:
    """Return of each date how many of its sort in the text are earlier, 0 of all other tokens, and
    the tokens :func:`in_turn` of texts with ordinals or dates in digits.

    Args:
        sort: by ``SORTS``, (n,); so are the others.
        block: the texts.
        text: the number of its text.
        form: index into ``forms``.
    """
    at = sort.nonzero()[0]
    if len(at):
        _, group = distinct(text[at] * np.int64(16) + sort[at])
        mixed = np.zeros(text[-1] + 1, np.bool_)
        mixed[text[(sort == DAYS) | (sort == SORTS["ordinal"])]] = True
        # None is before one that stands alone.
        at = at[(np.bincount(group).take(group) > 1) | mixed[text[at]]]
    if not len(at):
        return np.zeros(len(sort), np.int32), []
    # Times of a day are marked so too, and words have the form -1.
    of_days = np.where(sort[at] == DAYS, form[at], -1).tolist()
    day_first = [forms[day][:1] == DAY_FIRST if day >= 0 else None for day in of_days]
    rows = zip(start[at].tolist(), end[at].tolist(), day_first, strict=True)
    values = [moment(block[begin:last], day_first=first) for begin, last, first in rows]
    dated = mixed[text[at]] & ((sort[at] != SORTS["int1"]) | (end[at] - start[at] < 3))
    of_dates = [*compress(values, dated)]
    turns = in_turn(sort[at[dated]], of_dates, text[at[dated]], at[dated])
    of_years = sort[at] == SORTS["year"]
    values = [
        full_year(value // _LIMIT**3) if of_year else value
        for value, of_year in zip(values, of_years.tolist(), strict=True)
    ]
    result = np.zeros(len(sort), np.int32)
    result[at] = ranks(text[at] * np.int64(16) + sort[at], np.array(values, np.int64))
    return result, turns
