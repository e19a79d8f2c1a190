"""Where bytes come from: file descriptors, read as they arrive.

Knows descriptors.  Must not know records.
"""

from __future__ import annotations

import hashlib
import os
import select
import stat
import zlib
from typing import Any, Final

from dpsan.errors import ExtraMissingError, InputError
from dpsan.errors import reason as os_reason
from dpsan.formats.base import Source

_CHUNK: Final = 1 << 18
_ZSTD_CHUNK: Final = 1 << 10
_ZSTD_WINDOW: Final = 1 << 27
"""Largest window accepted, as the zstd program does: what a file may make us allocate."""


class FileSource:
    """Bytes of a descriptor; counts and hashes what it hands out.

    Args:
        name: for messages.
        descriptor: open for reading; stays the caller's.
        limit: most bytes read from where the descriptor stands; default all.
    """

    def __init__(self, name: str, descriptor: int, limit: int | None = None) -> None:
        self.name = name
        self._descriptor = descriptor
        self._limit = limit
        self._hash = hashlib.sha256()
        self.bytes_read = 0

    def descriptor(self) -> int | None:
        """See :class:`Source`."""
        try:
            regular = stat.S_ISREG(os.fstat(self._descriptor).st_mode)
        except OSError as error:
            raise InputError(self.name, f"cannot read: {os_reason(error)}") from None
        return self._descriptor if regular else None

    def read(self) -> bytes:
        """See :class:`Source`."""
        left = _CHUNK if self._limit is None else min(_CHUNK, self._limit - self.bytes_read)
        try:
            data = os.read(self._descriptor, left)
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
        """Of the bytes read so far, hexadecimal."""
        return self._hash.hexdigest()


class GzipSource:
    """The decompressed bytes of a gzip source, all members."""

    def __init__(self, inner: Source) -> None:
        self.name = inner.name
        self._inner = inner
        self._member = zlib.decompressobj(wbits=31)
        self._waiting = b""
        self._started = False

    def descriptor(self) -> None:
        """See :class:`Source`."""

    def read(self) -> bytes:
        """See :class:`Source`.  Raises InputError on damaged data."""
        while True:
            data = self._member.unconsumed_tail or self._waiting
            self._waiting = b""
            if not data:
                data = self._inner.read()
                if not data:
                    if not self._started:
                        raise InputError(self.name, "not gzip data: empty")
                    if not self._member.eof:
                        raise InputError(self.name, "gzip data ends too early")
                    return b""
            if self._member.eof:
                # Another member, or zero padding behind the last one.
                data = data.lstrip(b"\0")
                if not data:
                    continue
                self._member = zlib.decompressobj(wbits=31)
            self._started = True
            try:
                out = self._member.decompress(data, _CHUNK)
            except zlib.error:
                raise InputError(self.name, "damaged gzip data") from None
            if self._member.eof:
                self._waiting = self._member.unused_data
            if out:
                return out

    def idle(self) -> bool:
        """See :class:`Source`."""
        ready = self._member.unconsumed_tail or self._waiting
        return not ready and self._inner.idle()


class ZstdSource:
    """The decompressed bytes of a Zstandard source, all frames; needs an extra."""

    def __init__(self, inner: Source) -> None:
        try:
            import zstandard  # an extra
        except ImportError:
            raise ExtraMissingError("reading .zst", "zst") from None
        self.name = inner.name
        self._inner = inner
        self._error: type[Exception] = zstandard.ZstdError
        self._maker = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
        self._frame: Any = None
        self._waiting = b""
        self._at = 0
        self._started = False

    def descriptor(self) -> None:
        """See :class:`Source`."""

    def read(self) -> bytes:
        """See :class:`Source`.  Raises InputError on damaged data."""
        while True:
            if self._at >= len(self._waiting):
                self._waiting, self._at = self._inner.read(), 0
                if not self._waiting:
                    if not self._started:
                        raise InputError(self.name, "not zstd data: empty")
                    if self._frame is not None:
                        raise InputError(self.name, "zstd data ends too early")
                    return b""
                self._started = True
            # A little at a time: a kilobyte of input gives at most some 30 MB of output.
            data = self._waiting[self._at : self._at + _ZSTD_CHUNK]
            self._at += len(data)
            if self._frame is None:
                self._frame = self._maker.decompressobj()
            try:
                out: bytes = self._frame.decompress(data)
            except (self._error, MemoryError):
                raise InputError(self.name, "damaged zstd data") from None
            if self._frame.eof:
                self._at -= len(self._frame.unused_data)
                self._frame = None
            if out:
                return out

    def idle(self) -> bool:
        """See :class:`Source`."""
        return self._at >= len(self._waiting) and self._inner.idle()


def decompressed(source: Source) -> Source:
    """The source, decompressed if its name ends in .gz or .zst.  Raises ExtraMissingError."""
    name = source.name.lower()
    if name.endswith(".gz"):
        return GzipSource(source)
    return ZstdSource(source) if name.endswith(".zst") else source


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
