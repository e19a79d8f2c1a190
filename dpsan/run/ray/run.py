"""One run on a cluster: inputs cut, counted, rewritten in pieces, joined in order.

Knows pieces and answers.  Must not know Ray: an :class:`Engine` does the work.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol

from dpsan.errors import DpsanError, InputError, OutputError, file_reason
from dpsan.errors import reason as os_reason
from dpsan.files.placing import refuse_special
from dpsan.files.temporaries import hold_directory, sweep_directories
from dpsan.formats.passing import Passing
from dpsan.formats.registry import format_for
from dpsan.run.paths import is_finished, opened_input, plan_outputs
from dpsan.run.ray.join import Joining, take
from dpsan.run.ray.pieces import Piece, cut, piece_bytes
from dpsan.run.ray.work import Job, Row, part_audit, totals
from dpsan.run.run import Result, Run
from dpsan.run.stream import Outcome
from dpsan.sanitize.accountant import Accountant

_TEMPORARY: Final = (".dpsan-", ".tmp")
"""How the names of temporary directories begin and end."""


class Engine(Protocol):
    """Who works on pieces; answers come in any order, one for each piece."""

    workers: int

    def count(self, job: Job, pieces: list[Piece]) -> Iterator[Row]:
        """See :func:`dpsan.run.ray.work.count`."""
        ...

    def rewrite(self, job: Job, pieces: list[Piece]) -> Iterator[Row]:
        """See :func:`dpsan.run.ray.work.rewrite`."""
        ...


@dataclass
class _Input:
    """An input on its way."""

    file: int
    path: Path
    target: Path
    totals: Accountant
    status: tuple[int, int] = (0, 0)
    """Size and time of change when the run began."""
    pieces: list[Piece] = field(default_factory=list)
    bare: int = 0
    passing: Passing = field(default_factory=Passing)


@dataclass(kw_only=True)
class ClusterRun(Run):
    """Files to files below a directory, by an engine; results are those of one process."""

    engine: Callable[[ExitStack], Engine]
    """Starts the engine, once it is known that there is work, and says how it is stopped."""
    cache: Path
    audit_path: Path | None = None
    originals: bool = False
    piece_bytes: int | None = None
    """Wanted size of a piece; no result depends on it."""

    def _do(self, result: Result) -> None:
        """Raises DpsanError: the cluster failed."""
        assert isinstance(self.output, Path)  # noqa: S101 - a cluster needs a directory
        todo: list[_Input] = []
        targets = plan_outputs(self.inputs, self.output, self.roots)
        for file, (path, target) in enumerate(zip(self.inputs, targets, strict=True), start=1):
            each = _Input(file, path, target, self.sanitizer.accountant())
            if self._admitted(result, each):
                todo.append(each)
        if not todo:
            return
        with ExitStack() as stack:
            # Directories first: they are removed when nobody writes into them any more.
            job = self._job(stack, self.output)
            engine = self.engine(stack)
            total = sum(each.status[0] for each in todo)
            size = self.piece_bytes or piece_bytes(total, engine.workers)
            number = 0
            for each in todo:
                try:
                    each.pieces = cut(
                        each.path, each.file, number, self.plan.format, self.plan.options, size
                    )
                except Exception as error:  # noqa: BLE001 - one input's: the others go on
                    self._fail(result, each.file, each.path, error)
                number += len(each.pieces)
            self._count(result, engine, job, todo)
            todo = [each for each in todo if each.file not in result.became]
            self._rewrite(result, engine, job, todo)

    def _admitted(self, result: Result, each: _Input) -> bool:
        """Whether an input is worked on."""
        if self.resume and is_finished(each.path, each.target):
            self._skip(result, each.file, each.path)
            return False
        try:
            each.status = _status(each.path)
            refuse_special(each.target)
            if os.path.lexists(each.target) and not self.plan.force:
                raise OutputError(f"{each.target}: exists", "--force replaces it")
        except Exception as error:  # noqa: BLE001 - one input's: the others go on
            self._fail(result, each.file, each.path, error)
            return False
        return True

    def _job(self, stack: ExitStack, output: Path) -> Job:
        return Job(
            self.sanitizer.spec,
            self.cache.absolute(),
            self.sanitizer.embeddings.digest,
            self.plan,
            self.key,
            _temporary(stack, output),
            None if self.audit_path is None else _temporary(stack, self.audit_path.parent),
            self.originals,
        )

    def _count(self, result: Result, engine: Engine, job: Job, inputs: list[_Input]) -> None:
        """Number the texts and lines of the pieces as a single process would."""
        pieces = [piece for each in inputs for piece in each.pieces if not piece.whole]
        if not pieces:
            return
        # Whoever counts needs no key.
        answers = {row["piece"]: row for row in engine.count(replace(job, key=b""), pieces)}
        for each in inputs:
            line, text = 1, 0
            for at, piece in enumerate(each.pieces):
                if piece.whole:
                    continue
                row = answers[piece.number]
                if row["error"]:
                    shift = line - 2 if piece.start and not piece.groups else 0
                    self._fail(result, each.file, each.path, _told(each, row, shift))
                    break
                each.pieces[at] = replace(
                    piece, first_line=line, first_text=text, texts=row["texts"]
                )
                line, text = line + row["lines"], text + row["texts"]

    def _rewrite(self, result: Result, engine: Engine, job: Job, inputs: list[_Input]) -> None:
        """Have all pieces rewritten, and join them in order as they come."""
        pieces = [piece for each in inputs for piece in each.pieces]
        if not pieces:
            return
        answers: dict[int, Row] = {}
        sizes = {piece.number: piece.size for piece in pieces}
        rows = engine.rewrite(job, pieces)
        for each in inputs:
            with ExitStack() as stack:
                joining: Joining | None = None
                for piece in each.pieces:
                    while piece.number not in answers:
                        self._take(answers, rows, sizes)
                    row = answers.pop(piece.number)
                    if each.file in result.became:
                        continue
                    try:
                        if row["error"]:
                            raise _told(each, row)
                        if joining is None:
                            joining = Joining(
                                each.path,
                                each.target,
                                force=self.plan.force,
                                groups=self.plan.options if piece.groups else None,
                            )
                            stack.callback(joining.discard)
                        self._join(joining, job, each, row)
                        if piece is each.pieces[-1]:
                            self._finish(result, joining, each)
                    except Exception as error:  # noqa: BLE001 - one input's: the others go on
                        self._fail(result, each.file, each.path, error)

    def _take(self, answers: dict[int, Row], rows: Iterator[Row], sizes: dict[int, int]) -> None:
        """Wait for one more answer."""
        row = next(rows, None)
        if row is None:
            raise DpsanError("the cluster lost a piece of the work", "run it again")
        at = int(row["piece"])
        answers[at] = row
        if self.progress:
            self.progress(sizes[at])

    def _join(self, joining: Joining, job: Job, each: _Input, row: Row) -> None:
        joining.add(job.parts / row["part"])
        each.totals.merge(totals(row, self.sanitizer))
        each.bare += row["bare"]
        each.passing.merge(Passing.of(row["passing"]))
        if self.audit and job.audits:
            take(part_audit(job.audits, row["part"]), self.audit.send)

    def _finish(self, result: Result, joining: Joining, each: _Input) -> None:
        if _status(each.path) != each.status:
            raise InputError(each.path, "changed while it was read", "run it again")
        before = _sha256(each.path) if self.audit else ""
        hashes = before, joining.commit()
        kind = format_for(self.plan.format, str(each.path)).name
        outcome = Outcome(
            str(each.path), each.totals, hashes, bare=each.bare, passing=each.passing, format=kind
        )
        self.passing.merge(each.passing)
        self._record(result, each.file, outcome)


def _told(each: _Input, row: Row, shift: int = 0) -> DpsanError:
    """The error of an answer, with the line that it has in the whole file."""
    if not row["input"]:
        return DpsanError(row["error"])
    what, _, hint = str(row["error"]).partition("\n")
    return InputError(each.path, what, hint, line=row["line"] + shift if row["line"] else None)


def _status(path: Path) -> tuple[int, int]:
    """Size and time of change of a regular file.  Raises InputError."""
    try:
        status = path.stat()
    except OSError as error:
        raise InputError(path, file_reason(error)) from None
    if stat.S_ISDIR(status.st_mode):
        raise InputError(path, "is a directory", "-r reads all files below it")
    if not stat.S_ISREG(status.st_mode):
        raise InputError(path, "not a regular file", "--engine ray needs files")
    return status.st_size, status.st_mtime_ns


def _temporary(stack: ExitStack, parent: Path) -> Path:
    """A directory for the owner alone, removed at the end.  Raises OutputError."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        sweep_directories(parent, *_TEMPORARY)
        path = Path(tempfile.mkdtemp(_TEMPORARY[1], _TEMPORARY[0], parent)).absolute()
        stack.callback(shutil.rmtree, path, ignore_errors=True)
        hold_directory(path, stack)
    except OSError as error:
        raise OutputError(f"{parent}: cannot create: {os_reason(error)}") from None
    return path


def _sha256(path: Path) -> str:
    with opened_input(path) as source:
        while source.read():
            pass
        return source.sha256
