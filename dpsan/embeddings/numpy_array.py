"""One numpy array in a stream.

::

    array   = 93 'NUMPY' major minor length header data
    length  = uint16 (major 1) or uint32, little-endian
    header  = "{'descr': TYPE, 'fortran_order': False, 'shape': (n, d), }"

The header is matched, never evaluated; object arrays are pickles and refused (what numpy calls
``allow_pickle=False``); data are read in blocks, so a shape that lies allocates nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.gensim_pickle import refuse
from dpsan.errors import EmbeddingError
from dpsan.files.compression import Readable

MAGIC: Final = b"\x93NUMPY"
_MAX_HEADER: Final = 10_000
_TYPE: Final = re.compile(rb"'descr': *'([<>|=][fiuUS][0-9]{1,9})'")
_OBJECTS: Final = re.compile(rb"'[<>|=]?O[0-9]*'")
_ORDER: Final = re.compile(rb"'fortran_order': *(True|False)")
_SHAPE: Final = re.compile(rb"'shape': *\(([0-9]{1,18}), *(?:([0-9]{1,18}),? *)?\)")


@dataclass(frozen=True)
class Array:
    """An array whose header is read and whose data come next."""

    stream: Readable
    path: Path
    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return self.dtype.itemsize * (self.shape[1] if len(self.shape) == 2 else 1)

    def rows(self, first: int, count: int) -> NDArray[Any]:
        """Return the next ``count`` rows, which start at row ``first``."""
        data = self.stream.read(count * self.row_bytes)
        if len(data) < count * self.row_bytes:
            there = first + len(data) // self.row_bytes
            raise EmbeddingError(
                self.path, f"{self.name}the file ends after {there} of {self.shape[0]} rows"
            )
        return np.frombuffer(data, dtype=self.dtype).reshape(count, *self.shape[1:])


def open_array(stream: Readable, path: Path, name: str) -> Array:
    """Read the header of an array; ``name`` stands before messages about a member of a zip.

    Raises:
        EmbeddingError: no array, or not of a plain type, rows first.
    """
    start = stream.read(8)
    if start[:6] != MAGIC or len(start) < 8:
        raise EmbeddingError(path, f"{name}not a numpy array")
    length = int.from_bytes(stream.read(2 if start[6] == 1 else 4), "little")
    header = stream.read(min(length, _MAX_HEADER + 1))
    if length > _MAX_HEADER or len(header) < length:
        raise EmbeddingError(path, f"{name}damaged numpy header")
    if _OBJECTS.search(header):
        raise refuse(path)
    kind, order, shape = (pattern.search(header) for pattern in (_TYPE, _ORDER, _SHAPE))
    if not (kind and order and shape):
        raise EmbeddingError(path, f"{name}not an array of one or two dimensions of a plain type")
    if order[1] == b"True" and shape[2] is not None:
        raise EmbeddingError(path, f"{name}columns first", "save numpy.ascontiguousarray(vectors)")
    try:
        dtype = np.dtype(kind[1].decode())
    except (TypeError, ValueError, OverflowError):
        dtype = np.dtype("S0")
    if not dtype.itemsize:
        raise EmbeddingError(path, f"{name}unknown type of array")
    sizes = tuple(int(size) for size in shape.groups() if size is not None)
    return Array(stream, path, name, dtype, sizes)
