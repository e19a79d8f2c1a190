"""Marks that stand for the values of a string in its form."""

from __future__ import annotations

from typing import Final

DIGIT, ZERO, LARGE, SMALL, HEX, LARGE_HEX = "\x01\x02\x03\x04\x05\x07"
"""A digit; a digit of a run that begins with 0; a large or small letter; a hexadecimal digit; a
large one."""
NOW: Final = 2026
"""The last year of the lists: a constant, never the clock."""
ANY_YEAR: Final = "Y"
"""Class of all years, where none may be told."""
YEARS: Final = {
    "A": (1800, 1899),
    "B": (1900, 1949),
    "C": (1950, 1999),
    "D": (2000, NOW),
    "E": (NOW + 1, NOW + 24),
    ANY_YEAR: (1900, NOW),
}
"""Classes of years that a form may show."""
