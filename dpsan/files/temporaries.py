"""Temporary files of runs that were killed: told from those of runs that live, and removed.

A run locks each of its temporary files, and the system takes the lock away when the process ends,
however it ends.  So a file that can be locked is nobody's.  Where the file system has no locks,
nothing is removed.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final

_FILE: Final = re.compile(r"\.(.*)\.[0-9a-f]{16}\.tmp", re.DOTALL)
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_FOUND: Final[dict[Path, dict[str, list[str]]]] = {}
"""For each directory seen by this process: the temporary files there, by what they are for."""


def temporary_name(target: str) -> str:
    """Return a new name for the temporary file of a target, in the same directory."""
    return f".{_stem(target)}.{secrets.token_hex(8)}.tmp"


def _stem(target: str) -> str:
    """As much of a name as leaves room for the rest: names have at most 255 bytes."""
    return os.fsencode(target)[:200].decode(sys.getfilesystemencoding(), errors="ignore")


def create_locked(path: Path) -> int:
    """Create a file for the owner alone, locked until it is closed or the process ends.

    Raises:
        OSError: it exists, or cannot be created.
    """
    while True:
        descriptor = os.open(path, _CREATE, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:
            return descriptor  # no locks here: nobody sweeps here either
        if os.fstat(descriptor).st_nlink:
            return descriptor
        os.close(descriptor)  # another run took it for a dead one's before it was locked


def sweep(*targets: Path, again: bool = False) -> None:
    """Remove what killed runs left of files that are about to be written.

    Files of no other name are touched: a run on another machine, on a file system that keeps the
    locks of each machine to itself, would lose what it is writing.

    Args:
        targets: names of the finished files.
        again: list their directories even if this process has listed them before.
    """
    if again:
        for parent in {target.parent for target in targets}:
            _FOUND.pop(parent, None)
    for target in targets:
        parent = target.parent
        if parent not in _FOUND:
            _FOUND[parent] = _temporaries(parent)
        for name in _FOUND[parent].pop(_stem(target.name), ()):
            with suppress(OSError):
                _remove_dead(parent / name)


def _temporaries(directory: Path) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    with suppress(OSError):
        for path in directory.iterdir():
            if match := _FILE.fullmatch(path.name):
                out.setdefault(match[1], []).append(path.name)
    return out


def _remove_dead(path: Path) -> None:
    descriptor = os.open(path, _READ)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
    finally:
        os.close(descriptor)
