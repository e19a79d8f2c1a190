"""GloVe text: word2vec text without its header.

::

    file    = row+
    row     = see text_rows

The number of dimensions is what most of the first lines agree on, as words of GloVe 840B may
contain spaces (``. . .``) or be numbers.

Knows how to find d.  Must not know how a row is parsed.
"""

from __future__ import annotations

import io
from collections import Counter
from pathlib import Path
from typing import Final

from dpsan.embeddings.files import Lines
from dpsan.embeddings.rows import Rows, check_dimensions
from dpsan.embeddings.text_rows import numbers_in, read_rows
from dpsan.errors import EmbeddingError

__all__ = ["read"]

_FIRST: Final = 32
"""Lines that decide the number of dimensions."""


def read(stream: io.BufferedReader, path: Path, limit: int | None) -> Rows:
    """Read the first ``limit`` usable rows.

    Raises:
        EmbeddingError: the file is malformed, or not an embedding file at all.
    """
    lines = Lines(stream, path)
    votes = Counter(numbers_in(line) for line in lines.look(_FIRST) if line.strip())
    d = votes.most_common(1)[0][0] if votes else 0  # among equals the earliest
    if not d:
        lines.read()  # refuses a first line that is too long
        raise EmbeddingError(
            path, "not an embedding file", "formats: word2vec, GloVe, .vec, .npz, .npy, safetensors"
        )
    check_dimensions(path, d)
    rows = Rows(path, d, limit)
    read_rows(lines, rows, d, None)
    return rows
