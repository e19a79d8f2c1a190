"""Standard streams at the start and at the end of the process."""

from __future__ import annotations

import io
import os
import sys
from typing import Final

# Open the wrong way round, so that reading from what nobody opened is an error, and writing to it
# too.  Only what is said on standard error may vanish.
_WAYS: Final = {0: os.O_WRONLY, 1: os.O_RDONLY, 2: os.O_WRONLY}


def open_missing() -> None:
    """Open the standard streams that the caller closed.

    Otherwise the first files that the program opens would become these descriptors: what is written
    to standard output, and messages, would end up in data files, also those of child processes.
    """
    for number, way in _WAYS.items():
        try:
            os.fstat(number)
        except OSError:
            # The lowest free descriptor is this one: those below it are open by now.
            os.set_inheritable(os.open(os.devnull, way), True)
    # Python has no streams for them.
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), "utf-8")
    if sys.stdout is None:
        sys.stdout = _writer(1)
    if sys.stderr is None:
        sys.stderr = _writer(2)


def _writer(number: int) -> io.TextIOWrapper:
    raw = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
    return io.TextIOWrapper(raw, "utf-8", "backslashreplace", line_buffering=number == 2)
