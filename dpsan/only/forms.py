"""Forms of strings: marks that stand for values, and the table of what is found and drawn."""

import re
from collections import defaultdict
from functools import cache
from importlib.resources import files
from typing import Final

DIGIT, ZERO, LARGE, SMALL, HEX, LARGE_HEX = "\x01\x02\x03\x04\x05\x07"
"""A digit; a digit of a run that begins with 0; a large or small letter; a hexadecimal digit; a
large one."""
NIL: Final = "\x11"
"""A zero at the end of a round number."""
FIVE: Final = "\x12"
"""The last digit, 0 or 5, of a number that may be a time with a dot."""
HALVES, FEW_MANY, WARM = "\x13\x14", "\x15\x16", "\x17\x18"
"""Marks of a measured value: a digit from 0 or 5 on, one from 2 or 6 on that stands alone, and
degrees of a body from 36 or 38 on."""
SIZES: Final = {"\x0e": (10, 24), "\x0f": (25, 49), "\x10": (50, 99)}
"""First two digits of numbers of two or three digits, by the mark of the first in a form."""
NEXT: Final = "n"
"""A digit of a second year that is the next one: 2025-26."""
_SIZED: Final = "int number percent quantity age money dotclock near"
SIZED: Final = frozenset(_SIZED.split())
"""Groups whose numbers keep their size and stay round; in the forms of all others these digits are
digits."""
NOW: Final = 2026
"""The last year of the lists: a constant, never the clock."""
DAY_FIRST, MONTH_FIRST, EITHER, YEAR_FIRST = "dmey"
"""Which number of a date is the day; it may be either; it is the last, behind year and month."""
PADDED, SHORT = "ps"
"""Whether numbers of dates below 10 have a zero."""
ANY_YEAR: Final = "Y"
"""Class of all years, where none may be told."""
YEARS: Final = {
    "A": (1800, 1899),
    "B": (1900, 1929),
    "C": (1930, 1949),
    "D": (1950, 1977),
    "E": (1978, 1999),
    "F": (2000, NOW),
    "G": (NOW + 1, NOW + 9),
    ANY_YEAR: (1900, NOW),
}
"""Classes of years that a form may show, each with another number of years."""
LATE_YEARS: Final = f"FG{ANY_YEAR}"
"""Classes of years from 2000 on, or of all."""
Range = tuple[int, int, int]
"""Lowest, highest, and the width to which zeros fill it up."""
_SIZE: Final = re.compile("[\x0e-\x12]")


def unsized(form: str) -> str:
    """Return a form that tells neither the size of a number nor that it is round."""
    return _SIZE.sub(DIGIT, form)


@cache
def table_text(name: str) -> str:
    """Return a table of ``--only``: ``rules.tsv`` (see :mod:`dpsan.only.engine`), ``forms.tsv``."""
    return files("dpsan.only").joinpath(name).read_text("utf-8")


@cache
def _table() -> dict[str, list[list[str]]]:
    table = defaultdict[str, list[list[str]]](list)
    for kind, *cells in (
        line.split("\t") for line in table_text("forms.tsv").splitlines() if line[0] != "#"
    ):
        table[kind].append([*cells, "", ""])
    return table


def rows(kind: str) -> list[list[str]]:
    """Return the cells of the rows of a kind; the head of ``forms.tsv`` says what they are."""
    return _table()[kind]


def pattern(text: str) -> str:
    """Return a pattern with what the names in it stand for."""
    parts = {name: part for name, part, *_ in rows("part")}
    return re.sub("<<([A-Z]+)>>", lambda name: parts[name[1]], text)
