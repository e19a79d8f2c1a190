"""word2vec binary, as the C tool and gensim write it.

::

    file    = n *SP* d *LF* row{n}
    row     = [*LF*] word *SP* float32{d}      little-endian; the C tool ends each row with LF
    word    = bytes without *SP*, UTF-8

gensim's reader is not used: it allocates what the header says.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Final

import numpy as np

from dpsan.embeddings.files import MAX_WORD
from dpsan.embeddings.text_rows import declared_sizes
from dpsan.embeddings.usable_rows import Rows
from dpsan.errors import EmbeddingError

_CHUNK: Final = 4 << 20
"""Bytes parsed at a time; more than the longest row."""


def read(stream: io.BufferedReader, path: Path, limit: int | None) -> Rows:
    """Read the first ``limit`` usable rows.

    Raises:
        EmbeddingError: the file is malformed; names the row, from 1.
    """
    n, d = declared_sizes(stream.readline(64), path)
    rows = Rows(path, d, limit)
    seen = 0
    data = b""
    while not rows.full:
        part = stream.read(_CHUNK)
        words, vectors, data = _cut(data + part, d, n - seen)
        if words:
            rows.add(words, np.frombuffer(vectors, dtype="<f4").reshape(-1, d))
            seen += len(words)
        if seen == n:
            while not rows.full and data and not data.strip(b"\n"):
                data = stream.read(_CHUNK)
            if not rows.full and data:
                raise EmbeddingError(path, f"row {n + 1}: more than the header's {n} rows")
            break
        if len(data) > _CHUNK or (len(data) > MAX_WORD and b" " not in data[: MAX_WORD + 2]):
            raise EmbeddingError(path, f"row {seen + 1}: a word longer than 1 MB")
        if not part:
            raise EmbeddingError(path, f"row {seen + 1}: the file ends after {seen} of {n} rows")
    return rows


def _cut(data: bytes, d: int, most: int) -> tuple[list[bytes], bytes, bytes]:
    """Return words and vectors of the whole rows at the start of ``data``, at most ``most``; the
    rest.
    """
    words: list[bytes] = []
    vectors: list[bytes] = []
    at = 0
    while len(words) < most:
        space = data.find(b" ", at)
        end = space + 1 + 4 * d
        if space < 0 or end > len(data):
            break
        words.append(data[at:space].removeprefix(b"\n"))
        vectors.append(data[space + 1 : end])
        at = end
    return words, b"".join(vectors), data[at:]
