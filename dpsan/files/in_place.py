"""Replace an input by its output, and keep a backup."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from dpsan.errors import InputError, OutputError, reason
from dpsan.files.final_name import refuse_special


class Original:
    """An input that is to be replaced by its output, in the state in which it was opened.

    Args:
        path: name of the input.
        descriptor: open for reading; the caller may close it after the call.
        backup: name under which the original is kept.
        force: replace a file of that name.

    Raises:
        OutputError: the input has other names, which would keep the original; or the name of the
            backup is taken.
    """

    def __init__(self, path: Path, descriptor: int, backup: Path | None, *, force: bool) -> None:
        self._path, self._backup, self._force = path, backup, force
        self._status = os.fstat(descriptor)
        self._linked = False
        own = backup is not None and is_second_name(path, backup)
        if self._status.st_nlink > 1 + own:
            raise OutputError(f"{path}: has other names (hard links)", "-o writes another file")
        if backup is not None:
            refuse_special(backup)
            if os.path.lexists(backup) and not force:
                raise OutputError(f"{backup}: exists", "--force replaces it")

    def replace(self, publish: Callable[[], None]) -> None:
        """Make the backup, then publish the output.

        Raises:
            InputError: another file has the name by now, or the file was written to: it stays.
            OutputError: the backup cannot be made, or ``publish`` failed; then there is no backup.
        """
        if _seen(os.lstat(self._path)) != _seen(self._status):
            raise self._changed()
        try:
            if self._backup is not None:
                self._back_up(self._backup)
            publish()
        except BaseException:
            self._remove_backup()
            raise

    def _remove_backup(self) -> None:
        """Remove the second name, but never the only one."""
        with suppress(OSError):
            if self._linked and self._backup is not None:
                names = self._path, self._backup
                if all(os.path.samestat(os.lstat(name), self._status) for name in names):
                    self._backup.unlink()

    def _back_up(self, backup: Path) -> None:
        """Give the same file a second name: so the original is never absent."""
        if self._force:
            refuse_special(backup)
            backup.unlink(missing_ok=True)
        self._linked = True  # first: a signal may come as soon as it is
        try:
            os.link(self._path, backup, follow_symlinks=False)
        except FileExistsError:
            self._linked = False
            raise OutputError(f"{backup}: exists", "--force replaces it") from None
        except OSError as error:
            raise OutputError(f"{backup}: cannot create: {reason(error)}") from None
        if not os.path.samestat(os.lstat(backup), self._status):
            raise self._changed()

    def _changed(self) -> InputError:
        what = "changed while it was read, and is not replaced"
        return InputError(self._path, what, "run it again")


def is_second_name(path: Path, backup: Path) -> bool:
    """Return whether a backup is the input itself, as a killed run leaves it."""
    try:
        return os.path.samestat(os.lstat(path), os.lstat(backup))
    except OSError:
        return False


def _seen(status: os.stat_result) -> tuple[int, ...]:
    """Return what tells a file from another, and from itself after a change."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def refuse_unusual(path: Path) -> None:
    """Raise OutputError if an input cannot be replaced: it is a link, a device or a pipe."""
    with suppress(OSError):  # the call that opens it will fail
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            raise OutputError(f"{path}: is a link", "name the file itself")
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise OutputError(f"{path}: not a regular file", "-o writes another file")
