"""Files that a run writes besides its outputs: bad records, a log, and words for a reviewer.

Bad records are written to a file of their own while the others go on, as they were, so that file is
as secret as the input.  The log has a line of JSON for each input, for programs that watch a run.
The file of ``--review`` has lines of JSON, UTF-8, as sensitive as the input: a header, then each
different word with its count, those that pass before those that are drawn, the most frequent ones
first::

    {"type": "review", "schema": 1, "dpsan": VERSION, "complete": true}
    {"word": ..., "count": N, "class": ..., "group": ..., "rule": ..., "passes": null}
    {"word": ..., "count": N, "class": null, "group": null, "rule": null, "passes": BY}
"""

from __future__ import annotations

import datetime
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Self

import orjson

from dpsan.errors import InputError, error_code, failure
from dpsan.files.atomic_files import AtomicFile, PrivateFile, write_all
from dpsan.files.names import stream_number
from dpsan.run.plan import Outcome, Result
from dpsan.sanitize.accountant import Accountant
from dpsan.sanitize.result import AuditTable
from dpsan.version import __version__

_SHOWN: Final = 3
"""Number of problems that are printed one by one; the file has the others."""


def encodable(text: str) -> str:
    """Return the text with lone surrogates (which JSON in UTF-8 cannot hold) replaced."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


class BadRecords(PrivateFile):
    """Takes bad records; a context manager.

    Args:
        path: created with mode 0600 under every umask.
        force: replace an existing file.
        complain: called with the first problems.

    Raises:
        OutputError: it exists or cannot be written.
    """

    def __init__(self, path: Path, *, force: bool, complain: Callable[[str], None]) -> None:
        super().__init__(path, force=force)
        self.place()
        self._complain, self.count = complain, 0

    def __call__(self, raw: bytes, problem: InputError | None) -> None:
        """Write a record to the file of bad records.

        Args:
            raw: as it stands in the input, with its ending.
            problem: names file and line; None for another piece of the same record.
        """
        self.send(raw)
        if problem is None:
            return
        self.count += 1
        if self.count <= _SHOWN:
            self._complain(f"{problem.on_command_line()}: left out")


class FileLog(PrivateFile):
    """An open log, for the owner alone; lines are written as inputs end.  A context manager.

    It has names of files, numbers and errors, and no text.  Each line has the time, the version and
    the name of the run; the last one is of the run as a whole.

    Args:
        path: created; ``/dev/stderr`` and other open streams are written to.
        run: name of the run, which tells nothing of its key.
        force: replace an existing file.

    Raises:
        OutputError: it exists and ``force`` is not given, or it cannot be created.
    """

    def __init__(self, path: Path, run: str, *, force: bool) -> None:
        self._run, self._began, self._ended = run, {0: time.monotonic()}, False
        if (stream := stream_number(path)) is None:
            super().__init__(path, force=force)
            self.place()
        else:
            self._path, self._new, self._descriptor = path, None, os.dup(stream)

    def begin(self, file: int) -> None:
        """Note when an input begins."""
        self._began[file] = time.monotonic()

    def end(self, outcome: Outcome) -> None:
        """Write the line of an input.  Raises OutputError: it cannot be written."""
        path, error = outcome.task.path, outcome.error
        more: dict[str, Any] = {"path": encodable(str(path))}
        if outcome.status == "complete":
            more = {"path": encodable(outcome.name)} | _sums(outcome.totals)
        elif error:
            more |= {"code": error_code(error), "error": encodable(failure(path, error))}
        self._write("input", outcome.task.file, outcome.status, more)

    def _write(self, kind: str, file: int, status: str, more: dict[str, Any]) -> None:
        """Write a line, with the time since an input began; 0 is the run."""
        time_now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
        row: dict[str, Any] = {"type": kind, "time": time_now, "run": self._run}
        row |= {"dpsan": __version__, "status": status, **more}
        if (began := self._began.pop(file, None)) is not None:
            row["seconds"] = round(time.monotonic() - began, 3)
        write_all(self._descriptor, orjson.dumps(row) + b"\n", self._path)

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        """Write the line of a run that was interrupted.  Raises OutputError."""
        if not self._ended:
            self._write("run", 0, "interrupted", {})
        super().__exit__(kind, *rest)

    def run(self, result: Result) -> None:
        """Write the line of the run: how many inputs are complete, failed and skipped.

        Raises:
            OutputError: it cannot be written.
        """
        self._ended = True
        failed = len(result.failed)
        status = "partial" if result.done or result.skipped else "failed"
        counts = {"complete": result.done, "failed": failed, "skipped": result.skipped}
        self._write("run", 0, status if failed else "complete", counts | _sums(result.totals))


def _sums(totals: Accountant) -> dict[str, Any]:
    whole = totals.composed(totals.charges)
    counts = {"records": totals.records, "words": totals.words, "drawn": totals.draws}
    return counts | {"epsilon": whole.epsilon, "delta": whole.delta}  # not finite: null


SCHEMA: Final = 1


class Review:
    """Counts words, and writes them when the run ends; a context manager.

    In memory a different word takes about 200 bytes.

    Args:
        path: created with mode 0600 under every umask.
        classes: class of each group.
        force: replace an existing file.

    Raises:
        OutputError: the file exists or cannot be created.
    """

    def __init__(self, path: Path, classes: Mapping[str, str | None], *, force: bool) -> None:
        self._sink = AtomicFile(path, force=force, private=True)
        self._classes = classes
        self._counts = Counter[tuple[str, tuple[str, str] | None, str | None]]()

    def add(self, table: AuditTable) -> None:
        """Count the words of a batch, in one of its copies."""
        assert table.reasons is not None and table.passes is not None  # noqa: S101, PT018
        self._counts.update(zip(table.originals, table.reasons, table.passes, strict=True))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Write it, also for a run that failed.  Raises OutputError."""
        with self._sink:
            head = {"type": "review", "schema": SCHEMA, "dpsan": __version__}
            self._sink.write(orjson.dumps(head | {"complete": kind is None}) + b"\n")
            pairs = sorted(self._counts.items(), key=lambda pair: (not pair[0][2], -pair[1]))
            for (word, reason, passes), count in pairs:
                group, rule = reason or (None, None)
                row = {"word": encodable(word), "count": count}
                row |= {"class": self._classes.get(group or ""), "group": group, "rule": rule}
                self._sink.write(orjson.dumps(row | {"passes": passes}) + b"\n")
            self._sink.commit()
