"""Loading embedding files: open, find out the format, read, sum up."""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from enum import Enum, auto
from pathlib import Path
from typing import Any, Final

import numpy as np

from dpsan.embeddings import numpy_files
from dpsan.embeddings.base import Embeddings, Progress, Watch, no_progress, unseen
from dpsan.embeddings.bundled import bundled_digest, directory, load_bundled
from dpsan.embeddings.files import Rows, check_dimensions, digest_of, open_embeddings, refuse
from dpsan.embeddings.text_rows import header, is_number, read_binary, read_glove, read_word2vec
from dpsan.errors import EmbeddingError, GensimMissingError, Hint, UsageError
from dpsan.errors import reason as os_reason
from dpsan.files.compression import unpack

# Finding out what a file is, by how its content begins.
#
# ::
#
#     1F 8B                       gzip of any of the following (seen to by the caller)
#     PK                          zip: .npz if it holds vectors.npy, PyTorch if data.pkl
#     80 02 ... 80 05             pickle; also by name: .kv .model .pkl .pickle .pt .pth, whatever
#                                 the content, as the oldest pickles are text
#     BA 16 4F 2F                 fastText .bin
#     N SP D LF                   word2vec: text if a line ends in numbers, else binary
#     anything else               GloVe

GZIP: Final = b"\x1f\x8b"
_PICKLE_NAMES: Final = frozenset({".kv", ".model", ".pkl", ".pickle", ".pt", ".pth"})
_PICKLE: Final = re.compile(rb"\x80[\x02-\x05]|[\]}(]q\x00")
_OLD_PICKLE: Final = re.compile(rb"\(?(c[\w.]+\n[\w.]+\n|\(?[dl]p[0-9]+\n|i[\w.]+\n[\w.]+\n)")
_FASTTEXT: Final = (793712314).to_bytes(4, "little")
"""First bytes of fastText's ``.bin``. Its vectors are sums of n-grams; ``.vec`` holds the sums."""
_OTHER: Final = {
    _FASTTEXT: "fastText .bin",
    numpy_files.MAGIC: ".npy, which has no words,",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\x89HDF": "HDF5",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
}
_HINTS: Final = {
    _FASTTEXT: "use the .vec, or: fasttext print-word-vectors MODEL.bin < WORDS > MODEL.vec",
    numpy_files.MAGIC: "save it by numpy.savez(PATH, words=words, vectors=vectors)",
}


class Kind(Enum):
    """The formats; NPZ stands for any zip file until its names are known."""

    WORD2VEC_TEXT = auto()
    WORD2VEC_BINARY = auto()
    GLOVE = auto()
    NPZ = auto()
    PICKLE = auto()


def sniff(head: bytes, path: Path) -> Kind:
    """Return the kind of a file that begins with ``head`` (a MB is enough).

    Raises:
        EmbeddingError: no embedding file starts so.
    """
    if not head:
        raise EmbeddingError(path, "empty file")
    unpacked = Path(path.name.lower().removesuffix(".gz"))
    if unpacked.suffix in _PICKLE_NAMES or _PICKLE.match(head):
        return Kind.PICKLE
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return Kind.NPZ
    if head.startswith(GZIP):
        raise EmbeddingError(path, "compressed twice", "gunzip it once")
    for start, name in _OTHER.items():
        if head.startswith(start):
            hint = _HINTS.get(start, "convert it to plain text or .gz")
            raise EmbeddingError(path, f"{name} is not read", hint)
    if _OLD_PICKLE.match(head):
        return Kind.PICKLE
    first, _, body = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")
    sizes = header(first)
    if sizes is None:
        return Kind.GLOVE
    return Kind.WORD2VEC_TEXT if _is_text(body, sizes[1]) else Kind.WORD2VEC_BINARY


def _is_text(body: bytes, d: int) -> bool:
    """Return True if the rows after a word2vec header are text."""
    # Four fields that are numbers at the end of a line do not occur in float32 by chance.
    fields = max(1, min(d, 4))
    for line in body.split(b"\n", 50)[:50]:
        word, *last = line.rsplit(None, fields) or [b""]
        if word and len(last) == fields and all(map(is_number, last)):
            return True
    return not re.search(rb"[\x00-\x08\x0e-\x1f]", body[:4096])


_FEWER: Final = Hint("try vocab_size=N", "try --vocab-size N")
_READERS: Final = {
    Kind.WORD2VEC_TEXT: read_word2vec,
    Kind.WORD2VEC_BINARY: read_binary,
    Kind.GLOVE: read_glove,
    Kind.NPZ: numpy_files.read_npz,
}


def load(path: Path | str | None = None, *, vocab_size: int | None = None) -> Embeddings:
    """Load the first ``vocab_size`` usable rows of a file, or of the default vocabulary.

    Raises:
        EmbeddingError: the file cannot be used.
        ExtraMissingError: its format needs an extra.
        UsageError: ``vocab_size`` is below 1.
    """
    return load_watched(path, vocab_size, unseen)


def load_watched(path: Path | str | None, vocab_size: int | None, watch: Watch) -> Embeddings:
    """Load embeddings as :func:`load` does; ``watch`` shows how much of the file is read."""
    if vocab_size is not None and vocab_size < 1:
        raise UsageError(f"vocab_size must be >= 1 (got {vocab_size})")
    if path is None:
        return load_bundled(vocab_size=vocab_size)
    path = Path(path)
    with watch("reading vectors") as progress, _opened(path, progress) as (stream, kind):
        if kind is Kind.PICKLE:
            raise refuse(path)
        before = _state(path)
        digest = digest_of([path], vocab_size)
        rows = _READERS[kind](stream, path, vocab_size)
        if _state(path) != before:
            raise EmbeddingError(path, "changed while it was read")
        return rows.finish(str(path), digest)


