"""Check the file of an SQLite database, and the files that SQLite keeps beside it."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from dpsan.errors import OutputError
from dpsan.files.private_files import open_private
from dpsan.files.same_files import side_files
from dpsan.files.source import closing_descriptor, open_regular
from dpsan.files.temporaries import sweep

_JOURNAL: Final = (b"", bytes(8), b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7")
"""First bytes of a rollback journal: nothing is written, nothing is synced, or the signature."""
_NAME_SECONDS: Final = 1.0
"""Time to wait for another run that makes the file, which has two names for a moment."""


def check_sides(path: Path) -> None:
    """Refuse files that SQLite would take for its own, and overwrite or remove.

    Args:
        path: path of the database.

    Raises:
        OutputError: a file that SQLite did not write has the name of a side file.
    """
    journal = side_files(path)[0]
    for side in filter(os.path.lexists, side_files(path)):
        if side != journal or not os.path.lexists(path) or not _is_journal(journal):
            what = f"{side}: is in the way: SQLite would overwrite or remove it"
            raise OutputError(what, "move it")


def _is_journal(path: Path) -> bool:
    """Return whether a file may be SQLite's; one that cannot be read is refused later."""
    try:
        descriptor = open_regular(path, follow=False)
    except OSError:
        return True
    with closing_descriptor(descriptor):
        return os.read(descriptor, 8) in _JOURNAL


@contextmanager
def only_ours(path: Path) -> Iterator[tuple[int, int]]:
    """Open a file that nobody else can read or write.  Raises OutputError, DamagedError."""
    if path.is_symlink():
        raise OutputError(f"{path}: is a symbolic link", "name the file itself")
    with open_private(path) as (descriptor, size):
        if stat.S_IMODE(os.fstat(descriptor).st_mode) & 0o077:
            raise OutputError(f"{path}: others may read it", "chmod 600")
        yield descriptor, size


def named_once(path: Path, descriptor: int) -> os.stat_result:
    """Return the status of an open file that has one name.  Raises OutputError: it has others."""
    ends = time.monotonic() + _NAME_SECONDS
    while (status := os.fstat(descriptor)).st_nlink > 1:
        if time.monotonic() > ends:
            raise OutputError(f"{path}: has other names (hard links)", "remove them")
        sweep(path, again=True)  # of a run that was killed while it made the file
        time.sleep(0.02)
    return status
