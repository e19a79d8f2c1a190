"""The bytes of a flat FAISS index, so that vectors are stored as a file that FAISS opens.

::

    index.faiss = header vectors
    header      = "IxF2" d:int32 n:int64 1048576:int64 1048576:int64 trained:uint8=1
                  metric:int32=1 (Euclidean) n*d:uint64          little-endian, 45 bytes
    vectors     = float32 (n, d), C order, little-endian

This is what ``faiss.write_index`` writes for an ``IndexFlatL2`` (faiss/impl/index_write.cpp), byte
for byte.  Its vectors are read to where they can be searched: FAISS's own reader copies them, and
believes whatever it finds.
"""

from __future__ import annotations

import struct
from typing import Final

INDEX: Final = "index.faiss"
"""The name of the file, and of the array in an entry."""
KIND: Final = "IndexFlatL2"
"""The name of FAISS's class."""
_FIELDS: Final = struct.Struct("<4siqqqBiQ")
HEADER: Final = _FIELDS.size
"""Bytes of the header."""
_UNUSED: Final = 1 << 20
_EUCLIDEAN: Final = 1


def header(n: int, d: int) -> bytes:
    """Return the header of an index of vectors of shape (n, d).

    Raises:
        struct.error: no file holds so many.
    """
    return _FIELDS.pack(b"IxF2", d, n, _UNUSED, _UNUSED, 1, _EUCLIDEAN, n * d)
