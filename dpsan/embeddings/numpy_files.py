"""numpy's ``.npz`` files.

::

    NAME.npz        = zip of vectors.npy (n, d) and words.npy (n,), type <U or |S, and, if they are
                      known, counts.npy (n,), whole numbers: occurrences in public text, and
                      spellings.npy (n,), like words.npy: each word as it is usually written, the
                      same but for capital letters (what ``dpsan train`` writes has both)
    array           = 93 'NUMPY' major minor length header data
    length          = uint16 (major 1) or uint32, little-endian
    header          = "{'descr': TYPE, 'fortran_order': False, 'shape': (n, d), }"

The header is matched, never evaluated; object arrays are pickles and refused (what numpy calls
``allow_pickle=False``); data are read in blocks, so a shape that lies allocates nothing.
"""

from __future__ import annotations

import io
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.files import BLOCK, MAX_WORD, Rows, check_dimensions, refuse
from dpsan.errors import EmbeddingError
from dpsan.files.compression import Bounded, Readable

MAGIC: Final = b"\x93NUMPY"
_MAX_HEADER: Final = 10_000
_TYPE: Final = re.compile(rb"'descr': *'([<>|=][fiuUS][0-9]{1,9})'")
_OBJECTS: Final = re.compile(rb"'[<>|=]?O[0-9]*'")
_ORDER: Final = re.compile(rb"'fortran_order': *(True|False)")
_SHAPE: Final = re.compile(rb"'shape': *\(([0-9]{1,18}), *(?:([0-9]{1,18}),? *)?\)")
_MOST: Final = 10**15
# RuntimeError: encrypted, and NotImplementedError.
_ZIP_ERRORS: Final = (zipfile.BadZipFile, EOFError, OSError, RuntimeError, ValueError)


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

    def error(self, message: str) -> EmbeddingError:
        """Return an error of this array."""
        return EmbeddingError(self.path, f"{self.name}{message}")

    def rows(self, first: int, count: int) -> NDArray[Any]:
        """Return the next ``count`` rows, which start at row ``first``."""
        data = self.stream.read(count * self.row_bytes)
        if len(data) < count * self.row_bytes:
            there = first + len(data) // self.row_bytes
            raise self.error(f"the file ends after {there} of {self.shape[0]} rows")
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


def _vectors(array: Array) -> Array:
    if len(array.shape) != 2 or array.dtype.kind not in "fiu" or array.dtype.itemsize > 8:
        raise array.error("expected real numbers of shape (n, d)")
    check_dimensions(array.path, array.shape[1])
    return array


def _require_end(array: Array) -> None:
    if array.stream.read(1):
        raise array.error(f"more data than the header's {array.shape[0]} rows")


def read_npz(stream: io.BufferedReader, path: Path, limit: int | None) -> Rows:
    """Read the first ``limit`` usable rows of a seekable stream.

    Raises:
        EmbeddingError: the file is malformed.
    """
    with open_zip(stream, path) as archive:

        def opened(name: str) -> Array:
            return open_array(_member(archive, path, f"{name}.npy"), path, f"{name}.npy: ")

        vectors, words = _vectors(opened("vectors")), opened("words")
        counts, spellings = (
            opened(name) if f"{name}.npy" in archive.namelist() else None
            for name in ("counts", "spellings")
        )
        n, d = vectors.shape
        for each in filter(None, (words, spellings)):
            _check_text(each, n)
        if counts is not None and (counts.shape != (n,) or counts.dtype.kind not in "iu"):
            raise counts.error("expected whole numbers of shape (n,)")
        arrays = [*filter(None, (vectors, words, counts, spellings))]
        rows = Rows(path, d, limit)
        for at, count in rows.blocks(n, max(1, *(each.row_bytes for each in arrays))):
            block = vectors.rows(at, count)
            rows.add(
                _texts(words, at, count),
                block,
                None if counts is None else _counts(counts, at, count),
                None if spellings is None else _texts(spellings, at, count),
            )
        if not rows.full:
            for each in arrays:
                _require_end(each)
        return rows


def open_zip(stream: io.BufferedReader, path: Path) -> zipfile.ZipFile:
    """Return the zip file in a seekable stream.

    Raises:
        EmbeddingError: it is damaged.
    """
    try:
        return zipfile.ZipFile(stream)
    except _ZIP_ERRORS:
        raise EmbeddingError(path, "damaged zip file") from None


def _check_text(array: Array, n: int) -> None:
    if len(array.shape) != 1 or array.dtype.kind not in "US":
        raise array.error("expected text of shape (n,)")
    if array.shape[0] != n:
        what = array.name.removesuffix(".npy: ")
        raise EmbeddingError(array.path, f"{array.shape[0]} {what}, but {n} vectors")
    if array.dtype.itemsize > MAX_WORD * (4 if array.dtype.kind == "U" else 1):
        raise array.error("words longer than 1 MB")


def _texts(array: Array, at: int, count: int) -> list[bytes | str]:
    try:
        return array.rows(at, count).tolist()  # type: ignore[no-any-return]
    except (ValueError, UnicodeDecodeError):
        raise array.error("not valid Unicode") from None


def _counts(array: Array, at: int, count: int) -> list[int]:
    found: list[int] = array.rows(at, count).tolist()
    if not all(0 <= each < _MOST for each in found):
        raise array.error("expected counts from 0 to below 10^15")
    return found


def _member(archive: zipfile.ZipFile, path: Path, name: str) -> io.BufferedReader:
    try:
        info = archive.getinfo(name)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise EmbeddingError(path, f"{name}: unknown compression")
        member = archive.open(info)
    except KeyError:
        raise EmbeddingError(path, f"no array '{name.removesuffix('.npy')}'") from None
    except _ZIP_ERRORS:
        raise EmbeddingError(path, "damaged zip file") from None
    return io.BufferedReader(Bounded(member, path, info.compress_size), BLOCK)
