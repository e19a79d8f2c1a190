"""Open inputs and read their bytes as they arrive; names of files that are written.

A file that is written has a temporary name first, then the final one.  A temporary file stands
beside its target as ``.TARGET.<16 hexadecimal digits>.tmp``.  The run that makes it locks it, and
the system releases the lock when the process ends, however it ends.  So a file that can be locked
belongs to nobody.  Where the file system has no locks, nothing is removed.  A finished file gets
its final name without replacing what must stay.
"""

import errno
import fcntl
import hashlib
import os
import re
import secrets
import select
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Protocol

from dpsan.errors import PIPE, InputError, NotRegularError, OutputError, file_reason
from dpsan.errors import reason as os_reason

_CHUNK: Final = 1 << 18


@contextmanager
def closing_descriptor(descriptor: int) -> Iterator[int]:
    """Close a descriptor at the end of the block, which gets it."""
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def open_regular(path: Path, *, follow: bool = True) -> int:
    """Return a descriptor of a regular file, without waiting for a pipe.

    Args:
        follow: also through a symbolic link.

    Raises:
        NotRegularError: it is a directory, a pipe or a device.
        OSError: it cannot be opened.
    """
    if follow:
        _require_regular(path.stat())  # opening a device can already have effects
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    descriptor = os.open(path, flags)
    try:
        _require_regular(os.fstat(descriptor))  # the name may lead to another file by now
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _require_regular(status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise NotRegularError("is a directory")
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularError("not a regular file")


_NO_PATHS: Final = (
    (r"https?:/", "dpsan reads nothing from a network: curl URL | dpsan rewrite ..."),
    (r"file:/", "leave out file://"),
    (r"[A-Za-z]:", "in WSL drive C: is below /mnt/c"),
    (r".*[*?][^/]*$", "the pattern matches no file"),
)
"""Names that are none of files here, and what to type instead."""


@contextmanager
def opened_input(path: Path, *, hints: bool = True) -> "Iterator[FileSource]":
    """Open an input to read: a file, a pipe or a device.

    Args:
        hints: say what ``rewrite`` reads instead of a directory, or of a text taken for a name.

    Raises:
        InputError: it is a directory, or cannot be opened.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        hint = ""
        no_name = " " in path.name or (path.name == str(path) and not path.suffix)
        if hints and isinstance(error, FileNotFoundError):
            kinds = (hint for form, hint in _NO_PATHS if re.match(form, str(path)))
            hint = next(kinds, PIPE * no_name)
        raise InputError(path, file_reason(error), hint) from None
    with closing_descriptor(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            hint = "rewrite -r -O DIR reads all files below it; restore takes one file" * hints
            raise InputError(path, "is a directory", hint)
        yield FileSource(str(path), descriptor)


class Source(Protocol):
    """Bytes that arrive: a file, a pipe, a decompressed stream."""

    name: str

    def descriptor(self) -> int | None:
        """Return the descriptor where the file can be read at any position, else None."""

    def read(self) -> bytes:
        """Return the next bytes, at least one; ``b""`` at the end.  Blocks."""

    def idle(self) -> bool:
        """Return whether :meth:`read` would have to wait."""


class FileSource:
    """Bytes of a descriptor; counts and hashes what it hands out.

    Args:
        name: for messages.
        descriptor: open for reading; the caller closes it.
    """

    def __init__(self, name: str, descriptor: int) -> None:
        self.name, self._descriptor = name, descriptor
        self._hash = hashlib.sha256()
        self.bytes_read = 0
        self._opened = self._state()

    def _state(self) -> tuple[int, int] | None:
        """Return size and time of the last write; None for pipes and devices."""
        try:
            status = os.fstat(self._descriptor)
        except OSError:  # closed: whoever reads will complain
            return None
        return (status.st_size, status.st_mtime_ns) if stat.S_ISREG(status.st_mode) else None

    def check_unchanged(self) -> None:
        """Raise InputError if a file was written to since it was opened."""
        if self._state() != self._opened:
            raise InputError(self.name, "changed while it was read", "run it again")

    def descriptor(self) -> int | None:
        """See :class:`Source`."""
        return None if self._opened is None else self._descriptor

    def read(self) -> bytes:
        """See :class:`Source`."""
        try:
            data = os.read(self._descriptor, _CHUNK)
        except OSError as error:
            raise InputError(self.name, f"cannot read: {os_reason(error)}") from None
        self._hash.update(data)
        self.bytes_read += len(data)
        return data

    def idle(self) -> bool:
        """See :class:`Source`."""
        try:
            return not select.select([self._descriptor], [], [], 0)[0]
        except (OSError, ValueError):  # a descriptor that cannot be waited for never blocks
            return False

    @property
    def sha256(self) -> str:
        """SHA-256 of the bytes read so far, hexadecimal."""
        return self._hash.hexdigest()


def read_whole(source: Source, kind: str, most: int) -> bytes:
    """Return all bytes of a source.  Raises InputError: they are more than ``most``."""
    pieces, size = [], 0
    while piece := source.read():
        pieces.append(piece)
        size += len(piece)
        if size > most:
            raise InputError(source.name, f"{kind} longer than {most} bytes", "split it")
    return b"".join(pieces)


_NAME: Final = re.compile(r"\.(.*)\.[0-9a-f]{16}\.tmp", re.DOTALL)
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
"""Flags to open a file that is not there yet."""

_FOUND: Final[dict[Path, dict[str, list[str]]]] = {}
"""The temporary files of each directory that this process has listed, by the name of the target."""


def temporary_name(target: str) -> str:
    """Return a new name for the temporary file of a target, in the same directory."""
    return f".{_stem(target)}.{secrets.token_hex(8)}.tmp"


def _stem(target: str) -> str:
    """Return as much of a name as leaves room for the rest: names have at most 255 bytes."""
    return os.fsencode(target)[:200].decode(sys.getfilesystemencoding(), errors="ignore")


def create_locked(path: Path) -> int:
    """Create a file for the owner alone, locked until it is closed or the process ends.

    Raises:
        OSError: it exists, or cannot be created.
    """
    while True:
        descriptor = os.open(path, NEW_FILE, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:
            return descriptor  # no locks here, so nobody sweeps here
        with suppress(FileNotFoundError):
            if os.path.samestat(os.lstat(path), os.fstat(descriptor)):
                return descriptor
        os.close(descriptor)  # a sweep took it for a dead one before it was locked


def sweep(*targets: Path, again: bool = False) -> None:
    """Remove what dead runs left of files that are about to be written.

    Files of no other name are touched: a run on another machine, on a file system that keeps the
    locks of each machine to itself, would lose what it is writing.

    Args:
        targets: names of the finished files.
        again: list their directories even if this process has listed them before.
    """
    for target in targets:
        parent = target.parent
        if again or parent not in _FOUND:
            _FOUND[parent] = _temporaries(parent)
        for name in _FOUND[parent].pop(_stem(target.name), ()):
            _remove_dead(parent / name)


def _temporaries(directory: Path) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    with suppress(OSError):
        for path in directory.iterdir():
            if match := _NAME.fullmatch(path.name):
                names.setdefault(match[1], []).append(path.name)
    return names


def _remove_dead(path: Path) -> None:
    """Remove a temporary file or directory that nobody holds."""
    with suppress(OSError), closing_descriptor(os.open(path, _READ)) as descriptor:
        status = os.fstat(descriptor)
        directory = stat.S_ISDIR(status.st_mode) and stat.S_IMODE(status.st_mode) == 0o700
        kind = stat.S_ISREG(status.st_mode) or directory
        if kind and status.st_uid == os.geteuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove(path)


def remove(path: Path) -> None:
    """Remove a file or a directory if there is one; what cannot be removed stays for a sweep."""
    try:
        path.unlink()  # first: rmtree would wait for a writer of a pipe
    except OSError:  # absent, or a directory
        shutil.rmtree(path, ignore_errors=True)


# --- final names ---------------------------------------------------------------------------

_MOST_LINKS: Final = 40
_NAMES: Final = "EPERM EACCES EMLINK ENOSYS EOPNOTSUPP ENOTSUP"
_UNLINKABLE: Final = {getattr(errno, name) for name in _NAMES.split()}
"""Errors of file systems without hard links, or where they are forbidden."""
_UNSYNCABLE: Final = (errno.EINVAL, errno.ENOTSUP)
"""Errors of network file systems whose directories cannot be synced."""


def stream_number(path: Path) -> int | None:
    """Return the descriptor that a path such as ``/dev/stdout`` or ``/dev/fd/3`` means, or None."""
    folders = {os.path.realpath(folder) for folder in ("/proc/self/fd", "/dev/fd")}
    for _ in range(_MOST_LINKS):  # step by step: at the last one the file itself would be found
        if path.name.isdecimal() and os.path.realpath(path.parent) in folders:
            return int(path.name)
        try:
            path = path.parent / path.readlink()
        except OSError:
            return None
    return None


def refuse_special(target: Path) -> None:
    """Raise OutputError if the target is a directory, a pipe, a device or an open stream."""
    try:
        mode = target.stat().st_mode
    except OSError:  # absent; other errors are raised when the file is made
        return
    if stat.S_ISDIR(mode):
        raise OutputError(f"{target}: is a directory", f"name a file in it, such as {target}/FILE")
    if not stat.S_ISREG(mode) or stream_number(target) is not None:
        raise OutputError(f"{target}: not a regular file", "it is never replaced; name another")


def publish(temporary: Path, target: Path, *, force: bool) -> None:
    """Give a file its final name.

    Args:
        temporary: its name so far, in the same directory; removed.
        target: the final name.
        force: replace a file of that name; otherwise it stays, also if it appeared just now.

    Raises:
        OutputError: there is a file that must not be replaced.
        OSError: the name cannot be given.
    """
    if force:
        refuse_special(target)
        temporary.rename(target)
        return
    try:
        os.link(temporary, target, follow_symlinks=False)
    except FileExistsError:
        # A network file system may have lost its first answer, and say so of our own link.
        if not os.path.samestat(os.lstat(temporary), os.lstat(target)):
            raise appeared(target) from None
    except OSError as error:
        if error.errno not in _UNLINKABLE:
            raise
        what = f"{target}: this file system cannot make a file without replacing another"
        raise OutputError(what, "--force, if nobody else writes here") from None
    with suppress(OSError):
        temporary.unlink()


def appeared(target: Path) -> OutputError:
    """Return the error for an output that somebody else has made during the run."""
    what = f"{target}: was created meanwhile, and is not replaced"
    return OutputError(what, "keep it if another dpsan made it: two outputs tell more than one")


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable.  Raises OSError."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
    with closing_descriptor(os.open(path, flags)) as directory:
        try:
            os.fsync(directory)
        except OSError as error:
            if error.errno not in _UNSYNCABLE:
                raise
