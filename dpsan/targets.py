"""Which file an input is written to, and which it must not be.

Knows paths.  Must not know what is written.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from dpsan.errors import InputError, OutputError, UsageError

__all__ = ["back_up", "plan_outputs", "refuse_same", "refuse_stdout"]


def refuse_stdout(name: str, descriptor: int) -> None:
    """Raise InputError if standard output is the file that is read: it would never end."""
    with suppress(OSError):
        mine, out = os.fstat(descriptor), os.fstat(1)
        same = stat.S_ISREG(mine.st_mode) and os.path.samestat(mine, out)
        if same and mine.st_size > os.lseek(descriptor, 0, os.SEEK_CUR):
            raise InputError(name, "input and output are the same file", "-i does that")


def refuse_same(path: Path, target: Path) -> None:
    """Raise OutputError if both are one file: reading would meet its own output."""
    if target.exists() and path.exists() and target.samefile(path):
        raise OutputError(f"{path}: input and output are the same file", "-i does that")


def back_up(path: Path, suffix: str, *, force: bool) -> None:
    """Keep a file under another name beside it.  Raises OutputError if that name is taken."""
    backup = path.with_name(path.name + suffix)
    if backup.exists() and not force:
        raise OutputError(f"{backup}: exists", "--force replaces it")
    with suppress(FileNotFoundError):
        backup.unlink()
    # A second name for the same file: the original is never absent, whatever happens now.
    os.link(path, backup)


def plan_outputs(paths: list[Path], directory: Path) -> list[Path]:
    """The output of each input below ``directory``, keeping the tree of relative paths.

    Raises:
        UsageError: two inputs would have the same output.
    """
    out: list[Path] = []
    for path in paths:
        clean = Path(os.path.normpath(path))
        inside = not clean.is_absolute() and clean.parts[:1] != ("..",)
        out.append(directory / (clean if inside else clean.name))
    seen: dict[Path, Path] = {}
    for path, target in zip(paths, out, strict=True):
        if target in seen:
            raise UsageError(f"{seen[target]} and {path} would both be written to {target}")
        seen[target] = path
    return out
