"""One input into one file, which has its name once it is complete; outputs in groups.

A file under its final name is complete also after a power failure: all outputs of a group are on
the disk before the first one gets its name.  What an audit says of an output, and the line that
names its input, are written before that, too: with an audit, a group is one output.
"""

from __future__ import annotations

import os
import resource
import stat
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dpsan.errors import InputError, OutputError, reason
from dpsan.files.atomic_files import AtomicFile
from dpsan.files.compression import packer_for
from dpsan.files.source import FileSource, opened_input, sync_directory
from dpsan.run.plan import Outcome, Task
from dpsan.run.stream import Work, rewrite_stream

if TYPE_CHECKING:
    from dpsan.run.audit.writer import AuditWriter
    from dpsan.run.side_outputs import RequestFile

_MOST: Final = 128
"""Outputs of a group: each has an open descriptor."""
_AT_ONCE: Final = 16
"""Outputs that are synced at the same time: more make the disk write no seldomer."""
_SECONDS: Final = 1.0
"""No output waits longer for its name, apart from the time that the next file takes."""


def rewrite_file(task: Task, work: Work) -> Outcome:
    """Sanitize one input into a file that is then to be synced and published.

    After an error, which the outcome has, the target is as it was, and no temporary file is left.
    """
    outcome = Outcome(task, work.sanitizer.accountant(), str(task.path))
    try:
        if task.target is None:
            _refuse_unusual(task.path)
        with opened_input(task.path) as source:
            sink = _output(task, work, source, outcome)
            try:
                rewrite_stream(source, sink, work, outcome)
                sink.seal()
                outcome.sha256 = source.sha256, sink.sha256  # compressed
                outcome.sink = sink
            finally:
                if outcome.sink is None:
                    sink.discard()
    except OSError as error:
        # The system's own words for the number: nothing that a library may have put in.
        outcome.error = OutputError(f"{task.path}: {os.strerror(error.errno or 0)}")
    except Exception as error:  # noqa: BLE001 - one input's: the others go on
        outcome.error = error
    return outcome


def _refuse_unusual(path: Path) -> None:
    """Raise OutputError if an input cannot be replaced: it is a link, a device or a pipe."""
    with suppress(OSError):  # the call that opens it will fail
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            raise OutputError(f"{path}: is a link", "name the file itself")
        if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
            raise OutputError(f"{path}: not a regular file", "-o writes another file")


def _output(task: Task, work: Work, source: FileSource, outcome: Outcome) -> AtomicFile:
    """Return the new file of an open input.  Raises OutputError."""
    path, target = task.path, task.target
    if target is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        return AtomicFile(target, force=work.plan.force, packer=packer_for(target.name))
    descriptor = source.descriptor() or 0  # a regular file
    outcome.replaced = os.fstat(descriptor)
    if outcome.replaced.st_nlink > 1:  # its other names would keep the original
        raise OutputError(f"{path}: has other names (hard links)", "-o writes another file")
    return AtomicFile(path, force=True, like=descriptor, packer=packer_for(path.name))


def _seen(status: os.stat_result) -> tuple[int, ...]:
    """Return what tells a file from another, and from itself after a change."""
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _publish(outcome: Outcome, sink: AtomicFile) -> None:
    """Give an output its name.

    Raises:
        InputError, OutputError: then the target is as it was, and no temporary file is left.
    """
    try:
        if outcome.replaced and _seen(os.lstat(sink.target)) != _seen(outcome.replaced):
            what = "changed while it was read, and is not replaced"
            raise InputError(sink.target, what, "run it again")
        sink.publish()
    except OSError as error:
        raise OutputError(f"{outcome.name}: {reason(error)}") from None
    finally:
        sink.discard()  # nothing to discard once it has its name


def _attempt(outcome: Outcome, step: Callable[[], None]) -> None:
    """Do a step of publishing an output, unless an earlier one has failed."""
    try:
        if outcome.error is None:
            step()
    except (InputError, OutputError) as error:
        outcome.error = error


class Group:
    """Outcomes whose outputs wait for the disk.

    Args:
        audit: has the rows of each file, in order, before the file has its name.
        requests: gets the input of each output.
        settled: called with each outcome, in order, once its output has its name or an error.
    """

    def __init__(
        self,
        audit: AuditWriter | None,
        requests: RequestFile | None,
        settled: Callable[[Outcome], None],
    ) -> None:
        self._audit, self._requests, self._settled = audit, requests, settled
        self._waiting: deque[Outcome] = deque()
        self._since = time.monotonic()
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        self._most = _MOST if soft < 0 else max(1, min(_MOST, soft // 4))
        if audit:
            self._most = 1  # its rows come in the order of the files

    def add(self, outcome: Outcome) -> None:
        """Take an outcome in, which waits for others.  Raises as :meth:`flush`."""
        self._waiting.append(outcome)
        if len(self._waiting) >= self._most or time.monotonic() - self._since > _SECONDS:
            self.flush()

    def flush(self) -> None:
        """Sync all outputs, then give them their names.

        Raises:
            OutputError: the file of requests, or that of the audit, cannot be written.
        """
        outputs = [(outcome, outcome.sink) for outcome in self._waiting if outcome.sink]
        if outputs:
            with ThreadPoolExecutor(min(_AT_ONCE, len(outputs))) as pool:
                deque(pool.map(lambda pair: _attempt(pair[0], pair[1].sync), outputs), 0)
            if self._requests:
                made = [(sink.target, outcome.sha256[0]) for outcome, sink in outputs]
                self._requests.add_outputs(made)
            if self._audit:
                self._audit.place()
        folders: dict[Path, list[Outcome]] = {}
        while self._waiting:
            outcome = self._waiting.popleft()
            if sink := outcome.sink:
                _attempt(outcome, partial(_publish, outcome, sink))
                if outcome.error is None:
                    folders.setdefault(sink.target.parent, []).append(outcome)
            self._settled(outcome)
        for folder, placed in folders.items():
            try:
                sync_directory(folder)
            except OSError as error:
                problem = OutputError(f"{folder}: cannot write: {reason(error)}")
                for outcome in placed:  # there and complete; only their names may be lost
                    outcome.error = problem
                    self._settled(outcome)
        self._since = time.monotonic()

    def abandon(self) -> None:
        """Remove what waits still; nothing after a :meth:`flush`."""
        for outcome in self._waiting:
            if outcome.sink:
                outcome.sink.discard()
        self._waiting.clear()
