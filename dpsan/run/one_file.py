"""One input into one file, which has its name once it is complete."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from dpsan.errors import InputError, OutputError, reason
from dpsan.files.atomic_files import AtomicFile
from dpsan.files.compression import packer_for
from dpsan.files.source import FileSource, open_input
from dpsan.run.stream import Outcome, Work, rewrite_stream


class Original:
    """An input that is to be replaced by its output, in the state in which it was opened.

    Args:
        path: name of the input.
        descriptor: open for reading; the caller may close it after the call.

    Raises:
        OutputError: the input has other names, which would keep the original.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self._path, self._status = path, os.fstat(descriptor)
        if self._status.st_nlink > 1:
            raise OutputError(f"{path}: has other names (hard links)", "-o writes another file")

    def replace(self, publish: Callable[[], None]) -> None:
        """Publish the output.

        Raises:
            InputError: another file has the name by now, or the file was written to: it stays.
            OutputError: ``publish`` failed.
        """
        if _seen(os.lstat(self._path)) != _seen(self._status):
            what = "changed while it was read, and is not replaced"
            raise InputError(self._path, what, "run it again")
        publish()


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


@dataclass
class Finished:
    """An input whose rewriting is complete, but has no name yet and may not be on the disk."""

    sink: AtomicFile
    outcome: Outcome
    original: Original | None = None

    def publish(self) -> None:
        """Give the output its name.

        Raises:
            InputError, OutputError: then the target is as it was, and no temporary file is left.
        """
        try:
            if self.original is None:
                self.sink.publish()
            else:
                self.original.replace(self.sink.publish)
        except OSError as error:
            raise OutputError(f"{self.outcome.name}: {reason(error)}") from None
        finally:
            self.sink.discard()  # nothing to discard once it has its name


def rewrite_file(path: Path, target: Path | None, work: Work, file: int = 1) -> Finished:
    """Sanitize one input into a file that is then to be synced and published.

    Args:
        target: None for the input itself.

    Raises:
        BudgetError, InputError, OutputError: then the target is as it was, and no temporary file
            is left.
    """
    if target is None:
        refuse_unusual(path)
    descriptor = open_input(path)
    try:
        original = None
        if target is None:
            original = Original(path, descriptor)
            sink = AtomicFile(path, force=True, like=descriptor, packer=packer_for(path.name))
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            sink = AtomicFile(target, force=work.plan.force, packer=packer_for(target.name))
        try:
            outcome = rewrite_stream(FileSource(str(path), descriptor), sink, work, file=file)
            sink.seal()
            outcome = replace(outcome, sha256=(outcome.sha256[0], sink.sha256))  # compressed
        except BaseException:
            sink.discard()
            raise
        return Finished(sink, outcome, original)
    except OSError as error:
        # The system's own words for the number: nothing that a library may have put in.
        raise OutputError(f"{path}: {os.strerror(error.errno or 0)}") from None
    finally:
        os.close(descriptor)
