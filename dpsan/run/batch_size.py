"""Choose the batch size so that one batch takes a few seconds. No output depends on it.

No output depends on it.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar, Final

from dpsan.errors import InputError
from dpsan.formats.base import Record

_FIRST_CHARACTERS: Final = 1 << 12
"""Size of the first batch: its output is there soon after the start, however slow the mechanism."""
_BATCH_CHARACTERS: Final = 1 << 18
"""Largest size of a batch of which somebody waits for the output."""
_FAST: Final = 1_500_000
"""Characters a second from which larger batches are no gain: they leave the processor's caches."""

_ALLOCATED: Final = 1 << 17
"""Objects between two searches of the garbage collector."""


@contextmanager
def few_searches() -> Iterator[None]:
    """Meanwhile Python looks for cycles of objects seldom: a tenth of the time, and finds none."""
    thresholds = gc.get_threshold()
    gc.set_threshold(max(_ALLOCATED, thresholds[0]) if thresholds[0] else 0, *thresholds[1:])
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)


class BatchSize:
    """Size of batches whose output somebody waits for.

    Args:
        adaptive: by the time that they take; else always the same.
    """

    records: ClassVar[int] = 1
    """Times the most records of a plan."""
    most: ClassVar[int] = _BATCH_CHARACTERS
    growth: ClassVar[int] = 2
    """Largest ratio of the next batch to the last."""
    aim: ClassVar[float] = 2.0
    """Seconds that a batch should take at most; batches shrink where they take twice as many."""
    clocks: ClassVar[tuple[Callable[[], float], ...]] = (time.monotonic,)
    fast: float = _FAST

    def __init__(self, adaptive: bool = True) -> None:
        self._adaptive = adaptive
        self._started: list[float] = []
        self.limit = _FIRST_CHARACTERS if adaptive else self.most

    def start(self) -> None:
        """A batch begins."""
        self._started = [clock() for clock in self.clocks]

    def seconds(self) -> float:
        """Return the elapsed time in seconds."""
        now = [clock() for clock in self.clocks]
        return min(end - begin for begin, end in zip(self._started, now, strict=True))

    def took(self, seconds: float, size: int, *, full: bool) -> None:
        """Learn from a batch of ``size`` characters."""
        room = int(min(self.aim / max(seconds, 1e-3), self.growth))
        if full and room >= 2:
            if size > self.fast * seconds:
                self.limit = min(room * self.limit, _BATCH_CHARACTERS)
            else:
                self.limit = max(self.limit, min(room * self.limit, self.most))
        elif seconds > 2 * self.aim and self._adaptive:
            self.limit = max(self.limit // 2, _FIRST_CHARACTERS)


class FileBatchSize(BatchSize):
    """The same where all of the input is there and the output is read when it is complete.

    What words of a batch share is computed once, so larger batches are less work in all.

    Args:
        fast: characters a second from which larger batches are no gain.
    """

    records = 4
    most = 1 << 23
    growth = 16
    aim = 6.0  # a progress bar moves after each
    # What else the machine does must not make batches small: that would be more work for it.
    clocks = (time.monotonic, time.process_time)

    def __init__(self, fast: float = _FAST) -> None:
        super().__init__()
        self.fast = fast


def batches(
    records: Iterator[Record | None], most: int, batch_size: BatchSize, *, line_buffered: bool
) -> Iterator[tuple[list[Record], bool]]:
    """Yield records in groups, and whether somebody waits; held records come before an error.

    Args:
        most: records of a small batch.
        line_buffered: whether somebody waits for each record.
    """
    batch: list[Record] = []
    size, most = 0, most * batch_size.records
    try:
        for record in records:
            if record is not None:
                batch.append(record)
                size += record.size + sum(map(len, record.texts))
            full = size >= batch_size.limit or len(batch) >= most
            urgent = record is None or line_buffered
            if (batch and full) or urgent:
                batch_size.start()
                yield batch, urgent
                batch_size.took(batch_size.seconds(), size, full=full)
                batch, size = [], 0
    except InputError:
        if batch:
            yield batch, True
        raise
    if batch:
        yield batch, True
