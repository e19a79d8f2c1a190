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
_EXPECTED: Final = {
    "vectors": ("fiu", 2, "real numbers of shape (n, d)"),
    "words": ("US", 1, "text of shape (n,)"),
    "counts": ("iu", 1, "whole numbers of shape (n,)"),
    "spellings": ("US", 1, "text of shape (n,)"),
}
"""Kinds of values of each array, and the number of its dimensions."""


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

    def error(self, message: str, hint: str = "") -> EmbeddingError:
        """Return an error of this array."""
        return EmbeddingError(self.path, f"{self.name}.npy: {message}", hint)

    def rows(self, first: int, count: int) -> NDArray[Any]:
        """Return the next ``count`` rows, which start at row ``first``."""
        data = self.stream.read(count * self.row_bytes)
        if len(data) < count * self.row_bytes:
            there = first + len(data) // self.row_bytes
            raise self.error(f"the file ends after {there} of {self.shape[0]} rows")
        return np.frombuffer(data, dtype=self.dtype).reshape(count, *self.shape[1:])

    def texts(self, rows: NDArray[Any]) -> list[bytes | str]:
        """Return the texts in some rows."""
        try:
            return rows.tolist()  # type: ignore[no-any-return]
        except (ValueError, UnicodeDecodeError):
            raise self.error("not valid Unicode") from None


def _opened(archive: zipfile.ZipFile, path: Path, name: str) -> _Array:
    """Read the header of an array.  Raises EmbeddingError: there is none, or not one of its
    kind.
    """
    try:
        info = archive.getinfo(f"{name}.npy")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise EmbeddingError(path, f"{name}.npy: unknown compression")
        member: Any = Bounded(archive.open(info), path, info.compress_size)
    except KeyError:
        raise EmbeddingError(path, f"no array '{name}'") from None
    except _ZIP_ERRORS:
        raise EmbeddingError(path, "damaged zip file") from None
    stream = io.BufferedReader(member, BLOCK)
    try:
        version = npy.read_magic(stream)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, columns_first, dtype = read(stream)
    except EmbeddingError:
        raise
    except Exception:  # noqa: BLE001 - what Python's parser raises for a header of anybody's
        raise EmbeddingError(path, f"{name}.npy: not a numpy array") from None
    if dtype.hasobject:
        raise refuse(path)
    array, (kinds, dimensions, wanted) = _Array(stream, path, name, dtype, shape), _EXPECTED[name]
    if columns_first and len(shape) == 2:
        raise array.error("columns first", "save numpy.ascontiguousarray(vectors)")
    if dtype.kind not in kinds or len(shape) != dimensions or min(shape) < 0:
        raise array.error(f"expected {wanted}")
    if dtype.itemsize > MAX_WORD * (4 if dtype.kind == "U" else 1):
        raise array.error("words longer than 1 MB")
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
        n, d = arrays["vectors"].shape
        check_dimensions(path, d)
        for name, array in arrays.items():
            if array.shape[0] != n:
                raise EmbeddingError(path, f"{array.shape[0]} {name}, but {n} vectors")
        rows = Rows(path, d, limit)
        for at, count in rows.blocks(n, max(1, *(array.row_bytes for array in arrays.values()))):
            block: dict[str, Any] = {name: array.rows(at, count) for name, array in arrays.items()}
            for name in block.keys() & {"words", "spellings"}:
                block[name] = arrays[name].texts(block[name])
            if "counts" in block:
                if not ((block["counts"] >= 0) & (block["counts"] < _MOST)).all():
                    raise arrays["counts"].error("expected counts from 0 to below 10^15")
                block["counts"] = block["counts"].tolist()
            rows.add(**block)
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
