"""Numbers as positions on a public grid: what form a number has, and which of its values it is.

The form is a function of the *shape* of a token: its digits are all zeros, its letters all ``a``,
and all other characters are themselves.  Which digits and letters stand there decides the value
alone.  All numbers of one shape share one grid, 0 ... size - 1.  A value that the grid lacks, such
as month 13, is moved to the nearest that it has, and letters that it lacks to the first it has.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

import regex

from dpsan.text.shape import INVISIBLE, LETTERS

MOST_DIGITS: Final = 15
"""A longer number is a word: its grid would leave no room for exact weights."""
_WRITTEN: Final = 30
"""More digits than any form has: a moment with a fraction and a zone has 24."""
_FIRST_YEAR: Final = 1900
_LAST_YEAR: Final = 2099
_FIRST_OF_CENTURY: Final = 30
"""Years of two digits count from 30 (1930) up to 29 (2029)."""
_YEAR_INDICES: Final = 50
"""Positions of a year where four digits stand alone; every other value has one."""


class _Digits(NamedTuple):
    """One run of digits.  Positions count from ``first`` up to ``high``, then on from ``low``."""

    at: int
    low: int
    high: int
    first: int

    @property
    def size(self) -> int:
        return self.high - self.low + 1

    def read(self, pieces: Sequence[str]) -> int:
        return (min(max(int(pieces[self.at]), self.low), self.high) - self.first) % self.size

    def write(self, position: int, pieces: list[str]) -> None:
        value = self.low + (position + self.first - self.low) % self.size
        pieces[self.at] = str(value).zfill(len(pieces[self.at]))


class _Whole(NamedTuple):
    """All digits of a token as one number.  Those that begin with a zero may come last."""

    width: int
    zeros_last: bool

    @property
    def size(self) -> int:
        return 10**self.width  # type: ignore[no-any-return]

    @property
    def _first(self) -> int:
        return 10 ** (self.width - 1) if self.zeros_last else 0

    def read(self, pieces: Sequence[str]) -> int:
        return (int("".join(pieces[1::2])) - self._first) % self.size

    def write(self, position: int, pieces: list[str]) -> None:
        digits = str((position + self._first) % self.size).zfill(self.width)
        for at in range(1, len(pieces), 2):
            pieces[at], digits = digits[: len(pieces[at])], digits[len(pieces[at]) :]


class _Year(NamedTuple):
    """Four digits alone, which are mostly a year: years have more positions than other values."""

    size: int = 10_000 + (_YEAR_INDICES - 1) * (_LAST_YEAR - _FIRST_YEAR + 1)

    def read(self, pieces: Sequence[str]) -> int:
        value = (int(pieces[1]) - 1000) % 10_000  # those that begin with a zero come last
        years = min(max(value + 1000 - _FIRST_YEAR, 0), _LAST_YEAR - _FIRST_YEAR + 1)
        middle = _YEAR_INDICES // 2 * (_FIRST_YEAR <= value + 1000 <= _LAST_YEAR)
        return value + (_YEAR_INDICES - 1) * years + middle

    def write(self, position: int, pieces: list[str]) -> None:
        begin, years = _FIRST_YEAR - 1000, _LAST_YEAR - _FIRST_YEAR + 1
        more = min(max(position - begin, 0), years * _YEAR_INDICES)
        value = position - more + more // _YEAR_INDICES
        pieces[1] = str((value + 1000) % 10_000).zfill(4)


class _Letters(NamedTuple):
    """A piece that is one of a few public strings."""

    at: int
    strings: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.strings)

    def read(self, pieces: Sequence[str]) -> int:
        folded = [string.lower() for string in self.strings]
        piece = pieces[self.at].lower()
        return folded.index(piece) if piece in folded else 0

    def write(self, position: int, pieces: list[str]) -> None:
        pieces[self.at] = self.strings[position]


_Figure = _Digits | _Whole | _Year | _Letters
"""A part of the value, at one of ``size`` positions, which it reads from and writes to pieces."""


@dataclass(frozen=True, slots=True)
class FormedNumber:
    """A number: its form, and its position among all numbers of that form."""

    size: int
    """Positions of this form."""
    value: int
    """0 ... size - 1; neighbours are equal, or differ by one digit, minute or day."""
    pieces: tuple[str, ...]
    """Alternating: what stands around the digits, and how many digits there are as zeros."""
    fields: tuple[_Figure, ...]
    """The figures of the value, the most significant first."""

    @property
    def widest(self) -> int:
        """Most positions that are one number."""
        return _YEAR_INDICES if isinstance(self.fields[0], _Year) else 1

    def written(self, value: int) -> str:
        """Return another number of the form, by its value."""
        out = [*self.pieces]
        for figure in reversed(self.fields):
            value, position = divmod(value, figure.size)
            figure.write(position, out)
        return "".join(out)


_YEAR_FIRST: Final = (
    _Digits(1, _FIRST_YEAR, _LAST_YEAR, _FIRST_YEAR),
    _Digits(3, 1, 12, 1),
    _Digits(5, 1, 28, 1),
)
"""Year, month and day."""
_DIGITS: Final = regex.compile(r"(\p{Nd}+)")
_LETTER: Final = regex.compile(rf"[{LETTERS}\ufffd]", regex.V1)
_DATE: Final = r"0000(?P<s>[-/.])00(?P=s)00"
_TIME: Final = regex.compile(
    rf"(?P<date>{_DATE}[a ])?0{{1,2}}:00(?::00(?:[.,]0{{1,6}})?)?"
    r"(?:(?P<half>aa)|(?(date)(?P<zone>a|[+\-−]00:?00)|(?!)))?"
)
_ISO: Final = regex.compile(_DATE)
_DAY_FIRST: Final = regex.compile(r"0{1,2}(?P<s>[-/.])0{1,2}(?P=s)00(?:00)?")
_OCTETS: Final = regex.compile(r"0{1,3}(?:\.0{1,3}){3}")
_RATIO: Final = regex.compile(r"0+(?:[/:]0+)+")
_COUNT: Final = r"0+(?:[.,:/\u066b\u066c'’‐‑−_ \u00A0\u2009\u202F()\-]{1,3}0+)*"
_AMOUNT: Final = regex.compile(rf"(?P<country>a{{0,2}})\p{{Sc}}{_COUNT}(?P<scale>a{{0,2}})")
_ANY: Final = regex.compile(rf"(?:\+?\(?){_COUNT}\p{{Sc}}?")
_COUNTRIES: Final = ((), tuple("ACRS"), ("US", "CA", "AU", "NZ", "HK", "SG", "NT", "MX"))
"""Letters before the sign of a currency, by their number."""
_SCALES: Final = ((), ("k", "m", "b"), ("mn", "bn"))
"""Letters after an amount, by their number."""


@lru_cache(maxsize=1 << 14)
def formed_number(word: str) -> FormedNumber | None:
    """Return the number that a word is; None for all other words."""
    given = _DIGITS.split(INVISIBLE.sub("", word))
    runs = given[1::2]
    if not runs or sum(map(len, runs)) > _WRITTEN:
        return None
    pieces = tuple(
        "0" * len(piece) if at % 2 else _LETTER.sub("a", piece) for at, piece in enumerate(given)
    )
    fields = tuple(_fields(pieces))
    if not fields:
        return None
    size, value = 1, 0
    for figure in fields:
        size *= figure.size
        value = value * figure.size + figure.read(given)
    return FormedNumber(size, value, pieces, fields) if size <= 10**MOST_DIGITS else None


def _fields(pieces: Sequence[str]) -> Iterator[_Figure]:
    """Yield the figures of a number of this shape; none if it is no number."""
    shape, indices = "".join(pieces), range(1, len(pieces), 2)
    widths = [len(pieces[at]) for at in indices]
    digits = sum(widths)
    if match := _TIME.fullmatch(shape):
        yield from _moment(pieces, *(match[part] for part in ("date", "half", "zone")))
    elif _ISO.fullmatch(shape):
        yield from _YEAR_FIRST
    elif _DAY_FIRST.fullmatch(shape):
        # Nobody says which is the month: days 1 to 12 are right either way.
        if len(pieces[5]) == 2:
            yield _Digits(5, 0, 99, _FIRST_OF_CENTURY)
        else:
            yield _Digits(5, _FIRST_YEAR, _LAST_YEAR, _FIRST_YEAR)
        yield from (_Digits(at, 1, 12 if len(pieces[at]) == 2 else 9, 1) for at in (1, 3))
    elif (octets := bool(_OCTETS.fullmatch(shape))) or _RATIO.fullmatch(shape):
        for at, width in zip(indices, widths, strict=True):
            low, high = 10 ** (width - 1), 10**width - 1
            low, high = (low * (width > 1), min(high, 255)) if octets else (low, high)
            yield _Digits(at, low, high, low)
    elif shape == "0000":
        yield _Year()
    elif digits <= MOST_DIGITS and (match := _AMOUNT.fullmatch(shape) or _ANY.fullmatch(shape)):
        named = match.groupdict()
        if country := named.get("country"):
            sign = pieces[0][len(country) :]
            yield _Letters(0, tuple(mark + sign for mark in _COUNTRIES[len(country)]))
        if scale := named.get("scale"):
            yield _Letters(len(pieces) - 1, _SCALES[len(scale)])
        # 3.14 is next to 0.99, but 10 is not next to 09.
        decimal = len(widths) == 2 and widths[0] == 1 and pieces[2] == "."
        yield _Whole(digits, zeros_last=digits > 1 and not decimal)


def _moment(
    pieces: Sequence[str], date: str | None, half: str | None, zone: str | None
) -> Iterator[_Figure]:
    """Yield a time, perhaps after a date, perhaps of half a day or of a time zone."""
    at, end = 1, len(pieces)
    if date:
        yield from _YEAR_FIRST
        if pieces[6] != " ":
            yield _Letters(6, ("T",))
        at = 7
    last = 9 if len(pieces[at]) == 1 else 12 if half else 23
    if half:
        yield _Letters(end - 1, ("am", "pm"))
        yield _Digits(at, 1, last, 12 if last == 12 else 1)  # 12:59 comes before 01:00
    else:
        yield _Digits(at, 0, last, 0)
    if zone and zone != "a":
        end -= 4 if ":" in zone else 2
    for position in range(at + 2, end, 2):
        top = 59 if position < at + 6 else 10 ** len(pieces[position]) - 1
        yield _Digits(position, 0, top, 0)
    if zone == "a":
        yield _Letters(end - 1, ("Z",))
    elif zone:
        hours = tuple(f"{hour:02}" for hour in range(13))
        yield _Letters(end - 1, ("+", "-"))
        yield _Letters(end, hours if ":" in zone else tuple(f"{hour}00" for hour in hours))
        if ":" in zone:
            yield _Letters(end + 2, ("00",))
