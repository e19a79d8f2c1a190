"""Classes of other packages that are installed: entry points, imported when somebody names them.

They are programs with all rights of this process, and nobody here has reviewed them.
"""

from __future__ import annotations

import hashlib
import sys
from contextlib import redirect_stdout
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpsan.errors import PACKAGED, UsageError, refuse

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@cache
def installed(group: str, own: frozenset[str]) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name, but for names that dpsan has itself."""
    from importlib.metadata import entry_points  # takes as long as a start of Python

    entries = {entry.name: entry for entry in entry_points(group=group)}
    return {name: entry for name, entry in sorted(entries.items()) if name not in own}


def imported(entry: EntryPoint, base: type) -> tuple[Any, Path, str]:
    """Return the class of an entry point, its file, and the file's SHA-256.

    Raises:
        UsageError: it cannot be imported, is no subclass of ``base``, lacks a method, or has
            another name than its entry point.
    """
    package = entry.dist and entry.dist.name
    try:
        with redirect_stdout(sys.stderr):  # standard output is for sanitized text
            kind = entry.load()
    except (Exception, SystemExit) as error:  # noqa: BLE001 - its message may quote anything
        what = f"{package}: cannot import {entry.value}: {type(error).__name__}"
        raise UsageError(what) from None
    what = f"{package}: {entry.value}"
    ours = isinstance(kind, type) and issubclass(kind, base)
    refuse(not ours, f"{what} is no subclass of {base.__name__}")
    missing = " and no ".join(sorted(kind.__abstractmethods__))
    refuse(missing, f"{what} has no {missing}")
    refuse(getattr(kind, "name", 0) != entry.name, f"{what} has another name than {entry.name}")
    PACKAGED.add(entry.module)
    path = Path(str(sys.modules[entry.module].__file__))
    return kind, path, hashlib.sha256(path.read_bytes()).hexdigest()
