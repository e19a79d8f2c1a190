"""safetensors (extra ``safetensors``).

::

    file    = length (uint64, little-endian) JSON data
    JSON    = {"vectors": {"dtype": F16 | F32 | F64, "shape": [n, d], ...},
               "__metadata__": {"words": words}}
    words   = word (*LF* word){n-1}            else NAME.words.txt beside the file, one per line

The tensor is called ``vectors``, or is the only one of two dimensions.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Final

from dpsan.embeddings.files import Lines
from dpsan.embeddings.usable_rows import Rows, check_dimensions
from dpsan.errors import EmbeddingError, ExtraMissingError

_BYTES: Final = {"F16": 2, "F32": 4, "F64": 8}


def looks_like(head: bytes) -> bool:
    """Return True if a file that begins like this can be safetensors."""
    # The JSON's length, at most 100 MB; text cannot start so: its bytes 4 to 7 would be NUL.
    return len(head) > 8 and head[8:9] == b"{" and head[4:8] == b"\0\0\0\0"


def read(stream: io.BufferedReader, path: Path, limit: int | None, words: Lines | None) -> Rows:
    """Read the first ``limit`` usable rows; ``words`` serves if the metadata have none.

    Raises:
        EmbeddingError: the file is malformed.
        ExtraMissingError: the package is not installed.
    """
    try:
        from safetensors import SafetensorError, safe_open  # an extra
    except ImportError:
        raise ExtraMissingError("reading safetensors", "safetensors") from None
    try:
        # The handle, not the name: what was examined is what is read.
        with safe_open(f"/dev/fd/{stream.fileno()}", framework="numpy") as file:
            return _read(file, path, limit, words)
    except SafetensorError:
        raise EmbeddingError(path, "damaged safetensors file") from None


def _read(file: Any, path: Path, limit: int | None, words: Lines | None) -> Rows:
    slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118 (not a mapping)
    tables = [name for name, part in slices.items() if len(part.get_shape()) == 2]
    if "vectors" not in tables and len(tables) != 1:
        raise EmbeddingError(path, f"{len(tables)} tables, none called 'vectors'")
    table = slices["vectors" if "vectors" in tables else tables[0]]
    size = _BYTES.get(table.get_dtype())
    if size is None:
        raise EmbeddingError(path, "vectors must be F16, F32 or F64")
    n, d = table.get_shape()
    check_dimensions(path, d)
    named = (file.metadata() or {}).get("words")
    if named is not None:
        listed: Iterator[bytes | str] = iter(named.split("\n"))
    elif words is not None:
        listed = words.words()
    else:
        raise EmbeddingError(path, "no words", f"put them into {path.stem}.words.txt, one per line")
    rows = Rows(path, d, limit)
    for at, count in rows.blocks(n, size * d):
        block = list(islice(listed, count))
        if len(block) < count:
            raise EmbeddingError(path, f"{at + len(block)} words, but {n} vectors")
        rows.add(block, table[at : at + count])
    if not rows.full and next(listed, None):
        raise EmbeddingError(path, f"more words than the {n} vectors")
    return rows
