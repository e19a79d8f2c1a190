"""The default vocabulary, a directory ``en`` that comes with dpsan.

::

    manifest.json   {"format": 1, "name": ..., "words": n, "dimensions": d,
                     "sha256": {"words.tsv": HEX, "vectors.npy": HEX, "classes.tsv": HEX}, ...}
    words.tsv       (word *TAB* count *TAB* usual spelling *LF*){n}, most frequent first; a spelling
                    that is the word itself is empty; without any, the second *TAB* is left out too
    vectors.npy     little-endian float16 (n, d)
    classes.tsv     (word *TAB* class *LF*)*, see base.read_classes; may be missing
    tables/NAME.npz derived tables that take long to make, of the whole vocabulary
    capitals.tsv    (word *TAB* spelling *TAB* places *LF*)*: where a small word has a capital, see
                    text.letter_case; may be missing
    language.npz    a trigram model of public text, see outcomes.language.ngrams; may be missing

Every file is checked against the manifest when it is read, so its hashes stand for the content: the
digest is made of those of words, vectors and classes.
"""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.base import Embeddings, read_classes
from dpsan.embeddings.files import digest_of
from dpsan.errors import EmbeddingError, Hint

_GIVE: Final = Hint("give embeddings=FILE", "give --embeddings FILE")
_SOURCE: Final = "bundled:en"
_CLASSES: Final = "classes.tsv"
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
    names = ("words.tsv", "vectors.npy", _CLASSES)
    return digest_of([hashes[name] for name in names if name in hashes], vocab_size)


def load_bundled(*, vocab_size: int | None = None, folder: Path | None = None) -> Embeddings:
    """Load the default vocabulary, vectors (n, d) widened to float32, with counts.

    Raises:
        EmbeddingError: a file is missing or differs from the manifest.
    """
    folder = folder or directory()
    manifest = _manifest(folder)
    # The hashes have vouched for all bytes: what they say is not checked a second time.
    halves = np.load(io.BytesIO(_checked(folder, manifest, "vectors.npy")), allow_pickle=False)
    words, counts, spellings = _words(_checked(folder, manifest, "words.tsv"))
    listed, row_of = _optional(_CLASSES, folder), {word: row for row, word in enumerate(words)}
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
    if (data := _optional(f"tables/{name}.npz", folder)) is None:
        return None
    with np.load(io.BytesIO(data), allow_pickle=False) as arrays:
        return dict(arrays)


def bundled_language_model() -> bytes | None:
    """Return the file of the language model of the whole default vocabulary; None if it has none.

    Raises:
        EmbeddingError: the file is missing or differs from the manifest.
    """
    return _optional(LANGUAGE)


def bundled_capitals() -> list[list[str]]:
    """Return word, spelling and places of each small word that has a capital in some of them.

    Raises:
        EmbeddingError: the file is missing or differs from the manifest.
    """
    return [line.split("\t") for line in (_optional(_CAPITALS) or b"").decode().splitlines()]


def _optional(name: str, folder: Path | None = None) -> bytes | None:
    """Return a file that a vocabulary may have.  Raises EmbeddingError: it is damaged."""
    folder = folder or directory()
    manifest = _manifest(folder)
    return _checked(folder, manifest, name) if name in manifest["sha256"] else None


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


def _checked(folder: Path, manifest: dict[str, Any], name: str) -> bytes:
    try:
        data = (folder / name).read_bytes()
    except OSError:
        raise _damaged(name) from None
    if hashlib.sha256(data).hexdigest() != manifest["sha256"][name]:
        raise _damaged(name)
    return data


def _words(data: bytes) -> tuple[list[str], NDArray[np.int64], list[str]]:
    """Return words, counts and usual spellings; an empty spelling stands for the word itself."""
    columns = 1 + data[: data.find(b"\n")].count(b"\t")
    fields = data.removesuffix(b"\n").replace(b"\n", b"\t").decode().split("\t")
    words, counts = fields[::columns], np.array(fields[1::columns]).astype(np.int64)
    usual = fields[2::3] if columns == 3 else words
    return words, counts, [spelling or word for word, spelling in zip(words, usual, strict=True)]
