"""Where bytes come from: file descriptors, read as they arrive.

Knows descriptors.  Must not know records.
"""

from __future__ import annotations

import hashlib
import os
import select
import zlib
from typing import Final

from dpsan.errors import InputError
from dpsan.formats.base import Source

__all__ = ["FileSource", "GzipSource"]

_CHUNK: Final = 1 << 18


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

    def read(self) -> bytes:
        """See :class:`Source`."""
        try:
            data = os.read(self._descriptor, _CHUNK)
        except OSError as error:
            raise InputError(self.name, f"cannot read: {error.strerror}") from None
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

    def read(self) -> bytes:
        """See :class:`Source`.  Raises InputError on damaged data."""
        while True:
            data = self._member.unconsumed_tail or self._waiting
            self._waiting = b""
            if not data:
                data = self._inner.read()
                if not data:
                    if self._started and not self._member.eof:
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
