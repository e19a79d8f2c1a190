"""Files and directories for the owner alone: opened without trust, and hashed while read.

Every file is opened without following a symbolic link, and checked on the open descriptor.  Of an
SQLite database, so are the files that SQLite keeps beside it.
"""

import errno
import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from dpsan.errors import OutputError
from dpsan.errors import reason as os_reason
from dpsan.files import same_files, source

_PIECE: Final = 1 << 20
"""Bytes hashed and written at a time."""
_READ: Final = 32 << 20
"""Bytes read, then hashed: many, so that a thread that waits its turn in between, while others
import modules, loses little."""


class DamagedError(Exception):
    """A file is not what was written.  The caller turns it into an error of its own."""


def reason(error: OSError | DamagedError | MemoryError) -> str:
    """Return what went wrong in a few words, without the path."""
    if isinstance(error, DamagedError):
        return str(error)
    return os_reason(error) if isinstance(error, OSError) else "out of memory"


def _distrust(status: os.stat_result) -> str:
    """Return why a file or directory is not ours alone, or ``""``."""
    if status.st_uid != os.geteuid():
        return "it belongs to another user"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "other users may write to it"
    return ""


# --- reading ---------------------------------------------------------------------------------


def check_directory(path: Path) -> None:
    """Refuse a directory that is not ours alone.

    Raises:
        DamagedError: it belongs to another user, or others may write to it.
        OSError: it is absent, a symbolic link or no directory.
    """
    status = os.lstat(path)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
    if problem := _distrust(status):
        raise DamagedError(problem)


@contextmanager
def open_private(path: Path, *, unread: bool = False) -> Iterator[tuple[int, int]]:
    """Open a regular file that is ours alone; yield its descriptor and its size in bytes.

    Args:
        unread: nobody else may read it.

    Raises:
        DamagedError: it is absent, cannot be opened, or is not such a file.
        OutputError: others may read it, or ``path`` is a link to it.
    """
    if unread and path.is_symlink():
        raise OutputError(f"{path}: is a symbolic link", "name the file itself")
    try:
        descriptor = source.open_regular(path, follow=False)
    except OSError as error:
        raise DamagedError(f"{path.name}: {reason(error)}") from error
    with source.closing_descriptor(descriptor):
        status = os.fstat(descriptor)
        if problem := _distrust(status):
            raise DamagedError(f"{path.name}: {problem}")
        if unread and status.st_mode & 0o077:
            raise OutputError(f"{path}: others may read it", "chmod 600")
        yield descriptor, status.st_size


def read_hashed(descriptor: int, memory: memoryview) -> str:
    """Fill memory from a file and return the SHA-256 (hex) of the memory that was filled.

    The memory is hashed, not the file: what is handed out is what was verified.

    Raises:
        DamagedError: the file ends early or cannot be read.
    """
    digest = hashlib.sha256()
    done = 0
    while done < len(memory):
        piece = memory[done : done + _READ]
        try:
            got = os.readv(descriptor, [piece])
        except OSError as error:
            raise DamagedError(reason(error)) from error
        if not got:
            raise DamagedError("file ends early")
        digest.update(piece[:got])
        done += got
    return digest.hexdigest()


# --- writing ---------------------------------------------------------------------------------


def make_private(path: Path) -> None:
    """Create a directory and its missing parents, all 0700 whatever the umask.

    Raises:
        OSError: one of them cannot be created.
    """
    for directory in reversed([p for p in (path, *path.parents) if not p.is_dir()]):
        with suppress(FileExistsError):  # another process was faster; whoever opens it will check
            directory.mkdir(0o700)
            directory.chmod(0o700)


# --- an SQLite database ----------------------------------------------------------------------

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
    journal = same_files.side_files(path)[0]
    for side in filter(os.path.lexists, same_files.side_files(path)):
        # A journal that cannot be read is refused later.
        ours = side == journal and os.path.lexists(path)
        if not ours or first_bytes(journal, 8) not in _JOURNAL:
            what = f"{side}: is in the way: SQLite would overwrite or remove it"
            raise OutputError(what, "move it")


def first_bytes(path: Path, count: int) -> bytes:
    """Return how a file begins; nothing of one that cannot be opened."""
    try:
        descriptor = source.open_regular(path, follow=False)
    except OSError:
        return b""
    with source.closing_descriptor(descriptor):
        return os.read(descriptor, count)


def named_once(path: Path, descriptor: int) -> os.stat_result:
    """Return the status of an open file that has one name.  Raises OutputError: it has others."""
    ends = time.monotonic() + _NAME_SECONDS
    while (status := os.fstat(descriptor)).st_nlink > 1:
        if time.monotonic() > ends:
            raise OutputError(f"{path}: has other names (hard links)", "remove them")
        source.sweep(path, again=True)  # of a run that was killed while it made the file
        time.sleep(0.02)
    return status
