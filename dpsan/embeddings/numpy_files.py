"""numpy's ``.npz`` files.

::

    NAME.npz        = zip of vectors.npy (n, d) and words.npy (n,), type <U or |S, and, if they are
                      known, counts.npy (n,), whole numbers: occurrences in public text, and
                      spellings.npy (n,), like words.npy: each word as it is usually written, the
                      same but for capital letters (what ``dpsan train`` writes has both)

numpy reads the headers, literals of Python that are never evaluated.  Object arrays are pickles
and refused.  The data are read before the shape is believed, so one that lies allocates nothing.
"""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from dpsan.embeddings.files import MAX_WORD, Rows, check_dimensions, refuse
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


def _array(archive: zipfile.ZipFile, path: Path, name: str) -> NDArray[Any]:
    """Return an array.  Raises EmbeddingError: there is none, or not one of its kind."""

    def wrong(message: str, hint: str = "") -> EmbeddingError:
        return EmbeddingError(path, f"{name}.npy: {message}", hint)

    try:
        info = archive.getinfo(f"{name}.npy")
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise wrong("unknown compression")
        member: Any = Bounded(archive.open(info), path, info.compress_size)
    except KeyError:
        raise EmbeddingError(path, f"no array '{name}'") from None
    except _ZIP_ERRORS:
        raise EmbeddingError(path, "damaged zip file") from None
    stream = io.BufferedReader(member)
    try:
        version = npy.read_magic(stream)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, columns_first, dtype = read(stream)
    except EmbeddingError:
        raise
    except Exception:  # noqa: BLE001 - what Python's parser raises for a header of anybody's
        raise wrong("not a numpy array") from None
    if dtype.hasobject:
        raise refuse(path)
    kinds, dimensions, wanted = _EXPECTED[name]
    if columns_first and len(shape) == 2:
        raise wrong("columns first", "save numpy.ascontiguousarray(vectors)")
    if dtype.kind not in kinds or len(shape) != dimensions or min(shape) < 0:
        raise wrong(f"expected {wanted}")
    if dtype.itemsize > MAX_WORD * (4 if dtype.kind == "U" else 1):
        raise wrong("words longer than 1 MB")
    data, size = stream.read(), math.prod(shape) * dtype.itemsize
    if len(data) != size:
        raise wrong(f"{len(data)} bytes, expected {size}")
    return np.frombuffer(data, dtype=dtype).reshape(shape)


def read_npz(stream: io.BufferedReader, path: Path, limit: int | None) -> Rows:
    """Read the first ``limit`` usable rows of a seekable stream.

    Raises:
        EmbeddingError: the file is malformed.
    """
    with open_zip(stream, path) as archive:
        there = {name.removesuffix(".npy") for name in archive.namelist()}
        names = ["vectors", "words", *sorted(there & {"counts", "spellings"})]
        arrays = {name: _array(archive, path, name) for name in names}
    vectors = arrays.pop("vectors")
    n, d = vectors.shape
    check_dimensions(path, d)
    columns: dict[str, list[Any]] = {}
    for name, array in arrays.items():
        if len(array) != n:
            raise EmbeddingError(path, f"{len(array)} {name}, but {n} vectors")
        if name == "counts" and not ((array >= 0) & (array < _MOST)).all():
            raise EmbeddingError(path, "counts.npy: expected counts from 0 to below 10^15")
        try:
            columns[name] = array.tolist()
        except ValueError:
            raise EmbeddingError(path, f"{name}.npy: not valid Unicode") from None
    rows = Rows(path, d, limit)
    rows.add(columns.pop("words"), vectors, **columns)
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
