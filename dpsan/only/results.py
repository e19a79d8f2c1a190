"""Results: the numbers that follow from others of their text, see :mod:`dpsan.only.sums`."""

import re
from collections.abc import Sequence
from math import prod
from typing import Final

from dpsan.only import dates, forms, sums
from dpsan.only.numerals import DAY, PLACES, RUN, TIME, WHOLE, minute, read

LATEST: Final = 28
"""Day that all months have."""
THOUSANDS: Final = re.compile(r"\d([., ])(?:(\d\d)\1)?\d{3}(?!\d)")


def follow(kind: int, text: str, parts: Sequence[str], whole: str = "") -> str:
    """Return what a number becomes that follows from others; itself if nothing does.

    Args:
        kind: of the sum.
        text: as it was drawn.
        parts: of the sum, but for the number.
        whole: the sum, if the number is one of its parts.
    """
    if not parts:  # a sum of itself
        return text
    if kind in (sums.STEP, sums.HOURS, sums.MINUTES):
        times = [*map(minute, parts)]
        if min(times) < 0:
            return text
        if kind == sums.STEP:
            return _time(text, (times[0] + times[1] - times[2]) % DAY)
        long = (times[0] - times[1]) % DAY * WHOLE
        written = _number(text, long // (60 if kind == sums.HOURS else 1), [])
        return written if re.search("[1-9]", written) else text
    if kind == sums.AFTER:
        return str(dates.full_year(int(parts[0])) + 1)[-len(text) :] if parts[0].isdigit() else text
    values = [read(part)[0] for part in parts]
    drawn, value, last = read(text)[0], sum(values), values[-1]
    if kind == sums.PRODUCT:
        scale = WHOLE ** (len(values) - 1 + ("%" in "".join(parts)))
        value = (2 * prod(values) + scale) // (2 * scale)
    elif kind == sums.RATIO:
        value = values[0] * WHOLE**2 // max(last, 1)
    elif kind in (sums.GROWTH, sums.DROP):
        part = WHOLE**2 + (last if kind == sums.GROWTH else -last)
        value = (values[0] * part + WHOLE**2 // 2) // WHOLE**2
    elif kind == sums.NET:
        value -= 2 * last
    elif kind == sums.RANGE:
        value = drawn if drawn > last else last * 3 // 2
    elif kind >= sums.BELOW:
        low = values[0]
        holds = sums.INSIDE + (drawn > last) - (drawn < low) == kind
        value = (
            drawn
            if holds
            else {sums.BELOW: low * 3 // 4, sums.INSIDE: value // 2}.get(kind, last * 5 // 4)
        )
    elif kind in (sums.SPAN, sums.BOTH):
        value = max(values[0] - last + WHOLE * (kind == sums.BOTH), 2 * WHOLE)
    elif kind == sums.REST or whole:
        value = (read(whole)[0] if whole else WHOLE**2) - value
    written = _number(text, value, [*parts, whole]) if min(values) > 0 < value else text
    return written if re.search("[1-9]", written) else text


def reach(kind: int, count: str, last: str, first: str) -> tuple[int, str]:
    """Return what a day, year or time becomes that lies as far behind another one as a count says
    that passes, and its place: the earlier one follows where no month has so many days.
    """
    if kind in (sums.HOURS, sums.MINUTES):
        step = f"{count.zfill(2)}:00" if kind == sums.HOURS else f"00:{count.zfill(2)}"
        return 1, follow(sums.STEP, last, [first, step, "00:00"])
    days = int(count) - (kind == sums.BOTH)
    width, end = 1 + ("0" in (first[0], last[0])), int(first) + days
    if LATEST < end < WHOLE or end > forms.NOW:
        return 2, str(max(int(last) - days, 1)).zfill(width)
    return 1, str(end).zfill(width)


def _time(text: str, value: int) -> str:
    """Return a time of another minute of the day."""
    match = TIME.match(text)
    assert match is not None  # noqa: S101 - it is a time
    hour, half, rest = value // 60, match[5] or "", text[match.end(3) :]
    if half:
        letter = "ap"[hour > 11]
        rest = rest.replace(half, letter.upper() if half.isupper() else letter, 1)
        hour = hour % 12 or 12
    width = 1 if half else len(match[1])
    return f"{hour:0{width}}{match[2]}{value % 60:02}{rest}"


def _number(text: str, value: int, others: Sequence[str]) -> str:
    """Return a number of another value; others beside it may tell how thousands are written."""
    match, decimals = RUN.search(text), read(text)[1]
    assert match is not None  # noqa: S101 - it is a number
    unit = 10 ** (PLACES - decimals)
    digits = str((2 * value + unit) // (2 * unit)).zfill(decimals + 1)
    cut = len(digits) - decimals
    whole, point = digits[:cut], match[0][-1 - decimals] if decimals else ""
    marks = [mark for mark in map(THOUSANDS.search, (text, *others)) if mark]
    if marks and len(whole) > 3 and marks[0][1] != point:
        step = 2 if any(mark[2] for mark in marks) else 3
        head = whole[:-3]
        pieces = [head[max(end - step, 0) : end] for end in range(len(head), 0, -step)]
        whole = marks[0][1].join([*reversed(pieces), whole[-3:]])
    return text[: match.start()] + whole + point + digits[cut:] + text[match.end() :]
