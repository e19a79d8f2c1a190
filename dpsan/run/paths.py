"""The file of an input, the one it is written to, and the original that a rewriting replaces."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from dpsan.errors import InputError, OutputError, UsageError, file_reason
from dpsan.errors import reason as os_reason
from dpsan.files.placing import refuse_special
from dpsan.files.source import FileSource


class Original:
    """A file that is to be replaced by its own rewriting, as it was when it was opened.

    Args:
        path: its name.
        descriptor: open for reading; needed no longer than the call.
        backup: another name that it is to keep.
        force: replace what has that name.

    Raises:
        OutputError: it has other names, which would keep the original; or the backup's is taken.
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

    def replace(self, place: Callable[[], None]) -> None:
        """Keep the backup, then let the rewriting be placed.

        Raises:
            InputError: something else has the name by now, or the file was written to: it stays.
            OutputError: the backup cannot be kept, or what ``place`` raises; then there is none.
        """
        if _seen(os.lstat(self._path)) != _seen(self._status):
            raise InputError(self._path, "changed while it was read, and stays", "run it again")
        try:
            if self._backup is not None:
                self._back_up(self._backup)
            place()
        except BaseException:
            self._forget_backup()
            raise

    def _forget_backup(self) -> None:
        """Remove the second name, but never the only one."""
        with suppress(OSError):
            if self._linked and self._backup is not None:
                names = self._path, self._backup
                if all(os.path.samestat(os.lstat(name), self._status) for name in names):
                    self._backup.unlink()

    def _back_up(self, backup: Path) -> None:
        """A second name for the same file: the original is never absent, whatever happens now."""
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
            raise OutputError(f"{backup}: cannot create: {os_reason(error)}") from None
        if not os.path.samestat(os.lstat(backup), self._status):
            raise InputError(self._path, "changed while it was read, and stays", "run it again")


def is_second_name(path: Path, backup: Path) -> bool:
    """Whether a backup is its input itself, as a run leaves it that was killed between the two."""
    try:
        return os.path.samestat(os.lstat(path), os.lstat(backup))
    except OSError:
        return False


def _seen(status: os.stat_result) -> tuple[int, ...]:
    """What tells a file from another, and from itself after a change."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def open_input(path: Path) -> int:
    """A descriptor of an input file.  Raises InputError."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise InputError(path, "is a directory", "-r reads all files below it")
    except OSError as error:
        sentence = isinstance(error, FileNotFoundError) and " " in path.name
        hint = "text comes from standard input: echo TEXT | dpsan rewrite -e 8" if sentence else ""
        raise InputError(path, file_reason(error), hint) from None
    return descriptor


@contextmanager
def opened_input(path: Path) -> Iterator[FileSource]:
    """An input file to read.  Raises InputError."""
    descriptor = open_input(path)
    try:
        yield FileSource(str(path), descriptor)
    finally:
        os.close(descriptor)


def refuse_unusual(path: Path) -> None:
    """Raise OutputError if a file cannot be replaced by its rewriting: a link, a device, a pipe."""
    with suppress(OSError):  # whoever opens it will complain
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            raise OutputError(f"{path}: is a link", "in-place needs the file itself")
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise OutputError(f"{path}: not a regular file", "-o writes another file")


def plan_outputs(paths: Sequence[Path], directory: Path, roots: Sequence[Path] = ()) -> list[Path]:
    """Return the output of each input below ``directory``, keeping the tree.

    An input outside the working directory keeps its path from the directory in ``roots`` that it
    was found in, whose name comes first; one that was named itself keeps its name alone.

    Args:
        paths: inputs.
        directory: of the outputs.
        roots: directories that were searched for inputs.

    Raises:
        UsageError: two inputs would have the same output.
    """
    out: list[Path] = []
    tops = [Path(os.path.normpath(root)) for root in roots]
    for path in paths:
        clean = Path(os.path.normpath(path))
        if clean.is_absolute() or clean.parts[:1] == ("..",):
            top = next((top for top in tops if clean.is_relative_to(top)), clean)
            name = top.resolve().name if top.name == ".." else top.name
            clean = Path(name, clean.relative_to(top))
        out.append(directory / clean)
    seen: dict[Path, Path] = {}
    for path, target in zip(paths, out, strict=True):
        if target in seen:
            raise UsageError(f"{seen[target]} and {path} would both be written to {target}")
        seen[target] = path
    return out


def is_finished(path: Path, target: Path) -> bool:
    """Whether ``--resume`` may take what has the name of an output for the output of ``path``.

    Only a file is one.  Other programs leave empty files behind, so an empty one is the output of
    an empty input alone.
    """
    try:
        made = target.stat()
        return stat.S_ISREG(made.st_mode) and (made.st_size > 0 or not path.stat().st_size)
    except OSError:
        return False
