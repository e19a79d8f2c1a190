"""Give a finished file its final name, without replacing what must stay."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from dpsan.errors import OutputError

_MOST_LINKS: Final = 40
_UNLINKABLE: Final = (
    errno.EPERM,
    errno.EACCES,
    errno.EMLINK,
    errno.ENOSYS,
    errno.EOPNOTSUPP,
    errno.ENOTSUP,
)
"""Errors of file systems without hard links, or where they are forbidden."""
_UNSYNCABLE: Final = (errno.EINVAL, errno.ENOTSUP)
"""Errors of network file systems whose directories cannot be synced."""


def stream_number(path: Path) -> int | None:
    """Return the descriptor that a path such as ``/dev/stdout`` or ``/dev/fd/3`` means, or None."""
    own = {os.path.realpath(each) for each in ("/proc/self/fd", "/dev/fd")}
    for _ in range(_MOST_LINKS):  # step by step: at the last one the file itself would be found
        if path.name.isdecimal() and os.path.realpath(path.parent) in own:
            return int(path.name)
        try:
            path = path.parent / path.readlink()
        except OSError:
            return None
    return None


def refuse_special(target: Path) -> None:
    """Raise OutputError if the target is a directory, a pipe, a device or an open stream."""
    try:
        mode = target.stat().st_mode
    except OSError:  # absent; other errors are raised when the file is made
        return
    if stat.S_ISDIR(mode):
        raise OutputError(f"{target}: is a directory")
    if not stat.S_ISREG(mode) or stream_number(target) is not None:
        raise OutputError(f"{target}: not a regular file", "it is never replaced; name another")


def publish(temporary: Path, target: Path, *, force: bool) -> None:
    """Give a file its final name.

    Args:
        temporary: its name so far, in the same directory; removed.
        target: the final name.
        force: replace a file of that name; otherwise it stays, also if it appeared just now.

    Raises:
        OutputError: there is a file that must not be replaced.
        OSError: the name cannot be given.
    """
    if force:
        refuse_special(target)
        temporary.rename(target)
        return
    try:
        os.link(temporary, target, follow_symlinks=False)
    except FileExistsError:
        # A network file system may have lost its first answer, and say so of our own link.
        if not os.path.samestat(os.lstat(temporary), os.lstat(target)):
            raise appeared(target) from None
    except OSError as error:
        if error.errno not in _UNLINKABLE:
            raise
        what = f"{target}: this file system cannot make a file without replacing another"
        raise OutputError(what, "--force, if nobody else writes here") from None
    with suppress(OSError):
        temporary.unlink()


def appeared(target: Path) -> OutputError:
    """Return the error for an output that somebody else has made during the run."""
    what = f"{target}: was created meanwhile, and is not replaced"
    return OutputError(what, "keep it if another dpsan made it: a second output costs twice")


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable.  Raises OSError."""
    directory = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    except OSError as error:
        if error.errno not in _UNSYNCABLE:
            raise
    finally:
        os.close(directory)
