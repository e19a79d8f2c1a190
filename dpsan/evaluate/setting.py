"""The mechanism of a run, as the header of its audit tells it.

Knows audit headers.  Must not know texts: only the first row is read.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import orjson

from dpsan.errors import InputError, UsageError
from dpsan.errors import reason as os_reason
from dpsan.formats.source import FileSource, decompressed
from dpsan.formats.text import raw_records

__all__ = ["Setting", "read_setting"]

_HEADER: Final = 1 << 20
_SCHEMAS: Final = (1,)


@dataclass(frozen=True)
class Setting:
    """What a run was made with."""

    mechanism: str
    epsilon: float
    parameters: dict[str, Any]
    tokenizer: str
    digest: str
    """Of the embeddings."""
    source: str
    """Name of their file."""
    copies: int

    def check(self, digest: str) -> None:
        """Raise UsageError if these embeddings are not those of the run."""
        if digest != self.digest:
            raise UsageError(
                f"the audit was made with other embeddings ({self.source})",
                "give the same --embeddings and --vocab-size",
            )


def read_setting(path: Path) -> Setting:
    """The header of an audit.

    Raises:
        InputError: it cannot be read or is not an audit.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else os_reason(error)
        raise InputError(path, str(reason)) from None
    try:
        source = decompressed(FileSource(str(path), descriptor))
        first = next((item for item in raw_records(source, b"\n", _HEADER) if item), None)
    finally:
        os.close(descriptor)
    try:
        row = orjson.loads(first[1] if first else b"")
        if row["type"] != "header" or row["schema"] not in _SCHEMAS:
            raise ValueError
        return Setting(
            mechanism=str(row["mechanism"]),
            epsilon=float(row["epsilon"]),
            parameters={k: v for k, v in row["parameters"].items() if v is not None},
            tokenizer=str(row["tokenizer"]),
            digest=str(row["embeddings"]["digest"]),
            source=str(row["embeddings"]["source"]),
            copies=int(row["copies"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(path, "not an audit of dpsan", "see rewrite --audit", line=1) from None
