"""numpy's files: ``.npy`` with a file of words beside it, and ``.npz``.

::

    NAME.npy        = array (n, d), see numpy_array
    words           = (word *LF*){n}           in NAME.words.txt or NAME.txt (or these with .gz)
    NAME.npz        = zip of vectors.npy (n, d) and words.npy (n,), type <U or |S

Knows where words and vectors are.  Must not know which rows are usable.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from dpsan.embeddings.files import MAX_WORD, Bounded, Lines, Source
from dpsan.embeddings.numpy_array import MAGIC, Array, open_array
from dpsan.embeddings.rows import Rows, check_dimensions
from dpsan.errors import EmbeddingError

__all__ = ["MAGIC", "open_zip", "read_npy", "read_npz"]

_BLOCK: Final = 4 << 20
"""Bytes read at a time."""
_ZIP_ERRORS: Final = (
    zipfile.BadZipFile,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,  # encrypted
    ValueError,
)


def _vectors(stream: Source, path: Path, name: str) -> Array:
    array = open_array(stream, path, name)
    if len(array.shape) != 2 or array.dtype.kind not in "fiu" or array.dtype.itemsize > 8:
        raise EmbeddingError(path, f"{name}expected real numbers of shape (n, d)")
    check_dimensions(path, array.shape[1])
    return array


def read_npy(stream: io.BufferedReader, path: Path, limit: int | None, words: Lines) -> Rows:
    """Read the first ``limit`` usable rows, their words from ``words``.

    Raises:
        EmbeddingError: one of the files is malformed, or they disagree.
    """
    array = _vectors(stream, path, "")
    n, d = array.shape
    rows = Rows(path, d, limit)
    at = 0
    while at < n and not rows.full:
        count = min(rows.room(max(1, _BLOCK // array.row_bytes)), n - at)
        block = array.rows(at, count)
        rows.add(list(_words(words, count, n)), block)
        at += count
    if not rows.full:
        _require_end(array)
        if not words.only_blank():
            raise EmbeddingError(
                words.path, f"more words than the {n} vectors", line=words.number + 1
            )
    return rows


def _words(words: Lines, count: int, n: int) -> Iterator[bytes]:
    for _ in range(count):
        line = words.read()
        if not line:
            raise EmbeddingError(
                words.path, f"the file ends, expected {n} words", line=words.number + 1
            )
        yield line.removesuffix(b"\n").removesuffix(b"\r")


def _require_end(array: Array) -> None:
    if array.stream.read(1):
        raise EmbeddingError(
            array.path, f"{array.name}more data than the header's {array.shape[0]} rows"
        )


def read_npz(stream: io.BufferedReader, path: Path, limit: int | None) -> Rows:
    """Read the first ``limit`` usable rows of a seekable stream.

    Raises:
        EmbeddingError: the file is malformed.
    """
    with open_zip(stream, path) as archive:
        vectors = _vectors(_member(archive, path, "vectors.npy"), path, "vectors.npy: ")
        words = open_array(_member(archive, path, "words.npy"), path, "words.npy: ")
        return _read_both(vectors, words, limit)


def open_zip(stream: io.BufferedReader, path: Path) -> zipfile.ZipFile:
    """The zip file in a seekable stream.

    Raises:
        EmbeddingError: it is damaged.
    """
    try:
        return zipfile.ZipFile(stream)
    except _ZIP_ERRORS:
        raise EmbeddingError(path, "damaged zip file") from None


def _read_both(vectors: Array, words: Array, limit: int | None) -> Rows:
    path = vectors.path
    n, d = vectors.shape
    if len(words.shape) != 1 or words.dtype.kind not in "US":
        raise EmbeddingError(path, "words.npy: expected text of shape (n,)")
    if words.shape[0] != n:
        raise EmbeddingError(path, f"{words.shape[0]} words, but {n} vectors")
    letter = 4 if words.dtype.kind == "U" else 1
    if words.dtype.itemsize > MAX_WORD * letter:
        raise EmbeddingError(path, "words.npy: words longer than 1 MB")
    rows = Rows(path, d, limit)
    largest = max(vectors.row_bytes, words.row_bytes, 1)
    at = 0
    while at < n and not rows.full:
        count = min(rows.room(max(1, _BLOCK // largest)), n - at)
        block = vectors.rows(at, count)
        names = words.rows(at, count)
        try:
            listed = names.tolist()
        except (ValueError, UnicodeDecodeError):
            raise EmbeddingError(path, "words.npy: not valid Unicode") from None
        rows.add(listed, block)
        at += count
    if not rows.full:
        _require_end(vectors)
        _require_end(words)
    return rows


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
    return io.BufferedReader(Bounded(member, path, info.compress_size), _BLOCK)
