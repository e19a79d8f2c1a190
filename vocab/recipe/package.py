"""The files of a vocabulary: words.tsv, vectors.npy, manifest.json.

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

__all__ = ["distinct_half_precision", "read_package", "write_package"]

_FORMAT: Final = 1


def distinct_half_precision(
    vectors: NDArray[np.float32], rng: np.random.Generator
) -> NDArray[np.float16]:
    """Rows rounded to float16; rows that coincide are moved apart by the smallest steps.

    Mechanisms on distances need words at positive distance from each other.
    """
    out = vectors.astype("<f2")
    while True:
        _, first = np.unique(out, axis=0, return_index=True)
        again = np.setdiff1d(np.arange(len(out)), first)
        if not len(again):
            break
        noise = rng.normal(0.0, 1e-3, (len(again), vectors.shape[1]))
        out[again] = (vectors[again] + noise).astype("<f2")
    if not np.isfinite(out).all() or not out.any(axis=1).all():
        raise ValueError("a vector is zero or not finite")
    return out


def write_package(
    folder: Path,
    words: Sequence[str],
    counts: Sequence[int],
    vectors: NDArray[np.float16],
    about: Mapping[str, Any],
) -> dict[str, Any]:
    """Write the three files; `about` adds settings, seed and sources.  Returns the manifest."""
    folder.mkdir(parents=True, exist_ok=True)
    table = "".join(f"{word}\t{count}\n" for word, count in zip(words, counts, strict=True))
    (folder / "words.tsv").write_bytes(table.encode("utf-8"))
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
    text = json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
    (folder / "manifest.json").write_text(text, encoding="utf-8")
    return manifest


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
    return [word for word, _ in rows], [int(count) for _, count in rows], vectors
