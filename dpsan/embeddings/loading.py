"""Loading embedding files: open, find out the format, read, sum up."""

import hashlib
import io
import json
import os
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.files import Rows, check_dimensions, digest_of, open_embeddings, refuse
from dpsan.embeddings.readers import header, is_number, read_binary, read_npz, read_text
from dpsan.embeddings.words import WATCH, Embeddings, Progress, no_progress, read_classes
from dpsan.errors import EmbeddingError, GensimMissingError, Hint, UsageError
from dpsan.errors import reason as os_reason
from dpsan.files.compression import unpack

# Finding out what a file is, by how its content begins.
#
# ::
#
#     1F 8B                       gzip of any of the following (seen to by the caller)
#     PK                          zip: .npz, or PyTorch
#     80 02 ... 80 05             pickle; also by name: .kv .model .pkl .pickle .pt .pth, whatever
#                                 the content, as the oldest pickles are text
#     BA 16 4F 2F                 fastText .bin
#     N SP D LF                   word2vec: text if a line ends in numbers, else binary
#     anything else               GloVe

GZIP: Final = b"\x1f\x8b"
_PICKLE_NAMES: Final = frozenset({".kv", ".model", ".pkl", ".pickle", ".pt", ".pth"})
_PICKLE: Final = re.compile(rb"\x80[\x02-\x05]|[\]}(]q\x00")
_OLD_PICKLE: Final = re.compile(rb"\(?(c[\w.]+\n[\w.]+\n|\(?[dl]p[0-9]+\n|i[\w.]+\n[\w.]+\n)")
_ROWS: Final = (Path(__file__).parent / "other_files.tsv").read_text("utf-8").splitlines()[1:]
_OTHER: Final = {bytes.fromhex(start): told for start, *told in (row.split("\t") for row in _ROWS)}
"""How files of other kinds begin, their names, and what to do."""


Reader = Callable[[io.BufferedReader, Path, int | None], Rows]
"""Reads the first usable rows of a stream; the path is for messages."""


def sniff(head: bytes, path: Path) -> Reader | None:
    """Return the reader of a file that begins with ``head`` (a MB is enough); None for a pickle.

    That of ``.npz`` stands for any zip file.

    Raises:
        EmbeddingError: no embedding file starts so.
    """
    if not head:
        raise EmbeddingError(path, "empty file")
    unpacked = Path(path.name.lower().removesuffix(".gz"))
    if unpacked.suffix in _PICKLE_NAMES or _PICKLE.match(head):
        return None
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return read_npz
    if head.startswith(GZIP):
        raise EmbeddingError(path, "compressed twice", "gunzip it once")
    for start, (name, hint) in _OTHER.items():
        if head.startswith(start):
            raise EmbeddingError(path, f"{name} is not read", hint)
    if _OLD_PICKLE.match(head):
        return None
    first, _, body = head.removeprefix(b"\xef\xbb\xbf").partition(b"\n")
    sizes = header(first)
    return read_text if sizes is None or _is_text(body, sizes[1]) else read_binary


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


def load(path: Path | str | None = None, *, vocab_size: int | None = None) -> Embeddings:
    """Load the first ``vocab_size`` usable rows of a file, or of the default vocabulary.

    Raises:
        EmbeddingError: the file cannot be used.
        ExtraMissingError: its format needs an extra.
        UsageError: ``vocab_size`` is below 1.
    """
    if vocab_size is not None and vocab_size < 1:
        raise UsageError(f"vocab_size must be >= 1 (got {vocab_size})")
    if path is None:
        return load_bundled(vocab_size=vocab_size)
    path = Path(path)
    with WATCH.get()("reading vectors") as progress, _opened(path, progress) as (stream, reader):
        if reader is None:
            raise refuse(path)
        before = _state(path)
        digest = digest_of([path], vocab_size)
        rows = reader(stream, path, vocab_size)
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
    return digest_of(_files(Path(path)), vocab_size)


def files_of(path: Path | None) -> list[Path]:
    """Return all files that ``load`` would read; one that cannot be read stands alone."""
    try:
        return sorted(directory().iterdir()) if path is None else _files(path)
    except (EmbeddingError, OSError):
        return [path] if path else []


@contextmanager
def _opened(
    path: Path, progress: Progress = no_progress
) -> Iterator[tuple[io.BufferedReader, Reader | None]]:
    """Yield the decompressed stream of a file, and its reader; troubles of the system get its
    name.
    """
    try:
        with ExitStack() as stack:
            file = stream = stack.enter_context(open_embeddings(path, progress))
            if file.peek(2)[:2] == GZIP:
                size = os.fstat(file.fileno()).st_size
                stream = stack.enter_context(unpack(file, path, size))
            reader = sniff(stream.peek(), path)
            if reader is read_npz and stream is not file:  # it would need a file to seek in
                raise EmbeddingError(path, "compressed twice", "gunzip it once")
            yield stream, reader
    except MemoryError:
        raise EmbeddingError(path, "does not fit into memory", _FEWER) from None
    except OSError as error:
        raise EmbeddingError(path, os_reason(error).lower()) from None


def _files(path: Path) -> list[Path]:
    """Return the file and those that belong to it."""
    with _opened(path) as (_, reader):
        return [path] if reader else parts(path)


def _state(path: Path) -> tuple[int, int, int]:
    state = path.stat()
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
    rows.add(words, vectors, **({} if counts is None else {"counts": counts}))
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
            counts = [int(count) for count in counts] if len(counts) == len(words) else None
        return np.asarray(loaded.vectors), words, counts
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - the code of a pickle may raise anything
        raise EmbeddingError(path, "not gensim KeyedVectors or a model with them") from None


