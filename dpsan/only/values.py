"""Forms of measured values: numbers that keep all but their last digits."""

from __future__ import annotations

import re
from typing import Final

from dpsan.only.marks import DIGIT, FEW_MANY, HALVES, WARM

VALUE: Final = re.compile(r"\d+(?:[.,]\d+)?")
VALUE_END: Final = re.compile(r"[.,]\d+")
VALUES: Final = ("int1", "int2", "int3", "number", "percent", "pressure", "quantity", "gestday")
"""Labels of strings that may be measured values."""
DEGREES: Final = range(36, 40)
"""Temperatures of people before the point: with a fever or without."""


def near_form(text: str) -> str:
    """Text with marks in place of the last digits of its numbers, as near as :func:`_near` says."""
    if "+" in text:  # weeks and days of a pregnancy
        return text[0] + HALVES[text[1] > "4"] + "+" + FEW_MANY[0]
    return VALUE.sub(lambda match: _near(match[0]), text)


def _near(run: str) -> str:
    """Number that keeps all but its last digit, at most two: 37.8 and 128 do.

    A digit alone is one of three or five, so is the second one of 91.4, and a zero at the end of
    200 and more stays.
    """
    whole = VALUE_END.sub("", run)
    if len(run) == 1:
        return run if run < "2" else FEW_MANY[run > "5"]
    if whole != run and int(whole) in DEGREES:
        return WARM[int(whole) > DEGREES[1]] + "." + DIGIT
    if whole != run and len(whole) > 1:
        kept = len(whole) - 1
        return run[:kept] + HALVES[run[kept] > "4"] + re.sub(r"\d", DIGIT, run[kept + 1 :])
    end = len(run) - (len(whole) > 2 and whole == run and run[-1] == "0" and run > "2")
    kept = min(end - 1, 3 - (whole == run))
    return run[:kept] + re.sub(r"\d", DIGIT, run[kept:end]) + run[end:]
