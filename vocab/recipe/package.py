"""The files of a vocabulary: words.tsv, vectors.npy, manifest.json.

A row of words.tsv is a word, its count and its usual spelling, empty where that is the word itself.

Knows the format only.  No pickle; the manifest carries a SHA-256 of each file.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.training.shaping import distinct_half_precision

__all__ = ["distinct_half_precision", "read_package", "write_package", "write_spellings"]

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
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    digest = hashlib.sha256((folder / "words.tsv").read_bytes()).hexdigest()
    manifest["sha256"]["words.tsv"] = digest
    _write_manifest(folder, manifest)


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
    rows = [
        line.split("\t") for line in (folder / "words.tsv").read_text(encoding="utf-8").splitlines()
    ]
    vectors = np.load(folder / "vectors.npy", allow_pickle=False).astype(np.float32)
    return [row[0] for row in rows], [int(row[1]) for row in rows], vectors
