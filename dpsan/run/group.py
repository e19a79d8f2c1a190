"""Group the fsync calls of many small outputs.

A file under its final name is complete also after a power failure: all outputs of a group are on
the disk before the first one gets its name.  What an audit says of an output, and the line that
names its input, are written before that, too: with an audit, a group is one output.
"""

from __future__ import annotations

import resource
import stat
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dpsan.errors import DpsanError, OutputError, reason
from dpsan.files.names import sync_directory
from dpsan.run.one_file import Finished
from dpsan.run.stream import Outcome

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


@dataclass
class _Waiting:
    file: int
    path: Path
    finished: Finished
    problem: DpsanError | None = None


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
        self._waiting: list[_Waiting] = []
        self._since = 0.0
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._most = _MOST if soft < 0 else max(1, min(_MOST, soft // 4))
        if audit:
            self._most = 1  # its rows come in the order of the files

    def add(self, file: int, path: Path, finished: Finished) -> None:
        """Take an output in.  Raises OutputError as :meth:`flush`."""
        if not self._waiting:
            self._since = time.monotonic()
        self._waiting.append(_Waiting(file, path, finished))
        if len(self._waiting) >= self._most or time.monotonic() - self._since > _SECONDS:
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
            pairs = ((each.finished.sink.target, each.finished.outcome) for each in waiting)
            self._requests.add_outputs((target, outcome.sha256[0]) for target, outcome in pairs)
        if self._audit:
            self._audit.place()
        folders: dict[Path, list[_Waiting]] = {}
        while waiting:
            each = waiting.pop(0)
            each.problem = each.problem or _problem(each.finished.publish)
            if each.problem:
                self._failed(each.file, each.path, each.problem)
            else:
                folders.setdefault(each.finished.sink.target.parent, []).append(each)
                self._done(each.file, each.finished.outcome)
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
            each.finished.sink.discard()
        self._waiting.clear()


def _sync_all(waiting: list[_Waiting]) -> None:
    """Sync all outputs at once."""
    pool = ThreadPoolExecutor(min(_AT_ONCE, len(waiting)))
    try:
        problems = pool.map(_problem, [each.finished.sink.sync for each in waiting])
        for each, problem in zip(waiting, problems, strict=True):
            each.problem = problem
    finally:
        pool.shutdown(cancel_futures=True)


def _problem(step: Callable[[], None]) -> DpsanError | None:
    try:
        step()
    except DpsanError as error:
        return error
    return None
