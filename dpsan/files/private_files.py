"""Files of the cache: opened without trust, hashed while read, written so that a crash shows.

Every name is looked up relative to an open directory, so nobody can swap a directory between the
check and the use.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.errors import reason as os_reason

PIECE: Final = 1 << 20
"""Bytes hashed and written at a time."""
READ: Final = 32 << 20
"""Bytes read, then hashed: long enough that a thread which waits its turn in between, while others
import modules, loses little."""
STALE_SECONDS: Final = 24 * 3600
TEMPORARY_PREFIX: Final = ".tmp-"
# O_NONBLOCK: opening a FIFO in place of a file must not wait for a writer.
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class DamagedError(Exception):
    """Bytes on disk are not what was saved.  Whoever calls turns it into an error of its own."""


def reason(error: OSError | DamagedError | MemoryError) -> str:
    """What went wrong in a few words, without the path."""
    if isinstance(error, DamagedError):
        return str(error)
    return os_reason(error) if isinstance(error, OSError) else "out of memory"


def _distrust(status: os.stat_result) -> str:
    """Why a file or directory is not ours alone, or ``""``."""
    if status.st_uid != os.geteuid():
        return "it belongs to another user"
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return "other users may write to it"
    return ""


# --- reading ---------------------------------------------------------------------------------


@contextmanager
def open_directory(name: str | Path, dir_fd: int | None = None) -> Iterator[int]:
    """A descriptor of a directory that is ours alone and no symbolic link.

    Raises:
        DamagedError: it is another user's, or others may write to it.
        OSError: it is absent, not a directory, or cannot be opened.
    """
    fd = os.open(name, _READ | os.O_DIRECTORY, dir_fd=dir_fd)
    try:
        if problem := _distrust(os.fstat(fd)):
            raise DamagedError(problem)
        yield fd
    finally:
        os.close(fd)


@contextmanager
def open_file(name: str, dir_fd: int) -> Iterator[tuple[int, int]]:
    """Descriptor and size in bytes of a regular file that is ours alone and no symbolic link.

    Raises:
        DamagedError: it is absent, cannot be opened, or is not such a file.
    """
    try:
        fd = os.open(name, _READ, dir_fd=dir_fd)
    except OSError as error:
        raise DamagedError(f"{name}: {reason(error)}") from error
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise DamagedError(f"{name}: not a regular file")
        if problem := _distrust(status):
            raise DamagedError(f"{name}: {problem}")
        yield fd, status.st_size
    finally:
        os.close(fd)


def read_hashed(fd: int, into: NDArray[np.uint8]) -> str:
    """Fill a buffer from a file and return the SHA-256 (hex) of the memory that was filled.

    The memory is hashed, not the file: what is handed out is what was verified.

    Raises:
        DamagedError: the file ends early or cannot be read.
    """
    digest = hashlib.sha256()
    memory = into.data
    done = 0
    while done < len(memory):
        piece = memory[done : done + READ]
        try:
            got = os.readv(fd, [piece])
        except OSError as error:
            raise DamagedError(reason(error)) from error
        if not got:
            raise DamagedError("file ends early")
        digest.update(piece[:got])
        done += got
    return digest.hexdigest()


def names(fd: int) -> list[str]:
    """What is in a directory, sorted.

    Raises:
        OSError: it cannot be read.
    """
    with os.scandir(fd) as children:
        return sorted(child.name for child in children)


def identity(dir_fd: int, name: str) -> tuple[int, int, int] | None:
    """Tells one holder of a name from the next; None if nothing has the name.

    Raises:
        OSError: the name cannot be looked up.
    """
    try:
        status = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
    except FileNotFoundError:
        return None
    # The time because numbers of removed directories are given out again.
    return status.st_dev, status.st_ino, status.st_ctime_ns


def file_bytes(dir_fd: int, name: str) -> int:
    """Bytes in the files of a directory, or of a single file; what cannot be seen counts 0."""
    total = 0
    with suppress(OSError):
        status = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
        if not stat.S_ISDIR(status.st_mode):
            return status.st_size
        fd = os.open(name, _READ | os.O_DIRECTORY, dir_fd=dir_fd)
        try:
            for child in names(fd):
                total += os.stat(child, dir_fd=fd, follow_symlinks=False).st_size
        finally:
            os.close(fd)
    return total


# --- writing ---------------------------------------------------------------------------------


def make_private(path: Path) -> None:
    """Create a directory and its missing parents, all 0700 whatever the umask.

    Raises:
        OSError: one of them cannot be created.
    """
    for directory in reversed([p for p in (path, *path.parents) if not p.is_dir()]):
        with suppress(FileExistsError):  # another process was faster; opening it will judge it
            directory.mkdir(0o700)
            directory.chmod(0o700)


def write_hashed(dir_fd: int, name: str, *parts: bytes | NDArray[Any]) -> str:
    """Write bytes and C-contiguous arrays to a new file 0600, to the disk itself.

    Returns the SHA-256 (hex) of what was written.

    Raises:
        OSError: it cannot be written.
    """
    digest = hashlib.sha256()
    fd = os.open(name, _CREATE, 0o600, dir_fd=dir_fd)
    try:
        os.fchmod(fd, 0o600)
        for part in parts:
            data = part if isinstance(part, bytes) else part.reshape(-1).view(np.uint8).data
            memory = memoryview(data)
            while memory:
                written = os.write(fd, memory[:PIECE])
                digest.update(memory[:written])
                memory = memory[written:]
        os.fsync(fd)
    finally:
        os.close(fd)
    return digest.hexdigest()


def sync_directory(fd: int) -> None:
    """Make the names in a directory durable.

    Raises:
        OSError: the disk refuses.
    """
    try:
        os.fsync(fd)
    except OSError as error:
        # Some network file systems cannot sync directories; the digests catch what is then lost.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise


def _temporary_name() -> str:
    return f"{TEMPORARY_PREFIX}{secrets.token_hex(8)}"


@contextmanager
def temporary_directory(dir_fd: int) -> Iterator[tuple[str, int]]:
    """Name and descriptor of a new directory 0700, removed at the end unless it was renamed.

    Raises:
        OSError: it cannot be created.
        DamagedError: the file system gave it to somebody else.
    """
    name = _temporary_name()
    os.mkdir(name, 0o700, dir_fd=dir_fd)
    try:
        os.chmod(name, 0o700, dir_fd=dir_fd)
        with open_directory(name, dir_fd) as fd:
            # Held while we live: tells sweep() that this is work, not the remains of a crash.
            with suppress(OSError):
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield name, fd
    finally:
        remove(dir_fd, name)


def move_into_place(dir_fd: int, temporary: str, name: str) -> None:
    """Rename a finished directory, moving away whatever has the name already.

    Raises:
        OSError: it cannot be renamed.
    """
    for _ in range(8):  # more than once only if others save the same entry at this moment
        try:
            os.rename(temporary, name, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
        except OSError as error:
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR):
                raise
        else:
            return
        with suppress(FileNotFoundError):
            discard(dir_fd, name)
    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def discard(dir_fd: int, name: str) -> None:
    """Move away, then remove, so that nobody sees a half removed entry under its name.

    Raises:
        OSError: it cannot be moved.
    """
    away = _temporary_name()
    os.rename(name, away, src_dir_fd=dir_fd, dst_dir_fd=dir_fd)
    remove(dir_fd, away)


def remove(dir_fd: int, name: str) -> None:
    """Remove a directory or a file if there is one; what cannot be removed stays for sweep()."""
    try:
        shutil.rmtree(name, dir_fd=dir_fd)
    except OSError:  # absent, or a file, or a symbolic link
        with suppress(OSError):
            os.unlink(name, dir_fd=dir_fd)


def sweep(dir_fd: int, *, young_too: bool = False) -> int:
    """Remove temporaries older than a day and return their bytes.

    Args:
        young_too: also those of the last day whose process is gone.
    """
    freed = 0
    for name in names(dir_fd):
        if not name.startswith(TEMPORARY_PREFIX):
            continue
        with suppress(OSError):
            status = os.stat(name, dir_fd=dir_fd, follow_symlinks=False)
            # abs: a clock that was wrong by years must not make a temporary immortal.
            old = abs(time.time() - status.st_mtime) > STALE_SECONDS
            if old or (young_too and _abandoned(dir_fd, name)):
                size = file_bytes(dir_fd, name)
                remove(dir_fd, name)
                freed += size
    return freed


def _abandoned(dir_fd: int, name: str) -> bool:
    """Whether nobody holds the lock of a temporary directory."""
    try:
        with open_directory(name, dir_fd) as fd:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    except (OSError, DamagedError):
        return False
