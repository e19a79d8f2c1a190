"""The formats by name, and which one a file name suggests."""

from __future__ import annotations

from pathlib import PurePath
from typing import Final

from dpsan.errors import unknown_name
from dpsan.formats.base import Format
from dpsan.formats.text import TextFormat

__all__ = ["FORMATS", "format_for"]

FORMATS: Final[dict[str, Format]] = {each.name: each for each in (TextFormat(),)}


def format_for(name: str, path: str) -> Format:
    """The format of a name, or with ``auto`` of a file's suffix; text where nothing is known.

    Raises:
        UsageError: unknown name.
    """
    if name != "auto":
        if name not in FORMATS:
            raise unknown_name("format", name, ["auto", *FORMATS])
        return FORMATS[name]
    suffixes = [each.lower() for each in PurePath(path).suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    for each in FORMATS.values():
        if suffixes and suffixes[-1] in each.suffixes:
            return each
    return FORMATS["text"]
