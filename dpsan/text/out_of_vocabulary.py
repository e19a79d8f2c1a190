"""Words that the mechanism does not see as themselves: unknown ones and a user's keep-list.

Knows the policies' names and the list's grammar.  Must not know vocabularies.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Final

from dpsan.errors import InputError, file_reason

MASK: Final = "<unk>"


class UnknownPolicy(StrEnum):
    """Treatment of unknown strings."""

    SAMPLE = "sample"
    """Every unknown string is the same extra input ⊥: its output is drawn inside the guarantee."""
    MASK = "mask"
    """Written as ``<unk>``: hides which string it was, shows that it was unknown."""
    KEEP = "keep"
    """Written unchanged: NOT PRIVATE."""


def read_word_list(path: Path) -> list[str]:
    """The words of a keep-list: one a line, blank lines and lines starting with # left out.

    Raises:
        InputError: missing, or not UTF-8.
    """
    lines = (line.strip() for line in read_utf8(path).split("\n"))
    return [line for line in lines if line and not line.startswith("#")]


def read_utf8(path: Path, encoding: str = "utf-8") -> str:
    """The text of a file.

    Raises:
        InputError: missing, or not UTF-8.
    """
    try:
        return path.read_text(encoding=encoding)
    except OSError as error:
        raise InputError(path, file_reason(error)) from None
    except UnicodeDecodeError:
        raise InputError(path, "not UTF-8") from None
