"""numpy's ``.npz`` files.

::

    NAME.npz        = zip of vectors.npy (n, d) and words.npy (n,), type <U or |S, and, if they are
                      known, counts.npy (n,), whole numbers: occurrences in public text, and
                      spellings.npy (n,), like words.npy: each word as it is usually written, the
                      same but for capital letters (what ``dpsan train`` writes has both)

numpy reads the headers, literals of Python that are never evaluated.  Object arrays are pickles
and refused.  Data are read in blocks, so a shape that lies allocates nothing.
"""

from __future__ import annotations

import io
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from dpsan.embeddings.files import BLOCK, MAX_WORD, Rows, check_dimensions, refuse
from dpsan.errors import EmbeddingError
from dpsan.files.compression import Bounded

MAGIC: Final = npy.MAGIC_PREFIX
_MOST: Final = 10**15
# RuntimeError: encrypted, and NotImplementedError.
_ZIP_ERRORS: Final = (zipfile.BadZipFile, EOFError, OSError, RuntimeError, ValueError)


@dataclass(frozen=True)
class _Array:
    """An array whose header is read and whose data come next."""

    stream: io.BufferedReader
    path: Path
    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return self.dtype.itemsize * (self.shape[1] if len(self.shape) == 2 else 1)

    def check(self, kinds: str, dimensions: int, wanted: str) -> None:
        """Raise EmbeddingError unless the array has plain values of some kinds."""
        if self.dtype.kind not in kinds or len(self.shape) != dimensions or min(self.shape) < 0:
            raise self.error(f"expected {wanted}")

    def error(self, message: str) -> EmbeddingError:
        """Return an error of this array."""
        return EmbeddingError(self.path, f"{self.name}.npy: {message}")

    def rows(self, first: int, count: int) -> NDArray[Any]:
        """Return the next ``count`` rows, which start at row ``first``."""
        data = self.stream.read(count * self.row_bytes)
        if len(data) < count * self.row_bytes:
            there = first + len(data) // self.row_bytes
            raise self.error(f"the file ends after {there} of {self.shape[0]} rows")
        return np.frombuffer(data, dtype=self.dtype).reshape(count, *self.shape[1:])


def _opened(archive: zipfile.ZipFile, path: Path, name: str) -> _Array:
    """Read the header of an array.  Raises EmbeddingError: there is none, or it is no plain one."""
    member = _member(archive, path, f"{name}.npy")
    try:
        version = npy.read_magic(member)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, columns_first, dtype = read(member)
    except EmbeddingError:
        raise
    except Exception:  # noqa: BLE001 - what Python's parser raises for a header of anybody's
        raise EmbeddingError(path, f"{name}.npy: not a numpy array") from None
    if dtype.hasobject:
        raise refuse(path)
    array = _Array(member, path, name, dtype, shape)
    if columns_first and len(shape) == 2:
        hint = "save numpy.ascontiguousarray(vectors)"
        raise EmbeddingError(path, f"{name}.npy: columns first", hint)
    return array


def read_npz(stream: io.BufferedReader, path: Path, limit: int | None) -> Rows:
    """Read the first ``limit`` usable rows of a seekable stream.

    Raises:
        EmbeddingError: the file is malformed.
    """
    with open_zip(stream, path) as archive:
        there = {name.removesuffix(".npy") for name in archive.namelist()}
        names = ["vectors", "words", *sorted(there & {"counts", "spellings"})]
        arrays = {name: _opened(archive, path, name) for name in names}
        vectors = arrays["vectors"]
        vectors.check("fiu", 2, "real numbers of shape (n, d)")
        n, d = vectors.shape
        check_dimensions(path, d)
        for name in names[1:]:
            _check_one_each(arrays[name], n)
        rows = Rows(path, d, limit)
        for at, count in rows.blocks(n, max(1, *(array.row_bytes for array in arrays.values()))):
            block = {name: array.rows(at, count) for name, array in arrays.items()}
            rows.add(
                _listed(arrays["words"], block["words"]),
                block["vectors"],
                block["counts"].tolist() if "counts" in block else None,
                _listed(arrays["spellings"], block["spellings"]) if "spellings" in block else None,
            )
            if "counts" in block and not ((block["counts"] >= 0) & (block["counts"] < _MOST)).all():
                raise arrays["counts"].error("expected counts from 0 to below 10^15")
        for array in () if rows.full else arrays.values():
            if array.stream.read(1):
                raise array.error(f"more data than the header's {n} rows")
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


def _check_one_each(array: _Array, n: int) -> None:
    """Raise EmbeddingError unless an array has a text, or a count, for each of n words."""
    if array.name == "counts":
        array.check("iu", 1, "whole numbers of shape (n,)")
    else:
        array.check("US", 1, "text of shape (n,)")
    if array.shape[0] != n:
        raise EmbeddingError(array.path, f"{array.shape[0]} {array.name}, but {n} vectors")
    if array.dtype.itemsize > MAX_WORD * (4 if array.dtype.kind == "U" else 1):
        raise array.error("words longer than 1 MB")


def _listed(array: _Array, texts: NDArray[Any]) -> list[bytes | str]:
    try:
        return texts.tolist()  # type: ignore[no-any-return]
    except (ValueError, UnicodeDecodeError):
        raise array.error("not valid Unicode") from None


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
