"""Output compressed as its name says: ``.gz``, and ``.zst`` with an extra.

Knows compressors.  Must not know files or records.  The same bytes in give the same bytes out: no
time, no name in the header.
"""

from __future__ import annotations

import zlib
from typing import Any

from dpsan.errors import ExtraMissingError
from dpsan.formats.atomic_files import Packer


class _Gzip:
    """One gzip member."""

    def __init__(self) -> None:
        self._state = zlib.compressobj(6, zlib.DEFLATED, 31)

    def pack(self, data: bytes) -> bytes:
        """See :class:`Packer`."""
        return self._state.compress(data)

    def finish(self) -> bytes:
        """See :class:`Packer`."""
        return self._state.flush()


class _Zstd:
    """One Zstandard frame with a checksum."""

    def __init__(self) -> None:
        try:
            import zstandard  # an extra
        except ImportError:
            raise ExtraMissingError("writing .zst", "zst") from None
        self._state: Any = zstandard.ZstdCompressor(write_checksum=True).compressobj()

    def pack(self, data: bytes) -> bytes:
        """See :class:`Packer`."""
        out: bytes = self._state.compress(data)
        return out

    def finish(self) -> bytes:
        """See :class:`Packer`."""
        out: bytes = self._state.flush()
        return out


def packer_for(name: str) -> Packer | None:
    """What an output of this name is compressed with.  Raises ExtraMissingError."""
    if name.lower().endswith(".gz"):
        return _Gzip()
    return _Zstd() if name.lower().endswith(".zst") else None
