"""Refuse commands that would overwrite their own input or another output.

Files are compared by device and inode, so through links too; a file that is yet to be made, by its
directory and name.
"""

import os
import stat
from enum import Enum, auto
from pathlib import Path
from typing import Final, NamedTuple

from dpsan.errors import UsageError, refuse

_Identity = tuple[int | str, ...]


class Use(Enum):
    """Use that a command makes of a file."""

    READ = auto()
    WRITTEN = auto()
    """Made or replaced."""
    STANDING = auto()
    """Not replaced, and no input: a standard stream, an output that ``--resume`` skips."""


_FRIENDS: Final = (Use.READ, Use.STANDING)
"""Two of these may be one file: an input read twice, a log of both standard streams."""


def side_files(database: Path) -> list[Path]:
    """Return the files that SQLite writes, reads and removes beside a database."""
    return [database.with_name(database.name + end) for end in ("-journal", "-wal", "-shm")]


class _Known(NamedTuple):
    what: str
    path: str | None
    use: Use


class FileUses:
    """All files of one command; complains as soon as one has two uses that exclude each other."""

    def __init__(self) -> None:
        self._known: dict[_Identity, _Known] = {}

    def add(self, use: Use, what: str, *paths: Path | None) -> None:
        """Take in files.

        Args:
            use: what is done with them.
            what: the option or argument that named them, for the message.
            paths: None is left out.

        Raises:
            UsageError: one of them is a file that is here already, and one of both is replaced; or
                an output is called ``-``, which elsewhere stands for standard output.
        """
        for path in paths:
            if use is Use.WRITTEN and path == Path("-"):
                hint = "leave it out to write to standard output" if what == "output" else ""
                raise UsageError(f"{what}: - names no file", hint or "name a regular file")
            if path is not None:
                self._take(_identity(path), _Known(what, str(path), use))

    def add_database(self, what: str, path: Path | None) -> None:
        """Take in an SQLite database and its side files.  Raises as :meth:`add`."""
        if path is not None:
            self.add(Use.WRITTEN, what, path)
            self.add(Use.WRITTEN, f"a file that SQLite keeps beside {what}", *side_files(path))

    def check_outside(self, memo: Path | None) -> None:
        """Raise UsageError if another file is written into the directory of a memo."""
        real = memo and Path(os.path.realpath(memo))
        for file in self._known.values():
            if file.use is Use.WRITTEN and file.path and not file.what.endswith("--memo"):
                inside = real in Path(os.path.realpath(file.path)).parents
                what = f"{file.path}: lies in the memo {memo}, which is a directory of its own"
                refuse(inside, what, "name another")

    def add_stream(self, use: Use, what: str, descriptor: int) -> None:
        """Take in a standard stream, if it is a file.  Raises as :meth:`add`."""
        try:
            status = os.fstat(descriptor)
        except OSError:  # closed
            return
        if stat.S_ISREG(status.st_mode):
            self._take((status.st_dev, status.st_ino), _Known(what, None, use))

    def _take(self, identity: _Identity | None, new: _Known) -> None:
        if identity is None:
            return
        old = self._known.setdefault(identity, new)
        if old is new or (old.use is new.use and new.use in _FRIENDS):
            return
        refuse(old.what == new.what, f"{new.path}: the same file as {old.path}", "name it once")
        whats = (new.what, old.what) if new.use is Use.READ else (old.what, new.what)
        both = {old.what, new.what}
        hint = "-i does that" if both <= {"input", "output", "standard output"} else "name another"
        if hint == "-i does that" and "standard output" in both and not os.fstat(1).st_size:
            hint = "the shell has emptied it; of a copy, -i does that"
        where = new.path or old.path or new.what
        raise UsageError(f"{where}: {' and '.join(whats)} are the same file", hint)


def _identity(path: Path) -> _Identity | None:
    """Return the identity of an existing file; None where nothing could be lost."""
    try:
        status = path.stat()
    except OSError:
        # Absent: also the end of a link that leads to nothing yet.
        real = Path(os.path.realpath(path))
        try:
            status = real.parent.stat()
        except OSError:
            return (str(real),)
        return status.st_dev, status.st_ino, real.name
    if stat.S_ISCHR(status.st_mode) or stat.S_ISSOCK(status.st_mode):
        return None
    if stat.S_ISBLK(status.st_mode):
        return "device", status.st_rdev
    return status.st_dev, status.st_ino
