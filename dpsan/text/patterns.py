"""Patterns whose possessive groups are right on every Python.

Where a possessive group fails after a possessive part of it, Python before 3.11.5 does not go back
to where the group began (gh-106052): ``1e`` would be a number of JSON.  There the library *regex*
takes the place of *re*, which is faster.
"""

from __future__ import annotations

import re
from typing import AnyStr, Final, cast

_BROKEN: Final = re.match(r"(?:\.[0-9]++)?+x", ".x") is not None


def compiled(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a pattern, as the library re would compile it."""
    if _BROKEN:
        import regex

        return cast("re.Pattern[AnyStr]", regex.compile(pattern, flags))
    return re.compile(pattern, flags)