def file_digest(path: Path | str | None, *, vocab_size: int | None = None) -> str:
    """SHA-256 (hex) of the files that ``load`` would read, and of ``vocab_size``: its ``digest``.

    Raises:
        EmbeddingError: the file cannot be read.
    """
    if path is None:
        return bundled_digest(vocab_size=vocab_size)
    path = Path(path)
    with _opened(path) as (_, kind):
        return digest_of(_files(path, kind), vocab_size)


def files_of(path: Path | None) -> list[Path]:
    """Return all files that ``load`` would read; one that cannot be read stands alone."""
    try:
        if path is None:
            return sorted(directory().iterdir())
        with ExitStack() as stack:
            stream, _ = _unpacked(path, stack)
            return _files(path, sniff(stream.peek(), path))
    except (EmbeddingError, OSError):
        return [path] if path else []


@contextmanager
def _opened(
    path: Path, progress: Progress = no_progress
) -> Iterator[tuple[io.BufferedReader, Kind]]:
    """Yield the decompressed stream of a file, and what it is; troubles of the system get its
    name.
    """
    try:
        with ExitStack() as stack:
            stream, packed = _unpacked(path, stack, progress)
            kind = sniff(stream.peek(), path)
            if packed and kind is Kind.NPZ:  # it would need a file to seek in
                raise EmbeddingError(path, "compressed twice", "gunzip it once")
            if kind is Kind.NPZ:
                with numpy_files.open_zip(stream, path) as archive:
                    if any(name.endswith(".pkl") for name in archive.namelist()):
                        kind = Kind.PICKLE  # PyTorch's
            yield stream, kind
    except MemoryError:
        raise EmbeddingError(path, "does not fit into memory", _FEWER) from None
    except OSError as error:
        raise EmbeddingError(path, os_reason(error).lower()) from None


def _unpacked(
    path: Path, stack: ExitStack, progress: Progress = no_progress
) -> tuple[io.BufferedReader, bool]:
    """Return a file's bytes, decompressed if need be, and whether they were compressed."""
    stream = stack.enter_context(open_embeddings(path, progress))
    if stream.peek(2)[:2] != GZIP:
        return stream, False
    packed = os.fstat(stream.fileno()).st_size
    return stack.enter_context(unpack(stream, path, packed)), True


def _files(path: Path, kind: Kind) -> list[Path]:
    """Return the file and those that belong to it."""
    return parts(path) if kind is Kind.PICKLE else [path]


def _state(path: Path) -> tuple[int, int, int]:
    try:
        state = path.stat()
    except OSError:
        raise EmbeddingError(path, "no such file") from None
    return state.st_ino, state.st_size, state.st_mtime_ns


# gensim's own files (``.kv``, ``.model``): pickles, which run whatever code they contain.
#
# ::
#
#     file    = pickle of KeyedVectors, or of a model with a KeyedVectors in ``wv``
#     beside  = FILE.*.npy, arrays that gensim stores apart
#
# Only ``dpsan index --unsafe-pickle`` may call :func:`load_unsafe_pickle`; ``load`` refuses.


def parts(path: Path) -> list[Path]:
    """Return the file and the arrays stored beside it."""
    arrays = path.parent.glob("*.npy")  # none where the folder cannot be read
    return [path, *sorted(file for file in arrays if file.name.startswith(f"{path.name}."))]


def load_unsafe_pickle(path: Path | str, *, vocab_size: int | None = None) -> Embeddings:
    """Load gensim's KeyedVectors or the word vectors of a model; RUNS CODE FROM THE FILE.

    Raises:
        EmbeddingError: not such a file, or no usable row.
    """
    path = Path(path)
    open_embeddings(path).close()
    digest = digest_of(parts(path), vocab_size)
    vectors, words, counts = _unpickle(path)
    if vectors.ndim != 2 or len(words) != len(vectors) or vectors.dtype.kind != "f":
        raise EmbeddingError(path, "words and vectors do not fit together")
    check_dimensions(path, vectors.shape[1])
    rows = Rows(path, vectors.shape[1], vocab_size)
    for at, count in rows.blocks(len(words), vectors.itemsize * vectors.shape[1]):
        part = slice(at, at + count)
        rows.add(words[part], vectors[part], None if counts is None else counts[part])
    return rows.finish(str(path), digest)


def _unpickle(path: Path) -> tuple[Any, list[str], list[int] | None]:
    try:
        from gensim.models import KeyedVectors  # heavy import
    except ImportError:
        raise GensimMissingError("a pickle of vectors") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about old versions; rows are checked below
            loaded: Any = KeyedVectors.load(str(path))
        loaded = getattr(loaded, "wv", loaded)
        words = [str(word) for word in loaded.index_to_key]
        counts = loaded.expandos.get("count")
        if counts is not None:
            counts = [int(each) for each in counts] if len(counts) == len(words) else None
        return np.asarray(loaded.vectors), words, counts
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - the code of a pickle may raise anything
        raise EmbeddingError(path, "not gensim KeyedVectors or a model with them") from None
