"""Names of columns and paths of strings, which a user can choose by ``--field``.

Names of columns are data where a table has no header, and keys of JSON may be data too.  Whoever
asks for them by ``dpsan headers`` sees them all.  A message shows them where one of them is a usual
name of a column, such as ``id`` or ``text``, so that the others are names as well.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from dpsan.errors import DpsanError, InputError, UsageError
from dpsan.files.compression import open_decompressed
from dpsan.formats.base import ReadOptions
from dpsan.formats.passing import shown_names
from dpsan.formats.registry import USUAL, format_class, refuse_document, refuse_suffix

_NAME: Final = re.compile(r"[^.\[\]]+")


def headers(path: Path, name: str, options: ReadOptions) -> list[str]:
    """Return the names of the columns of a file, or the paths of its values, in order.

    Args:
        name: of the format, or ``auto``.

    Raises:
        UsageError: the format has no columns.
        InputError: the file cannot be read.
    """
    kind = format_class(name, str(path))
    with open_decompressed(path) as source:
        if not kind.takes_fields:
            refuse_suffix(str(path))
            refuse_document(source, source.read())
            raise UsageError(f"{path}: {kind.name} has no columns")
        names = kind().headers(source, kind.suited(options)) if kind.needs_fields else []
    if not names:
        raise InputError(path, "empty" if kind.needs_fields else f"{kind.name} has no columns")
    return names


def usual(names: Iterable[str]) -> bool:
    """Return whether one of some names is a usual name of a column."""
    return any(name.casefold() in USUAL for name in names)


def known_paths(paths: Iterable[str]) -> list[str]:
    """Return paths up to the first object none of whose names is usual: its names may be data."""
    names = {path: [(match.start(), match[0]) for match in _NAME.finditer(path)] for path in paths}
    members: dict[str, set[str]] = {}
    for path, steps in names.items():
        for at, name in steps:
            members.setdefault(path[:at], set()).add(name)
    shown: dict[str, None] = {}
    for path, steps in names.items():
        unknown = (at for at, _ in steps if not usual(members[path[:at]]))
        at = next(unknown, len(path))
        shown[path[:at] + "*" * (at < len(path))] = None
    return [*shown]


def choices(names: Collection[str]) -> str:
    """Return the hint that lists names of columns or paths, as far as they are surely no data."""
    shown = [name for name in known_paths(names) if name != "*"]
    return f"columns: {shown_names(shown)}" if shown else "dpsan headers FILE lists the names"


def file_choices(path: Path, name: str, options: ReadOptions) -> str:
    """Return the same of a file; how a field is named where the file cannot be read."""
    try:
        return choices(headers(path, name, options))
    except DpsanError:
        return "a column's name, path or number"
