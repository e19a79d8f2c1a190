"""Open inputs, and read their bytes as they arrive."""

from __future__ import annotations

import hashlib
import os
import re
import select
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

from dpsan.errors import InputError, NotRegularError, file_reason
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


_TEXT: Final = "text comes from standard input: echo TEXT | dpsan rewrite ..."
_NO_PATHS: Final = (
    (r"https?:/", "dpsan reads nothing from a network: curl URL | dpsan rewrite ..."),
    (r"file:/", "leave out file://"),
    (r"[A-Za-z]:", "in WSL drive C: is below /mnt/c"),
    (r".*[*?][^/]*$", "the pattern matches no file"),
)
"""Names that are none of files here, and what to type instead."""


def open_input(path: Path, *, hints: bool = True) -> int:
    """Return a descriptor of an input: a file, a pipe or a device.

    Args:
        hints: say what ``rewrite`` reads instead of a directory, or of a text taken for a name.

    Raises:
        InputError: it is a directory, or cannot be opened.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        problem, hint = "is a directory", "-r -O DIR reads all files below it"
    except OSError as error:
        problem, hint = file_reason(error), ""
        no_name = " " in path.name or (path.name == str(path) and not path.suffix)
        if isinstance(error, FileNotFoundError):
            kinds = (hint for form, hint in _NO_PATHS if re.match(form, str(path)))
            hint = next(kinds, _TEXT * no_name)
    raise InputError(path, problem, hint if hints else "")


@contextmanager
def opened_input(path: Path, *, hints: bool = True) -> Iterator[FileSource]:
    """Open an input to read, see :func:`open_input`."""
    with closing_descriptor(open_input(path, hints=hints)) as descriptor:
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
        try:
            regular = stat.S_ISREG(os.fstat(self._descriptor).st_mode)
        except OSError as error:
            raise InputError(self.name, f"cannot read: {os_reason(error)}") from None
        return self._descriptor if regular else None

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
