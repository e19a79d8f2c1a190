"""The same 20 words in every format."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path

import numpy as np

D = 6
WORDS = [*(f"word{i}" for i in range(14)), "New York", ". . .", "été", "日本", "2010", "a_b"]


_PLAIN = (
    "word2vec.txt",
    "fasttext.vec",
    "crlf.txt",
    "bom.txt",
    "tabs.txt",
    "unended.txt",
    "glove.txt",
    "gensim.bin",
    "google.bin",
    "safe.safetensors",
    "beside.safetensors",
    "numpy.npy",
    "double.npy",
    "plain.npz",
    "packed.npz",
    "bytes.npz",
)
FORMATS = (*_PLAIN, *(f"{name}.gz" for name in _PLAIN))


def vectors() -> np.ndarray:
    table = np.random.default_rng(7).normal(size=(len(WORDS), D))
    return np.round(table, 4).astype(np.float32)


def text_rows(words: list[str], table: np.ndarray) -> bytes:
    return b"".join(
        word.encode() + b" " + " ".join(f"{x:.9g}" for x in row).encode() + b"\n"
        for word, row in zip(words, table, strict=True)
    )


def binary_rows(words: list[str], table: np.ndarray, end: bytes = b"") -> bytes:
    return b"".join(
        word.encode() + b" " + row.astype("<f4").tobytes() + end
        for word, row in zip(words, table, strict=True)
    )


def safetensors_bytes(table: np.ndarray, words: list[str] | None) -> bytes:
    head: dict[str, object] = {
        "vectors": {"dtype": "F32", "shape": list(table.shape), "data_offsets": [0, table.nbytes]}
    }
    if words is not None:
        head["__metadata__"] = {"words": "\n".join(words)}
    text = json.dumps(head).encode()
    return struct.pack("<Q", len(text)) + text + table.astype("<f4").tobytes()


def write_all(folder: Path) -> dict[str, Path]:
    """Write the 20 words in every format; the formats by name."""
    table = vectors()
    n = len(WORDS)
    # A word cannot contain a space in binary and tab-separated files.
    plain = [word.replace(" ", "\u00a0") for word in WORDS]
    header = f"{n} {D}\n".encode()
    files = {
        "word2vec.txt": header + text_rows(WORDS, table),
        "fasttext.vec": header + text_rows(WORDS, table).replace(b"\n", b" \n"),
        "crlf.txt": (header + text_rows(WORDS, table)).replace(b"\n", b"\r\n"),
        "bom.txt": b"\xef\xbb\xbf" + header + text_rows(WORDS, table),
        "tabs.txt": header + text_rows(plain, table).replace(b" ", b"\t"),
        "unended.txt": (header + text_rows(WORDS, table))[:-1],
        "glove.txt": text_rows(WORDS, table),
        "gensim.bin": header + binary_rows(plain, table),
        "google.bin": header + binary_rows(plain, table, b"\n"),
        "safe.safetensors": safetensors_bytes(table, WORDS),
        "beside.safetensors": safetensors_bytes(table, None),
    }
    for name, data in files.items():
        (folder / name).write_bytes(data)
    np.save(folder / "numpy.npy", table)
    np.save(folder / "double.npy", table.astype(">f8"))
    np.savez(folder / "plain.npz", words=np.array(WORDS), vectors=table)
    np.savez_compressed(folder / "packed.npz", words=np.array(WORDS), vectors=table)
    encoded = np.array([word.encode() for word in WORDS])
    np.savez(folder / "bytes.npz", words=encoded, vectors=table)
    listed = "".join(f"{word}\n" for word in WORDS).encode()
    (folder / "numpy.words.txt").write_bytes(listed)
    (folder / "double.txt").write_bytes(listed)
    (folder / "beside.words.txt").write_bytes(listed)
    for name in _PLAIN:
        (folder / f"{name}.gz").write_bytes(gzip.compress((folder / name).read_bytes()))
    return {name: folder / name for name in FORMATS}
