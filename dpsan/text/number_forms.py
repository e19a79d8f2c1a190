"""Numbers as places on a public grid: what form a number has, and which of its values it is.

Knows how numbers, dates and times are written.  Must not know how a value is drawn.

The form is what stays: how many digits there are, what stands between and around them, and whether
it is a date, a time, a year or begins with a zero.  All numbers of one form share one grid, 0 ...
size - 1, whatever their value; a value that the grid lacks, such as month 13, is moved to the
nearest that it has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

import regex

MOST_DIGITS: Final = 15
"""A longer number is a word: its grid would leave no room for exact weights."""
_WRITTEN: Final = 30
"""More digits than any form has: a moment with a fraction and a zone has 24."""
_YEARS: Final = (1900, 2099)


class _Field(NamedTuple):
    """Digits that are one figure of the value, the most significant first."""

    place: int
    """Which run of digits it is."""
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class FormedNumber:
    """A number: its form, and its place among all numbers of that form."""

    size: int
    """Numbers of this form."""
    value: int
    """0 ... size - 1; neighbours differ by one unit of the last digit, minute or day."""
    pieces: tuple[str, ...]
    """Alternating: what stands around the digits, and how many digits there are as zeros."""
    fields: tuple[_Field, ...]

    def written(self, value: int) -> str:
        """Another number of the form."""
        out = list(self.pieces)
        for place, low, high in reversed(self.fields):
            value, figure = divmod(value, high - low + 1)
            if place < 0:  # all runs of digits together are one figure
                digits = str(low + figure).zfill(sum(map(len, out[1::2])))
                for at in range(1, len(out), 2):
                    out[at], digits = digits[: len(out[at])], digits[len(out[at]) :]
            else:
                out[2 * place + 1] = str(low + figure).zfill(len(out[2 * place + 1]))
        return "".join(out)


_DIGITS: Final = regex.compile("([0-9]+)")
_CLOCK: Final = r"0{1,2}:00(?::00(?:[.,]0{1,6})?)?"
_DATE: Final = r"0000(?P<s>[-/.])00(?P=s)00"
_TIME: Final = regex.compile(
    rf"(?:(?P<date>{_DATE})[Tt ])?{_CLOCK}(?P<half> ?[AaPp]\.?[Mm]\.?)?"
    r"(?P<zone>[Zz]|[+\-−]00:?00)?"
)
_ISO: Final = regex.compile(_DATE)
_DAY_FIRST: Final = regex.compile(r"0{1,2}(?P<s>[-/.])0{1,2}(?P=s)0000")
_OCTETS: Final = regex.compile(r"0{1,3}(?:\.0{1,3}){3}")
_RATIO: Final = regex.compile(r"0+(?:[/:]0+)+")
# Letters stay: only those that say whose dollar it is, and no initials.
_COUNTRY: Final = "(?:US|CA|AU|NZ|HK|SG|NT|MX|[ACRS])?"
_ANY: Final = regex.compile(
    rf"(?:{_COUNTRY}\p{{Sc}}|"
    r"\+|\(|\+\()?0+(?:[.,:/'’‐‑_ \u00A0\u2009\u202F()\-]{1,3}0+)*"
    r"(?:\p{Sc}|[kKmMbB]|bn|mn)?"
)


@lru_cache(maxsize=1 << 14)
def formed_number(word: str) -> FormedNumber | None:
    """The number that a word is; None for all other words."""
    pieces = _DIGITS.split(word)
    if len(pieces) == 1:
        return None
    runs = pieces[1::2]
    if sum(map(len, runs)) > _WRITTEN:
        return None
    zeros = tuple("0" * len(piece) if at % 2 else piece for at, piece in enumerate(pieces))
    fields = tuple(_fields("".join(zeros), runs))
    if not fields:
        return None
    size, value = 1, 0
    for place, low, high in fields:
        figure = int("".join(runs) if place < 0 else runs[place])
        size *= high - low + 1
        value = value * (high - low + 1) + min(max(figure, low), high) - low
    return FormedNumber(size, value, zeros, fields) if size <= 10**MOST_DIGITS else None


def _fields(shape: str, runs: Sequence[str]) -> Iterator[_Field]:
    """The fields of a number whose digits are zeros in ``shape``; none if it is no number."""
    widths = list(map(len, runs))
    if match := _TIME.fullmatch(shape):
        at = 3 if match["date"] else 0
        if match["date"]:
            yield from (_Field(0, *_YEARS), _Field(1, 1, 12), _Field(2, 1, 28))
        hours = (1, 12) if match["half"] else (0, 23)
        yield _Field(at, hours[0], min(hours[1], 10 ** widths[at] - 1))
        zone = 0 if (match["zone"] or "z") in "zZ" else len(runs) - _runs_of_zone(shape)
        for place in range(at + 1, zone or len(runs)):
            yield _Field(place, 0, 59 if place < at + 3 else 10 ** widths[place] - 1)
        for place in range(zone, len(runs) if zone else 0):
            yield _Field(place, 0, 12 if place == zone and widths[place] == 2 else 0)
    elif _ISO.fullmatch(shape):
        yield from (_Field(0, *_YEARS), _Field(1, 1, 12), _Field(2, 1, 28))
    elif _DAY_FIRST.fullmatch(shape):
        # Nobody says which is the month: days 1 to 12 are right either way.
        yield _Field(2, *_YEARS)
        yield from (_Field(place, 1, 12 if widths[place] == 2 else 9) for place in (0, 1))
    elif _OCTETS.fullmatch(shape):
        tops = {1: 9, 2: 99, 3: 255}
        yield from (_Field(at, 10 ** (w - 1) * (w > 1), tops[w]) for at, w in enumerate(widths))
    elif _RATIO.fullmatch(shape):
        yield from (_Field(at, 10 ** (w - 1), 10**w - 1) for at, w in enumerate(widths))
    elif _ANY.fullmatch(shape) and sum(widths) <= MOST_DIGITS:
        yield _whole("".join(runs))


def _runs_of_zone(shape: str) -> int:
    """In how many runs the digits of a time zone stand: +00:00 or +0000."""
    return 2 if shape[-3] == ":" else 1


def _whole(digits: str) -> _Field:
    """All digits as one figure: as many digits, with a zero in front only if it has one."""
    width = len(digits)
    if width == 1:
        return _Field(-1, 0, 9)
    if digits[0] == "0":
        return _Field(-1, 0, 10 ** (width - 1) - 1)
    if width == 4 and _YEARS[0] <= int(digits) <= _YEARS[1]:
        return _Field(-1, *_YEARS)
    return _Field(-1, 10 ** (width - 1), 10**width - 1)
