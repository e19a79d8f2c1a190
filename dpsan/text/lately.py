"""What a function says of short strings, remembered: a text repeats few of them often.

Knows strings.  Must not know what is said of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

_LONGEST: Final = 64
"""Characters of the longest string that is remembered."""


class Lately(dict[str, T]):
    """What a function says of the strings seen lately, at most so many."""

    def __init__(self, function: Callable[[str], T], most: int) -> None:
        super().__init__()
        self._function, self._most = function, most

    def __missing__(self, text: str) -> T:
        found = self._function(text)
        if len(text) <= _LONGEST:
            if len(self) >= self._most:
                self.clear()
            self[text] = found
        return found