# The default vocabulary, a directory ``en`` that comes with dpsan.
#
# ::
#
#     manifest.json   {"format": 1, "name": ..., "words": n, "dimensions": d,
#                      "sha256": {"words.tsv": HEX, "vectors.npy": HEX, "classes.tsv": HEX}, ...}
#     words.tsv       (word *TAB* count *TAB* usual spelling *LF*){n}, most frequent first; a
#                     spelling that is the word itself is empty; without any, the second *TAB* is
#                     left out too
#     vectors.npy     little-endian float16 (n, d)
#     classes.tsv     (word *TAB* class *LF*)*, see words.read_classes; may be missing
#     tables/NAME.npz derived tables that take long to make, of the whole vocabulary
#     capitals.tsv    (word *TAB* spelling *TAB* places *LF*)*: where a small word has a capital,
#                     see text.letter_case; may be missing
#     language.npz    a trigram model of public text, see outcomes.ngrams; may be missing
#
# Every file is checked against the manifest when it is read, so its hashes stand for the content:
# the digest is made of those of words, vectors and classes.

_GIVE: Final = Hint("give embeddings=FILE", "give --embeddings FILE")
_SOURCE: Final = "bundled:en"
_DIGESTED: Final = ("words.tsv", "vectors.npy", "classes.tsv")
"""Files of which the digest is made; a vocabulary may lack the last one."""
LANGUAGE: Final = "language.npz"
_CAPITALS: Final = "capitals.tsv"


def directory() -> Path:
    """Return the folder of the default vocabulary, in the installed package or the source checkout.

    Raises:
        EmbeddingError: neither has one.
    """
    package = Path(__file__).resolve().parent.parent
    for folder in (package / "_vocab" / "en", package.parent / "vocab" / "en"):
        if (folder / "manifest.json").is_file():
            return folder
    raise EmbeddingError(_SOURCE, "the default vocabulary is missing", _GIVE)


def bundled_digest(*, vocab_size: int | None = None, folder: Path | None = None) -> str:
    """SHA-256 (hex) of the manifest's hashes and ``vocab_size``.

    Raises:
        EmbeddingError: the manifest is missing or damaged.
    """
    hashes = _manifest(folder or directory())["sha256"]
    return digest_of([hashes[name] for name in _DIGESTED if name in hashes], vocab_size)


def load_bundled(*, vocab_size: int | None = None, folder: Path | None = None) -> Embeddings:
    """Load the default vocabulary, vectors (n, d) widened to float32, with counts.

    Raises:
        EmbeddingError: a file is missing or differs from the manifest.
    """
    # The hashes have vouched for all bytes: what they say is not checked a second time.
    lines, vectors, listed = (_file(name, folder) for name in _DIGESTED)
    halves = np.load(io.BytesIO(vectors or b""), allow_pickle=False)
    words, counts, spellings = _words(lines or b"")
    row_of = {word: row for row, word in enumerate(words)}
    return Embeddings(
        index_to_key=words[:vocab_size],
        vectors=halves[:vocab_size].astype(np.float32),
        source=_SOURCE,
        digest=bundled_digest(vocab_size=vocab_size, folder=folder),
        counts=counts[:vocab_size],
        spellings=spellings[:vocab_size],
        english=True,
        classes=None if listed is None else read_classes(listed, row_of)[:vocab_size],
    )


def bundled_table(name: str, *, folder: Path | None = None) -> dict[str, NDArray[Any]] | None:
    """Return a derived table that comes with the whole default vocabulary; None if this one does
    not.

    Raises:
        EmbeddingError: the table is missing or differs from the manifest.
    """
    if (data := _file(f"tables/{name}.npz", folder)) is None:
        return None
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return dict(arrays)


def bundled_language_model() -> bytes | None:
    """Return the file of the language model of the whole default vocabulary; None if it has none.

    Raises:
        EmbeddingError: the file is missing or differs from the manifest.
    """
    return _file(LANGUAGE)


def bundled_capitals() -> list[list[str]]:
    """Return word, spelling and places of each small word that has a capital in some of them.

    Raises:
        EmbeddingError: the file is missing or differs from the manifest.
    """
    return [line.split("\t") for line in (_file(_CAPITALS) or b"").decode().splitlines()]


def _file(name: str, folder: Path | None = None) -> bytes | None:
    """Return a file of a vocabulary; None if it has none.  Raises EmbeddingError: it is damaged."""
    folder = folder or directory()
    hashes = _manifest(folder)["sha256"]
    if name not in hashes:
        return None
    try:
        data = (folder / name).read_bytes()
    except OSError:
        raise _damaged(name) from None
    if hashlib.sha256(data).hexdigest() != hashes[name]:
        raise _damaged(name)
    return data


def _damaged(name: str) -> EmbeddingError:
    return EmbeddingError(_SOURCE, f"{name} is damaged", "reinstall dpsan")


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads((folder / "manifest.json").read_bytes())
        valid = manifest["format"] == 1 and {"words.tsv", "vectors.npy"} <= {*manifest["sha256"]}
    except (OSError, ValueError, LookupError, TypeError):
        valid = False
    if not valid:
        raise _damaged("manifest.json")
    return manifest


def _words(data: bytes) -> tuple[list[str], NDArray[np.int64], list[str]]:
    """Return words, counts and usual spellings; an empty spelling stands for the word itself."""
    columns = 1 + data[: data.find(b"\n")].count(b"\t")
    fields = data.removesuffix(b"\n").replace(b"\n", b"\t").decode().split("\t")
    words, counts = fields[::columns], np.array(fields[1::columns]).astype(np.int64)
    usual = fields[2::3] if columns == 3 else words
    return words, counts, [spelling or word for word, spelling in zip(words, usual, strict=True)]
