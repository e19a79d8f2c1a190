"""numpy's files: ``.npy`` with a file of words beside it, and ``.npz``.

::

    NAME.npy        = array (n, d), see numpy_array
    words           = (word *LF*){n}           in NAME.words.txt or NAME.txt (or these with .gz)
    NAME.npz        = zip of vectors.npy (n, d) and words.npy (n,), type <U or |S, and, if they are
                      known, counts.npy (n,), whole numbers: occurrences in public text, and
                      spellings.npy (n,), like words.npy: each word as it is usually written, the
                      same but for capital letters (what ``dpsan train`` writes has both)
"""

from __future__ import annotations

import io
import zipfile
from itertools import islice
from pathlib import Path
from typing import Final

from dpsan.embeddings.files import MAX_WORD, Lines
from dpsan.embeddings.numpy_array import Array, open_array
from dpsan.embeddings.usable_rows import BLOCK, Rows, check_dimensions
from dpsan.errors import EmbeddingError
from dpsan.files.compression import Bounded, Readable

_MOST: Final = 10**15
_ZIP_ERRORS: Final = (
    zipfile.BadZipFile,
    EOFError,
    NotImplementedError,
    OSError,
    RuntimeError,  # encrypted
    ValueError,
)


def _vectors(stream: Readable, path: Path, name: str) -> Array:
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
    rows, listed = Rows(path, d, limit), words.words()
    for at, count in rows.blocks(n, array.row_bytes):
        vectors, block = array.rows(at, count), list(islice(listed, count))
        if len(block) < count:
            raise EmbeddingError(
                words.path, f"the file ends, expected {n} words", line=words.number + 1
            )
        rows.add(block, vectors)
    if not rows.full:
        _require_end(array)
        if not words.only_blank():
            raise EmbeddingError(
                words.path, f"more words than the {n} vectors", line=words.number + 1
            )
    return rows


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
        more = [
            open_array(_member(archive, path, f"{name}.npy"), path, f"{name}.npy: ")
            if f"{name}.npy" in archive.namelist()
            else None
            for name in ("counts", "spellings")
        ]
        return _read_all(vectors, words, more[0], more[1], limit)


def open_zip(stream: io.BufferedReader, path: Path) -> zipfile.ZipFile:
    """Return the zip file in a seekable stream.

    Raises:
        EmbeddingError: it is damaged.
    """
    try:
        return zipfile.ZipFile(stream)
    except _ZIP_ERRORS:
        raise EmbeddingError(path, "damaged zip file") from None


def _read_all(
    vectors: Array, words: Array, counts: Array | None, spellings: Array | None, limit: int | None
) -> Rows:
    path = vectors.path
    n, d = vectors.shape
    _check_text(words, n)
    if spellings is not None:
        _check_text(spellings, n)
    if counts is not None and (counts.shape != (n,) or counts.dtype.kind not in "iu"):
        raise EmbeddingError(path, "counts.npy: expected whole numbers of shape (n,)")
    arrays = [each for each in (vectors, words, counts, spellings) if each is not None]
    rows = Rows(path, d, limit)
    largest = max(1, *(each.row_bytes for each in arrays))
    for at, count in rows.blocks(n, largest):
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


def _check_text(array: Array, n: int) -> None:
    if len(array.shape) != 1 or array.dtype.kind not in "US":
        raise EmbeddingError(array.path, f"{array.name}expected text of shape (n,)")
    if array.shape[0] != n:
        what = array.name.removesuffix(".npy: ")
        raise EmbeddingError(array.path, f"{array.shape[0]} {what}, but {n} vectors")
    if array.dtype.itemsize > MAX_WORD * (4 if array.dtype.kind == "U" else 1):
        raise EmbeddingError(array.path, f"{array.name}words longer than 1 MB")


def _texts(array: Array, at: int, count: int) -> list[bytes | str]:
    try:
        return array.rows(at, count).tolist()  # type: ignore[no-any-return]
    except (ValueError, UnicodeDecodeError):
        raise EmbeddingError(array.path, f"{array.name}not valid Unicode") from None


def _counts(array: Array, at: int, count: int) -> list[int]:
    found: list[int] = array.rows(at, count).tolist()
    if not all(0 <= each < _MOST for each in found):
        raise EmbeddingError(array.path, f"{array.name}expected counts from 0 to below 10^15")
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
