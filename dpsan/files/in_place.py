"""Replace an input by its output."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from dpsan.errors import InputError, OutputError


class Original:
    """An input that is to be replaced by its output, in the state in which it was opened.

    Args:
        path: name of the input.
        descriptor: open for reading; the caller may close it after the call.

    Raises:
        OutputError: the input has other names, which would keep the original.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path, self._status = path, os.fstat(descriptor)
        if self._status.st_nlink > 1:
            raise OutputError(f"{path}: has other names (hard links)", "-o writes another file")

    def replace(self, publish: Callable[[], None]) -> None:
        """Publish the output.

        Raises:
            InputError: another file has the name by now, or the file was written to: it stays.
            OutputError: ``publish`` failed.
        """
        if _seen(os.lstat(self._path)) != _seen(self._status):
            what = "changed while it was read, and is not replaced"
            raise InputError(self._path, what, "run it again")
        publish()


def _seen(status: os.stat_result) -> tuple[int, ...]:
    """Return what tells a file from another, and from itself after a change."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def refuse_unusual(path: Path) -> None:
    """Raise OutputError if an input cannot be replaced: it is a link, a device or a pipe."""
    with suppress(OSError):  # the call that opens it will fail
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            raise OutputError(f"{path}: is a link", "name the file itself")
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise OutputError(f"{path}: not a regular file", "-o writes another file")
