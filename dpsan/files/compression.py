"""Output compressed as its name says: ``.gz``, and ``.zst`` with an extra.

The same bytes in give the same bytes out: no time, no name in the header.
"""

from __future__ import annotations

import zlib

from dpsan.errors import ExtraMissingError
from dpsan.files.atomic_files import Packer


def packer_for(name: str) -> Packer | None:
    """What an output of this name is compressed with.  Raises ExtraMissingError."""
    if name.lower().endswith(".gz"):
        return zlib.compressobj(6, zlib.DEFLATED, 31)  # one member
    if not name.lower().endswith(".zst"):
        return None
    try:
        import zstandard  # an extra
    except ImportError:
        raise ExtraMissingError("writing .zst", "zst") from None
    made: Packer = zstandard.ZstdCompressor(write_checksum=True).compressobj()  # one frame
    return made
