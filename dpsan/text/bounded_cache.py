"""A bounded cache for functions of short strings: a text repeats few of them often."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

T = TypeVar("T")

_LONGEST: Final = 64
"""Characters of the longest string that is stored."""


class BoundedCache(dict[str, T]):
    """Memoize a function of strings, for at most ``most`` strings of up to 64 characters."""

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
