"""Where bytes come from: file descriptors, read as they arrive."""

from __future__ import annotations

import hashlib
import os
import select
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol

from dpsan.errors import ExtraMissingError, InputError, file_reason
from dpsan.errors import reason as os_reason

_CHUNK: Final = 1 << 18
_ZSTD_WINDOW: Final = 1 << 27
"""Largest window accepted, as the zstd program does: what a file may make us allocate."""


class Source(Protocol):
    """Bytes that arrive: a file, a pipe, a decompressed stream."""

    name: str

    def descriptor(self) -> int | None:
        """The file itself where it can be read at any position, else None."""
        ...

    def read(self) -> bytes:
        """The next bytes, at least one; ``b""`` at the end.  Blocks."""
        ...

    def idle(self) -> bool:
        """Whether :meth:`read` would have to wait."""
        ...


class FileSource:
    """Bytes of a descriptor; counts and hashes what it hands out.

    Args:
        name: for messages.
        descriptor: open for reading; stays the caller's.
    """

    def __init__(self, name: str, descriptor: int) -> None:
        self.name = name
        self._descriptor = descriptor
        self._hash = hashlib.sha256()
        self.bytes_read = 0
        self._opened = self._state()

    def _state(self) -> tuple[int, int] | None:
        """Size and time of the last write; None for what is no file."""
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
        try:
            regular = stat.S_ISREG(os.fstat(self._descriptor).st_mode)
        except OSError as error:
            raise InputError(self.name, f"cannot read: {os_reason(error)}") from None
        return self._descriptor if regular else None

    def read(self) -> bytes:
        try:
            data = os.read(self._descriptor, _CHUNK)
        except OSError as error:
            raise InputError(self.name, f"cannot read: {os_reason(error)}") from None
        self._hash.update(data)
        self.bytes_read += len(data)
        return data

    def idle(self) -> bool:
        try:
            return not select.select([self._descriptor], [], [], 0)[0]
        except (OSError, ValueError):  # a descriptor that cannot be waited for never blocks
            return False

    @property
    def sha256(self) -> str:
        """Of the bytes read so far, hexadecimal."""
        return self._hash.hexdigest()


class _Codec(NamedTuple):
    """A kind of compression."""

    name: str
    frame: Callable[[], Any]
    """A decompressor of one member or frame."""
    errors: tuple[type[Exception], ...]
    """What it raises on damaged data."""
    piece: int
    """Bytes that it is given at once: of a few its output is not large."""
    padding: bytes
    """What may stand behind a frame."""


def _gzip() -> _Codec:
    return _Codec("gzip", partial(zlib.decompressobj, wbits=31), (zlib.error,), 1 << 12, b"\0")


def _zstd() -> _Codec:
    try:
        import zstandard  # an extra
    except ImportError:
        raise ExtraMissingError("reading .zst", "zst") from None
    maker = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    # A kilobyte of input gives at most some 30 MB of output.
    errors = zstandard.ZstdError, MemoryError
    return _Codec("zstd", maker.decompressobj, errors, 1 << 10, b"")


class _Decompressed:
    """The decompressed bytes of a source, all members or frames."""

    def __init__(self, inner: Source, codec: _Codec) -> None:
        self.name = inner.name
        self._inner, self._codec = inner, codec
        self._frame: Any = codec.frame()
        self._waiting = b""
        self._at = 0
        self._started = False

    def descriptor(self) -> None:
        return None

    def read(self) -> bytes:
        """Raise InputError on damaged data."""
        kind = self._codec.name
        while True:
            if self._at >= len(self._waiting):
                self._waiting, self._at = self._inner.read(), 0
                if not self._waiting:
                    if not self._started:
                        raise InputError(self.name, f"not {kind} data: empty")
                    if self._frame is not None:
                        raise InputError(self.name, f"{kind} data ends too early")
                    return b""
                self._started = True
            data = self._waiting[self._at : self._at + self._codec.piece]
            self._at += len(data)
            if self._frame is None:
                data = data.lstrip(self._codec.padding)
                if not data:
                    continue
                self._frame = self._codec.frame()
            try:
                out: bytes = self._frame.decompress(data)
            except self._codec.errors:
                raise InputError(self.name, f"damaged {kind} data") from None
            if self._frame.eof:
                self._at -= len(self._frame.unused_data)
                self._frame = None
            if out:
                return out

    def idle(self) -> bool:
        return self._at >= len(self._waiting) and self._inner.idle()


def decompressed(source: Source) -> Source:
    """The source, decompressed if its name ends in .gz or .zst.  Raises ExtraMissingError."""
    name = source.name.lower()
    if name.endswith(".gz"):
        return _Decompressed(source, _gzip())
    return _Decompressed(source, _zstd()) if name.endswith(".zst") else source


@contextmanager
def opened(path: Path, *, steady: bool = False) -> Iterator[Source]:
    """The bytes of a file, decompressed as its name says.

    Args:
        path: of the file.
        steady: refuse a file that others write to meanwhile.

    Raises:
        InputError: it cannot be read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise InputError(path, file_reason(error)) from None
    try:
        source = FileSource(str(path), descriptor)
        yield decompressed(source)
        if steady:
            source.check_unchanged()
    finally:
        os.close(descriptor)


def read_whole(source: Source, kind: str, most: int) -> bytes:
    """All bytes of a source.  Raises InputError: they are more than ``most``."""
    pieces, size = [], 0
    while piece := source.read():
        pieces.append(piece)
        size += len(piece)
        if size > most:
            raise InputError(
                source.name,
                f"{kind} longer than {most} bytes",
                "--max-record 1GiB reads longer ones, in as much memory",
            )
    return b"".join(pieces)
