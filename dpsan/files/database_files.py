"""The names of an SQLite database: its own single name, and those of its side files."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from dpsan.errors import OutputError
from dpsan.files import private_files as files
from dpsan.files.same_files import side_files
from dpsan.files.temporaries import sweep

_JOURNAL: Final = (b"", bytes(8), b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7")
"""First bytes of a rollback journal: nothing is written, nothing is synced, or the signature."""
_PATIENCE: Final = 1.0
"""Seconds to wait for another run that makes the file, which has two names for a moment."""


def check_sides(path: Path) -> None:
    """Refuse files that SQLite would take for its own, and overwrite or remove.

    Args:
        path: of the database.

    Raises:
        OutputError: one has the name of a side file.
    """
    journal = side_files(path)[0]
    found = [each for each in side_files(path) if os.path.lexists(each)]
    if journal in found and os.path.lexists(path) and _is_journal(journal):
        found.remove(journal)
    for each in found:
        what = f"{each}: is in the way: SQLite would overwrite or remove it"
        raise OutputError(what, "move it")


def _is_journal(path: Path) -> bool:
    """Whether a file may be SQLite's; what cannot be read is refused when it is opened."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        return os.read(descriptor, 8) in _JOURNAL
    finally:
        os.close(descriptor)


@contextmanager
def private(path: Path, folder: int) -> Iterator[tuple[int, int]]:
    """Open a file that nobody else can read or write.  Raises OutputError, DamagedError."""
    if path.is_symlink():
        raise OutputError(f"{path}: is a symbolic link", "name the file itself")
    with files.open_file(path.name, folder) as (descriptor, size):
        if stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o077:
            raise OutputError(f"{path}: others may read it", "chmod 600")
        yield descriptor, size


def named_once(path: Path, descriptor: int) -> os.stat_result:
    """Return the status of an open file that has one name.  Raises OutputError: it has others."""
    ends = time.monotonic() + _PATIENCE
    while (status := os.fstat(descriptor)).st_nlink > 1:
        if time.monotonic() > ends:
            raise OutputError(f"{path}: has other names (hard links)", "remove them")
        sweep(path, again=True)  # of a run that was killed while it made the file
        time.sleep(0.02)
    return status
