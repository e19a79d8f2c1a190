"""How large the batches of an input are: by the time that they take.

Knows sizes and seconds.  Must not know records, files or mechanisms.  No output depends on it.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import ClassVar, Final

__all__ = ["FilePace", "Pace"]

_FIRST_CHARACTERS: Final = 1 << 12
"""Size of the first batch: its output is there soon after the start, however slow the mechanism."""
_BATCH_CHARACTERS: Final = 1 << 18
"""Largest size of a batch of which somebody waits for the output."""
_FILE_CHARACTERS: Final = 1 << 23
"""Largest size of a batch of a regular file: what words of a batch share is computed once."""
_FILE_RECORDS: Final = 4
"""How many times as many records such a batch may have."""
_QUICK, _SLOW = 1.0, 4.0
"""Seconds: batches grow while they take less than the one, and shrink where more than the other."""
_FILE_SECONDS: Final = 4.0
"""Seconds that batches of a regular file should take at most: a progress bar moves after each."""
_SHARED_SECONDS: Final = 16.0
"""The same where words of a batch share work; batches shrink at twice as many."""
_SHARED: Final = 0.85
"""Power of its size by which the time of a batch grows, below which words share work."""
_GROWTH: Final = 64
"""How many times as large the next batch of a regular file may be."""
_POWER: Final = 0.5
"""Lowest power of its size by which the time of a batch is taken to grow."""
_FAST: Final = 2_000_000
"""Characters a second from which nothing is gained by larger batches."""


class Pace:
    """How large batches are: as large as is done in a few seconds.

    Args:
        adaptive: by the time that batches take; else always the same.
    """

    records = 1
    """Times the most records of a plan."""
    _clocks: ClassVar[tuple[Callable[[], float], ...]] = (time.monotonic,)

    def __init__(self, adaptive: bool) -> None:
        self._adaptive = adaptive
        self._started: list[float] = []
        self.limit = _FIRST_CHARACTERS if adaptive else _BATCH_CHARACTERS

    def start(self) -> None:
        """A batch begins."""
        self._started = [clock() for clock in self._clocks]

    def seconds(self) -> float:
        """How long ago that was."""
        now = [clock() for clock in self._clocks]
        return min(end - begin for begin, end in zip(self._started, now, strict=True))

    def took(self, seconds: float, size: int, *, full: bool) -> None:
        """Learn from a batch of ``size`` characters."""
        if full and seconds < _QUICK:
            self.limit = min(2 * self.limit, _BATCH_CHARACTERS)
        elif seconds > _SLOW and self._adaptive:
            self.limit = max(self.limit // 2, _FIRST_CHARACTERS)


class FilePace(Pace):
    """The same where all of the input is there and the output is read when it is complete."""

    records = _FILE_RECORDS
    # What else the machine does must not make batches small: that would be more work for it.
    _clocks = (time.monotonic, time.process_time)

    def __init__(self) -> None:
        super().__init__(adaptive=True)
        self._power: float | None = None
        self._before: tuple[int, float] | None = None
        self._warm = False

    def took(self, seconds: float, size: int, *, full: bool) -> None:
        """See :class:`Pace`."""
        seconds = max(seconds, 1e-3)
        if full:
            self._learn(seconds, size)
        power = 1.0 if self._power is None else self._power
        aim = _SHARED_SECONDS if power < _SHARED else _FILE_SECONDS
        room = (aim / seconds) ** (1 / power)
        # Twice as large at least once, to learn the power.
        if full and (room >= 2 or (self._power is None and room > 1)):
            most = _BATCH_CHARACTERS if size > _FAST * seconds else _FILE_CHARACTERS
            larger = self.limit * int(min(_GROWTH, max(room, 2)))
            self.limit = max(self.limit, min(larger, most))
        elif seconds > 2 * aim:
            self.limit = max(self.limit // 2, _FIRST_CHARACTERS)

    def _learn(self, seconds: float, size: int) -> None:
        """By which power of its size the time of a batch grows: 1 where words share no work."""
        if not self._warm:  # the first batch takes longer: libraries load
            self._warm = True
            return
        if self._before is not None and size >= 2 * self._before[0]:
            before, took = self._before
            power = math.log(max(seconds / took, 1.0)) / math.log(size / before)
            self._power = min(1.0, max(_POWER, power))
        self._before = size, seconds
