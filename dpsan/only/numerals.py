"""Values of the numbers and times of a text."""

from __future__ import annotations

import re
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
