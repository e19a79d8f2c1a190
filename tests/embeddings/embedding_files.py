"""The same 20 words in every format."""

import gzip
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np

D = 6
WORDS = [*(f"word{i}" for i in range(14)), "New York", ". . .", "été", "日本", "2010", "a_b"]


def vectors() -> np.ndarray:
    table = np.random.default_rng(7).normal(size=(len(WORDS), D))
    return np.round(table, 4).astype(np.float32)


def text_rows(words: list[str], table: np.ndarray) -> bytes:
    rows = zip(words, table, strict=True)
    return "".join(f"{word} {' '.join(f'{x:.9g}' for x in row)}\n" for word, row in rows).encode()


def binary_rows(words: list[str], table: np.ndarray, end: bytes = b"") -> bytes:
    rows = zip(words, table, strict=True)
    return b"".join(word.encode() + b" " + row.astype("<f4").tobytes() + end for word, row in rows)


def saved(save: Callable[..., None], *arrays: np.ndarray, **named: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    save(buffer, *arrays, **named)
    return buffer.getvalue()


def _contents() -> dict[str, bytes]:
    table = vectors()
    # A word cannot contain a space in binary and tab-separated files.
    plain = [word.replace(" ", "\u00a0") for word in WORDS]
    header = f"{len(WORDS)} {D}\n".encode()
    text = header + text_rows(WORDS, table)
    words, encoded = np.array(WORDS), np.array([word.encode() for word in WORDS])
    return {
        "word2vec.txt": text,
        "fasttext.vec": header + text_rows(WORDS, table).replace(b"\n", b" \n"),
        "crlf.txt": text.replace(b"\n", b"\r\n"),
        "bom.txt": b"\xef\xbb\xbf" + text,
        "tabs.txt": header + text_rows(plain, table).replace(b" ", b"\t"),
        "unended.txt": text[:-1],
        "glove.txt": text_rows(WORDS, table),
        "gensim.bin": header + binary_rows(plain, table),
        "google.bin": header + binary_rows(plain, table, b"\n"),
        "plain.npz": saved(np.savez, words=words, vectors=table),
        "double.npz": saved(np.savez, words=words, vectors=table.astype(">f8")),
        "packed.npz": saved(np.savez_compressed, words=words, vectors=table),
        "bytes.npz": saved(np.savez, words=encoded, vectors=table),
    }


_PLAIN = _contents()
FORMATS = (*_PLAIN, *(f"{name}.gz" for name in _PLAIN if not name.endswith(".npz")))


def write_all(folder: Path) -> dict[str, Path]:
    """Write the 20 words in every format; the formats by name."""
    for name, data in _PLAIN.items():
        (folder / name).write_bytes(data)
        (folder / f"{name}.gz").write_bytes(gzip.compress(data))
    return {name: folder / name for name in FORMATS}
