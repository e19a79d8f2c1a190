"""The files of a vocabulary: words.tsv, vectors.npy, classes.tsv, manifest.json.

A row of words.tsv is a word, its count and its usual spelling, empty where that is the word itself.
A row of classes.tsv is a word and its class.

Knows the format only.  No pickle; the manifest carries a SHA-256 of each file.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Collection, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.training import distinct_half_precision

__all__ = [
    "distinct_half_precision",
    "drop_words",
    "read_package",
    "read_spellings",
    "record_file",
    "write_classes",
    "write_package",
    "write_spellings",
]

_FORMAT: Final = 1


def write_package(
    folder: Path,
    words: Sequence[str],
    counts: Sequence[int],
    spellings: Sequence[str],
    vectors: NDArray[np.float16],
    about: Mapping[str, Any],
) -> dict[str, Any]:
    """Write the three files; `about` adds settings, seed and sources.  Returns the manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    _write_words(folder, words, counts, spellings)
    np.save(folder / "vectors.npy", np.ascontiguousarray(vectors, dtype="<f2"), allow_pickle=False)
    manifest = {
        "format": _FORMAT,
        "name": "en",
        "words": len(words),
        "dimensions": int(vectors.shape[1]),
        "sha256": {
            name: hashlib.sha256((folder / name).read_bytes()).hexdigest()
            for name in ("words.tsv", "vectors.npy")
        },
        **about,
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("gensim", "numpy", "scipy", "regex")},
        },
        "licence": "CC BY-SA 4.0",
    }
    _write_manifest(folder, manifest)
    return manifest


def write_spellings(folder: Path, spellings: Sequence[str]) -> None:
    """Give the words of a vocabulary their usual spellings; all else stays as it is."""
    words, counts, _ = read_package(folder)
    _write_words(folder, words, counts, spellings)
    _hash_again(folder, "words.tsv")


def drop_words(folder: Path, unwanted: Collection[str]) -> None:
    """Remove words with their vectors.  Tables go too, if rows move: they hold row numbers."""
    words, counts, vectors = read_package(folder)
    usual = read_spellings(folder)
    keep = [row for row, word in enumerate(words) if word not in unwanted]
    if len(keep) == len(words):
        return
    kept = [words[row] for row in keep]
    _write_words(folder, kept, [counts[row] for row in keep], [usual[word] for word in kept])
    np.save(folder / "vectors.npy", vectors[keep].astype("<f2"), allow_pickle=False)
    for table in (folder / "tables").glob("*.npz"):
        table.unlink()
    _hash_again(folder, "words.tsv", "vectors.npy", words=len(kept))


def write_classes(folder: Path, classes: Mapping[str, str]) -> None:
    """Write the class of each word that has one, in the order of the vocabulary."""
    words, _, _ = read_package(folder)
    rows = (f"{word}\t{classes[word]}\n" for word in words if word in classes)
    (folder / "classes.tsv").write_bytes("".join(rows).encode("utf-8"))
    _hash_again(folder, "classes.tsv")


def record_file(folder: Path, name: str) -> None:
    """Put the digest of a new or changed file into the manifest."""
    _hash_again(folder, name)


def _hash_again(folder: Path, *names: str, **about: Any) -> None:
    """Put the digests of changed files into the manifest; forget those of files that are gone."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    hashes = manifest["sha256"]
    for name in names:
        hashes[name] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
    manifest["sha256"] = {name: hashes[name] for name in hashes if (folder / name).exists()}
    _write_manifest(folder, manifest | about)


def _write_words(
    folder: Path, words: Sequence[str], counts: Sequence[int], spellings: Sequence[str]
) -> None:
    rows = (
        f"{word}\t{count}\t{'' if spelling == word else spelling}\n"
        for word, count, spelling in zip(words, counts, spellings, strict=True)
    )
    (folder / "words.tsv").write_bytes("".join(rows).encode("utf-8"))


def _write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (folder / "manifest.json").write_text(text, encoding="utf-8")


def read_package(folder: Path) -> tuple[list[str], list[int], NDArray[np.float32]]:
    """Words, counts and float32 vectors of a folder, its digests checked."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    for name, digest in manifest["sha256"].items():
        if hashlib.sha256((folder / name).read_bytes()).hexdigest() != digest:
            raise ValueError(f"{folder / name} does not have the digest of its manifest")
    rows = _rows(folder)
    vectors = np.load(folder / "vectors.npy", allow_pickle=False).astype(np.float32)
    return [row[0] for row in rows], [int(row[1]) for row in rows], vectors


def read_spellings(folder: Path) -> dict[str, str]:
    """How each word of a folder is usually written."""
    return {row[0]: row[2] or row[0] for row in _rows(folder)}


def _rows(folder: Path) -> list[list[str]]:
    text = (folder / "words.tsv").read_text(encoding="utf-8")
    return [line.split("\t") for line in text.splitlines()]
