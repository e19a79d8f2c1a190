"""A line of JSON for each input of a run, for programs that watch it (``--log-json``)."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from dpsan.files.atomic_files import create_private, write_all
from dpsan.files.final_name import stream_number
from dpsan.run.audit.rows import encodable

if TYPE_CHECKING:
    from dpsan.sanitize.accountant import Accountant


class FileLog:
    """An open log, for the owner alone; lines are written as inputs end.  A context manager.

    It has names of files, numbers and errors, and no text.

    Args:
        path: created; ``/dev/stderr`` and other open streams are written to.
        force: replace an existing file.

    Raises:
        OutputError: it exists and ``force`` is not given, or it cannot be created.
    """

    def __init__(self, path: Path, *, force: bool) -> None:
        self._path = path
        stream = stream_number(path)
        self._descriptor = create_private(path, force=force) if stream is None else os.dup(stream)
        self._began: dict[int, float] = {}

    def begin(self, file: int) -> None:
        """Note when an input begins."""
        self._began[file] = time.monotonic()

    def end(
        self,
        file: int,
        path: str,
        status: str,
        totals: Accountant | None = None,
        error: str | None = None,
    ) -> None:
        """Write the line of an input.

        Args:
            status: ``complete``, ``failed`` or ``skipped``.
            totals: of a complete one.

        Raises:
            OutputError: it cannot be written.
        """
        began = self._began.pop(file, None)
        row: dict[str, Any] = {"path": encodable(path), "status": status}
        if totals is not None:
            whole = totals.composed(totals.charges)
            row |= {"records": totals.records, "words": totals.words, "drawn": totals.draws}
            row |= {"epsilon": whole.epsilon, "delta": whole.delta}  # not finite: null
        if error is not None:
            row["error"] = encodable(error)
        if began is not None:
            row["seconds"] = round(time.monotonic() - began, 3)
        write_all(self._descriptor, orjson.dumps(row) + b"\n", self._path)

    def __enter__(self) -> FileLog:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)
