"""word2vec text, which is also fastText's ``.vec``.

::

    file    = n *SP* d *LF* row{n}
    row     = see text_rows

gensim's reader is not used: it allocates what the header says, takes 1_000 for a number, does not
say which line is wrong and is slower than the blocks parsed here.

Knows the header.  Must not know how a row is parsed.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Final

from dpsan.embeddings.files import Lines
from dpsan.embeddings.rows import Rows, check_dimensions
from dpsan.embeddings.text_rows import read_rows
from dpsan.errors import EmbeddingError

__all__ = ["header", "read"]

_HEADER: Final = re.compile(rb"[ \t]*([0-9]{1,18})[ \t]+([0-9]{1,18})[ \t]*\r?\n?")


def header(line: bytes) -> tuple[int, int] | None:
    """The n and d of a header line; None if it is none."""
    match = _HEADER.fullmatch(line)
    return (int(match[1]), int(match[2])) if match else None


def read(stream: io.BufferedReader, path: Path, limit: int | None) -> Rows:
    """Read the first ``limit`` usable rows.

    Raises:
        EmbeddingError: the file is malformed.
    """
    lines = Lines(stream, path)
    sizes = header(lines.read())
    if sizes is None:
        raise EmbeddingError(path, "not a header 'N D'", line=1)
    n, d = sizes
    check_dimensions(path, d, line=1)
    if n < 1:
        raise EmbeddingError(path, "the header says 0 rows", line=1)
    rows = Rows(path, d, limit)
    read_rows(lines, rows, d, n)
    return rows
