"""One run on a cluster: inputs cut, counted, rewritten in pieces, joined in order.

Knows pieces and answers.  Must not know Ray: an :class:`Engine` does the work.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol

from dpsan.errors import DpsanError, InputError, OutputError, failure, file_reason
from dpsan.errors import reason as os_reason
from dpsan.formats.leftovers import hold_directory, sweep_directories
from dpsan.formats.placing import refuse_special
from dpsan.run.audit import AuditWriter
from dpsan.run.paths import plan_outputs
from dpsan.run.ray.join import Joining
from dpsan.run.ray.pieces import Piece, cut, opened, piece_bytes
from dpsan.run.ray.work import Job, Row, part_audit, totals
from dpsan.run.run import Result
from dpsan.run.stream import Outcome, Plan
from dpsan.sanitize.accountant import Accountant
from dpsan.sanitize.sanitizer import Sanitizer

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
    noted: Counter[str] = field(default_factory=Counter)
    state: Outcome | str = ""
    """``failed``, ``skipped``, or the outcome; empty while it is worked on."""


@dataclass
class ClusterRun:
    """Files to files below a directory, by an engine; results are those of one process."""

    sanitizer: Sanitizer
    plan: Plan
    key: bytes
    inputs: list[Path]
    output: Path
    engine: Callable[[ExitStack], Engine]
    """Starts the engine, once it is known that there is work, and says how it is stopped."""
    cache: Path
    resume: bool = False
    audit: AuditWriter | None = None
    audit_path: Path | None = None
    originals: bool = False
    progress: Callable[[int], None] | None = None
    complain: Callable[[str], None] = lambda _: None
    """Told of each failed input at once."""
    piece_bytes: int | None = None
    """Wanted size of a piece; no result depends on it."""

    def execute(self) -> Result:
        """Do it; failed inputs do not stop the others.

        Raises:
            DpsanError: the cluster failed.
        """
        result = Result(self.sanitizer.accountant(whole_run=True))
        complete = False
        try:
            targets = plan_outputs(self.inputs, self.output)
            inputs = [
                _Input(file, path, target, self.sanitizer.accountant())
                for file, (path, target) in enumerate(
                    zip(self.inputs, targets, strict=True), start=1
                )
            ]
            try:
                self._work(result, inputs)
            finally:
                result.became = {
                    each.file: (str(each.path), each.state or "failed") for each in inputs
                }
            complete = not result.failed
        finally:
            if self.audit:
                self.audit.totals(result.totals, result.hashes, complete=complete)
        return result

    def _fail(self, result: Result, each: _Input, message: str) -> None:
        if not each.state:
            each.state = "failed"
            result.failed.append(message)
            self.complain(message)

    def _work(self, result: Result, inputs: list[_Input]) -> None:
        for each in inputs:
            self._admit(result, each)
        todo = [each for each in inputs if not each.state]
        if not todo:
            return
        with ExitStack() as stack:
            # Directories first: they are removed when nobody writes into them any more.
            job = self._job(stack)
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
                    self._fail(result, each, failure(each.path, error))
                number += len(each.pieces)
            self._count(result, engine, job, todo)
            self._rewrite(result, engine, job, [each for each in todo if not each.state])

    def _admit(self, result: Result, each: _Input) -> None:
        """See whether an input is worked on."""
        if self.resume and each.target.exists():
            result.skipped += 1
            each.state = "skipped"
            if self.progress:
                self.progress(each.path.stat().st_size if each.path.exists() else 0)
            return
        try:
            each.status = _status(each.path)
            refuse_special(each.target)
            if os.path.lexists(each.target) and not self.plan.force:
                raise OutputError(f"{each.target}: exists", "--force replaces it")
        except Exception as error:  # noqa: BLE001 - one input's: the others go on
            self._fail(result, each, failure(each.path, error))

    def _job(self, stack: ExitStack) -> Job:
        return Job(
            self.sanitizer.spec,
            self.cache.absolute(),
            self.sanitizer.embeddings.digest,
            self.plan,
            self.key,
            _temporary(stack, self.output),
            None if self.audit_path is None else _temporary(stack, self.audit_path.parent),
            self.originals,
        )

    def _count(self, result: Result, engine: Engine, job: Job, inputs: list[_Input]) -> None:
        """Number the texts and lines of the pieces as a single process would."""
        pieces = [piece for each in inputs for piece in each.pieces if not piece.whole]
        if not pieces:
            return
        # Whoever counts needs no key.
        answers = _by_piece(engine.count(replace(job, key=b""), pieces))
        for each in inputs:
            line, text = 1, 0
            for at, piece in enumerate(each.pieces):
                if piece.whole:
                    continue
                row = answers[piece.number]
                if row["error"]:
                    shift = line - 2 if piece.start and not piece.groups else 0
                    self._fail(result, each, _told(each, row, shift))
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
                    if each.state:
                        continue
                    try:
                        if row["error"]:
                            self._fail(result, each, _told(each, row))
                            continue
                        if joining is None:
                            joining = Joining(
                                each.path,
                                each.target,
                                force=self.plan.force,
                                groups=self.plan.options if piece.groups else None,
                            )
                            stack.callback(joining.discard)
                        self._join(joining, job, each, row)
                    except Exception as error:  # noqa: BLE001 - one input's: the others go on
                        self._fail(result, each, failure(each.path, error))
                if joining is not None and not each.state:
                    try:
                        self._finish(result, joining, each)
                    except Exception as error:  # noqa: BLE001 - one input's: the others go on
                        self._fail(result, each, failure(each.path, error))

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
        each.noted.update(row["noted"])
        if self.audit and job.audits:
            rows = part_audit(job.audits, row["part"])
            self.audit.append(rows)
            rows.unlink(missing_ok=True)

    def _finish(self, result: Result, joining: Joining, each: _Input) -> None:
        if _status(each.path) != each.status:
            raise InputError(each.path, "changed while it was read", "run it again")
        before = _sha256(each.path) if self.audit else ""
        hashes = before, joining.commit()
        outcome = Outcome(str(each.path), each.totals, hashes, each.bare, each.noted)
        each.state = outcome
        result.outcomes.append(outcome)
        result.totals.merge(outcome.totals)
        if self.audit:
            self.audit.file(each.file, outcome.name, outcome.totals, outcome.sha256)


def _told(each: _Input, row: Row, shift: int = 0) -> str:
    """The message of an answer, with the line that it has in the whole file."""
    if not row["input"]:
        return str(row["error"])
    what, _, hint = str(row["error"]).partition("\n")
    return str(InputError(each.path, what, hint, line=row["line"] + shift if row["line"] else None))


def _by_piece(rows: Iterator[Row]) -> dict[int, Row]:
    return {int(row["piece"]): row for row in rows}


def _status(path: Path) -> tuple[int, int]:
    """Size and time of change of a regular file.  Raises InputError."""
    try:
        status = path.stat()
    except OSError as error:
        raise InputError(path, file_reason(error)) from None
    if stat.S_ISDIR(status.st_mode):
        raise InputError(path, "is a directory", "find DIR -type f | xargs dpsan rewrite ...")
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
    with opened(path) as source:
        while source.read():
            pass
        return source.sha256
