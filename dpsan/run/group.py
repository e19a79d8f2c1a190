"""One input into one file, which has its name once it is complete; small ones in groups.

A file under its final name is complete also after a power failure: all outputs of a group are on
the disk before the first one gets its name.  What an audit says of an output, and the line that
names its input, are written before that, too: with an audit, a group is one output.
"""

from __future__ import annotations

import os
import resource
import stat
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dpsan.errors import DpsanError, InputError, OutputError, reason
from dpsan.files.atomic_files import AtomicFile
from dpsan.files.compression import packer_for
from dpsan.files.names import sync_directory
from dpsan.files.source import FileSource, open_input
from dpsan.run.stream import Outcome, Work, rewrite_stream

if TYPE_CHECKING:
    from dpsan.run.audit import AuditWriter
    from dpsan.run.same_request import RequestFile

_MOST: Final = 128
"""Outputs of a group: each has an open descriptor."""
_AT_ONCE: Final = 16
"""Outputs that are synced at the same time: more make the disk write no seldomer."""
_SECONDS: Final = 1.0
"""No output waits longer for its name, apart from the time that one file takes."""
_SMALL: Final = 1 << 16


def is_small(path: Path) -> bool:
    """Return True if rewriting a file takes less time than its fsync, so that others may wait."""
    try:
        status = path.stat()
    except OSError:
        return True  # it will fail at once
    return stat.S_ISREG(status.st_mode) and status.st_size <= _SMALL


def _seen(status: os.stat_result) -> tuple[int, ...]:
    """Return what tells a file from another, and from itself after a change."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _refuse_unusual(path: Path) -> None:
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

    file: int
    """Number of the input, from 1."""
    path: Path
    sink: AtomicFile
    outcome: Outcome
    replaced: os.stat_result | None
    """The input as it was opened, if the output replaces it."""
    problem: DpsanError | None = None

    def attempt(self, step: Callable[[], None]) -> None:
        """Do a step, unless an earlier one has failed."""
        try:
            if not self.problem:
                step()
        except DpsanError as error:
            self.problem = error

    def publish(self) -> None:
        """Give the output its name.

        Raises:
            InputError, OutputError: then the target is as it was, and no temporary file is left.
        """
        target = self.sink.target
        try:
            if self.replaced and _seen(os.lstat(target)) != _seen(self.replaced):
                what = "changed while it was read, and is not replaced"
                raise InputError(target, what, "run it again")
            self.sink.publish()
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
        _refuse_unusual(path)
    descriptor = open_input(path)
    try:
        replaced = None
        if target is None:
            replaced = os.fstat(descriptor)
            if replaced.st_nlink > 1:  # its other names would keep the original
                raise OutputError(f"{path}: has other names (hard links)", "-o writes another file")
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
        return Finished(file, path, sink, outcome, replaced)
    except OSError as error:
        # The system's own words for the number: nothing that a library may have put in.
        raise OutputError(f"{path}: {os.strerror(error.errno or 0)}") from None
    finally:
        os.close(descriptor)


class Group:
    """Finished outputs that wait for the disk.

    Args:
        audit: has the rows of each file, in order, before the file has its name.
        requests: gets the input of each output.
        done: called with each output that has its name.
        failed: called with each that has not.
    """

    def __init__(
        self,
        audit: AuditWriter | None,
        requests: RequestFile | None,
        done: Callable[[int, Outcome], None],
        failed: Callable[[int, Path, DpsanError], None],
    ) -> None:
        self._audit, self._requests = audit, requests
        self._done, self._failed = done, failed
        self._waiting: list[Finished] = []
        self._since = 0.0
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._most = _MOST if soft < 0 else max(1, min(_MOST, soft // 4))
        if audit:
            self._most = 1  # its rows come in the order of the files

    def add(self, finished: Finished, *, alone: bool) -> None:
        """Take an output in; one that is alone waits for no other.  Raises as :meth:`flush`."""
        if not self._waiting:
            self._since = time.monotonic()
        self._waiting.append(finished)
        full = len(self._waiting) >= self._most or time.monotonic() - self._since > _SECONDS
        if alone or full:
            self.flush()

    def flush(self) -> None:
        """Sync all outputs, then give them their names.

        Raises:
            OutputError: the file of requests, or that of the audit, cannot be written.
        """
        waiting = self._waiting
        if not waiting:
            return
        _sync_all(waiting)
        if self._requests:
            made = [(each.sink.target, each.outcome.sha256[0]) for each in waiting]
            self._requests.add_outputs(made)
        if self._audit:
            self._audit.place()
        folders: dict[Path, list[Finished]] = {}
        while waiting:
            each = waiting.pop(0)
            each.attempt(each.publish)
            if each.problem:
                self._failed(each.file, each.path, each.problem)
            else:
                folders.setdefault(each.sink.target.parent, []).append(each)
                self._done(each.file, each.outcome)
        for folder, placed in folders.items():
            try:
                sync_directory(folder)
            except OSError as error:
                problem = OutputError(f"{folder}: cannot write: {reason(error)}")
                for each in placed:  # there and complete; only their names may be lost
                    self._failed(each.file, each.path, problem)

    def abandon(self) -> None:
        """Remove what waits still; nothing after a :meth:`flush`."""
        for each in self._waiting:
            each.sink.discard()
        self._waiting.clear()


def _sync_all(waiting: list[Finished]) -> None:
    """Sync all outputs at once."""
    pool = ThreadPoolExecutor(min(_AT_ONCE, len(waiting)))
    try:
        for _ in pool.map(lambda each: each.attempt(each.sink.sync), waiting):
            pass
    finally:
        pool.shutdown(cancel_futures=True)
