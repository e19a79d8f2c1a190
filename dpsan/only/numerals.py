"""Values of the numbers and times of a text."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

_NUMERALS = "two three four five six seven eight nine ten eleven twelve"
NUMERALS: Final = {word: value for value, word in enumerate(_NUMERALS.split(), 2)}
"""Number words that may be factors."""
DAY: Final = 24 * 60
RUN: Final = re.compile(r"\d{1,3}(?: \d{3})+(?:[.,]\d\d)?|\d(?:[\d.,]{0,14}\d)?")
TIME: Final = re.compile(r"(\d{1,2})([:.h])(\d\d)(?!\d)()(?:.*?([apAP]))?")
_PENCE: Final = re.compile(r"\d{1,2}p")
PLACES: Final = 2
WHOLE: Final = 100
"""Hundredths of one, and of the whole."""


@lru_cache(1 << 14)
def read(text: str) -> tuple[int, int]:
    """Return the hundredths of a number, and how many decimals it has; 0, 0: it is too fine."""
    if text.lower() in NUMERALS:
        return NUMERALS[text.lower()] * WHOLE, 0
    match = RUN.search(text)
    *groups, last = re.split("[., ]", match[0] if match else "0")
    decimals = len(last) if groups else 0
    if decimals > PLACES + 1 or (decimals > PLACES and groups == ["0"]):
        return 0, 0
    decimals = decimals if decimals <= PLACES else 0
    if not groups and _PENCE.fullmatch(text):
        return int(last), 0
    return int("".join([*groups, last])) * 10 ** (PLACES - decimals), decimals


def below_ten(text: str) -> int:
    """Return the value of a number below ten, 0 of all others."""
    value = read(text)[0] // WHOLE
    return value if value < 10 else 0


def minute(text: str) -> int:
    """Return the minute of the day of a time; -1: it has none."""
    match = TIME.match(text)
    if match is None:
        return -1
    hour, half = int(match[1]), (match[5] or "").lower()
    hour = hour % 12 + 12 * (half == "p") if half else hour
    return (hour * 60 + int(match[3])) % DAY


# Columns of a table whose last number is the sum of those above it.

MOST: Final = 16
"""Numbers of a sum."""
LARGE: Final = 100_00
"""Hundredths of the smallest amount that is looked for far away."""


def summed_columns(
    table: Mapping[int, Sequence[tuple[int, int]]],
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield which numbers are the sums of a column of the lines before, and of which numbers.

    Args:
        table: by line its numbers: token, and hundredths.
    """
    for line, numbers in table.items():
        above = list[Sequence[tuple[int, int]]]()
        while len(above) < MOST and line - len(above) - 1 in table:
            above.append(table[line - len(above) - 1])
        counts = set[int]()
        for token, value in sorted(numbers, key=lambda number: -number[1]) if above[1:] else ():
            for count, parts in _column(value, above):
                if value >= LARGE or count > 2 or (count in counts and value >= 10 * WHOLE):
                    yield token, parts
                    counts.add(count)
                    break


def _column(
    value: int, above: Sequence[Sequence[tuple[int, int]]]
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield of which lines above, and their columns from the left or the right, a number is the
    sum.
    """
    width = min(map(len, above))
    for place in (*range(-1, -width - 1, -1), *range(width)):
        column, summed = [row[place] for row in above], 0
        for count, (_, number) in enumerate(column, 1):
            summed += number
            if count > 1 and summed == value:
                yield count, tuple(part for part, _ in column[:count])
