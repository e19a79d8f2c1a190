"""Hand out one task per input file, and publish the outputs in the order of the inputs.

An engine runs the tasks: nothing here imports Ray.  A worker rewrites one file into temporary files
that the driver publishes.  Its answer holds counts, hashes, names of files and error messages of
dpsan: never text.  With equal words drawn once per file or run, it also holds keyed marks of the
words that occurred, which are as secret as the key of the run.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias

from dpsan.embeddings.cache.store import Store
from dpsan.errors import DpsanError, InputError, OutputError, UnexpectedError, UsageError, reason
from dpsan.files.names import publish, sweep, sync_directory, temporary_name
from dpsan.formats.passing import Passing
from dpsan.run.audit import AuditWriter
from dpsan.run.group import rewrite_file
from dpsan.run.run import Result, Run, plan_outputs, replaceable
from dpsan.run.stream import Outcome, Plan, Work
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.sanitize.settings import Settings
from dpsan.version import __version__


@dataclass(frozen=True)
class Job:
    """All that the tasks of a run share.  Secret: it holds the key of the run."""

    spec: Settings
    cache: Path
    digest: str
    """Digest of the embeddings that the guarantee was computed for."""
    plan: Plan
    key: bytes = field(repr=False)
    audit: Path | None = None
    """The audit log of the run: each task writes its rows to a temporary file beside it."""
    originals: bool = False
    directory: Path = field(default_factory=Path.cwd)
    """Working directory of the driver, to which paths are relative."""
    umask: int = 0o077

    def packed(self) -> bytes:
        """Return the job for :func:`rewrite`: a worker with another dpsan could not unpickle it."""
        return pickle.dumps(self)


@dataclass(frozen=True)
class Task:
    """One input and its output."""

    file: int
    """Number of the input within the run, from 1."""
    path: Path
    target: Path


@dataclass
class Answer:
    """Result of a task."""

    outcome: Outcome | None = None
    output: Path | None = None
    """The finished output under its temporary name."""
    rows: Path | None = None
    """Rows of the audit log, also of an input that failed."""
    passing: Passing = field(default_factory=Passing)
    error: DpsanError | None = None


def rewrite(version: str, job: bytes, task: Task) -> Answer:
    """Rewrite an input.

    Nothing is raised: Ray would print the error of a library, which may quote what it was given.

    Args:
        version: version of the driver's dpsan.
        job: from :meth:`Job.packed`.
        task: the input.
    """
    answer = Answer()
    try:
        if version != __version__:
            raise UsageError(f"a worker has dpsan {__version__}, the driver {version}")
        _rewrite(*_opened(job), task, answer)
    except DpsanError as error:
        answer.error = error
    except Exception as error:  # noqa: BLE001 - see above
        answer.error = UnexpectedError(error)
    return answer


@lru_cache(1)
def _opened(packed: bytes) -> tuple[Job, Sanitizer]:
    """Return the job and its sanitizer: a worker loads the vectors once for all its tasks."""
    job: Job = pickle.loads(packed)  # noqa: S301 - from the driver
    os.chdir(job.directory)
    os.umask(job.umask)
    sanitizer = Sanitizer.from_spec(job.spec, Store(job.cache))
    if sanitizer.embeddings.digest != job.digest:
        raise UsageError("a worker's embedding file is not the driver's")
    return job, sanitizer


def _rewrite(job: Job, sanitizer: Sanitizer, task: Task, answer: Answer) -> None:
    with ExitStack() as stack:
        work = Work(sanitizer, job.plan, job.key, passing=answer.passing)
        if job.audit is not None:
            rows, copies = job.audit.with_name(temporary_name(job.audit.name)), job.plan.copies
            writer = AuditWriter(rows, sanitizer, originals=job.originals, copies=copies, part=True)
            work.audit, answer.rows = stack.enter_context(writer), rows
        finished = rewrite_file(task.path, task.target, work, task.file)
        finished.sink.sync()
        answer.output = finished.sink.hand_over()
    answer.outcome = finished.outcome


Engine: TypeAlias = Callable[[Job, Sequence[Task]], Iterator[tuple[Task, Answer]]]
"""Runs tasks; the answers come in any order."""

_CHUNK: Final = 1 << 20


@dataclass(kw_only=True)
class ClusterRun(Run):
    """A run of files to a directory whose inputs are rewritten by an engine."""

    start: Callable[[ExitStack], Engine]
    """Starts the engine; the stack stops it."""
    cache: Path
    audit_path: Path | None = None
    originals: bool = False

    def _do(self, result: Result) -> None:
        assert isinstance(self.output, Path)  # noqa: S101 - a cluster needs a directory
        targets = [*plan_outputs(self.inputs, self.output, self.roots)]
        tasks = []
        for file, (path, target) in enumerate(zip(self.inputs, targets, strict=True), start=1):
            if not self._skip(result, file, path, target):
                tasks.append(Task(file, path, target))
        what = "not a regular file", "--engine ray needs files"
        refused = [task for task in tasks if not replaceable(task.path)]
        answers = {task: Answer(error=InputError(task.path, *what)) for task in refused}
        audit = [] if self.audit_path is None else [self.audit_path]
        sweep(*audit, again=True)  # a run that was killed left rows there
        with ExitStack() as stack:
            # First on the stack: temporary files are removed after the engine has stopped.
            stack.callback(sweep, *audit, *targets, again=True)
            umask = os.umask(0)
            os.umask(umask)
            job = Job(
                self.sanitizer.spec,
                self.cache.absolute(),
                self.sanitizer.embeddings.digest,
                self.plan,
                self.key,
                self.audit_path,
                self.originals,
                umask=umask,
            )
            rest = [task for task in tasks if task not in answers]
            arriving = self.start(stack)(job, rest) if rest else iter(())
            for task in tasks:
                while task not in answers:
                    done, answer = next(arriving)
                    answers[done] = answer
                self._take(result, task, answers.pop(task))

    def _take(self, result: Result, task: Task, answer: Answer) -> None:
        """Publish an output, after its rows of the audit log."""
        self.passing.merge(answer.passing)
        if self.audit and answer.rows:
            _move(answer.rows, self.audit.send)
        try:
            if answer.outcome is None or answer.output is None:
                raise answer.error or DpsanError("a worker sent no answer")
            if self.audit:
                self.audit.place()
            if self.requests:
                self.requests.add_outputs([(task.target, answer.outcome.sha256[0])])
            publish(answer.output, task.target, force=self.plan.force)
            sync_directory(task.target.parent)
        except OSError as error:
            problem = OutputError(f"{task.target}: cannot write: {reason(error)}")
            self._fail(result, task.file, task.path, problem)
        except DpsanError as error:
            self._fail(result, task.file, task.path, self._race(task.path, task.target, error))
        else:
            self._record(result, task.file, answer.outcome)
        if self.progress:
            self.progress(task.path.stat().st_size if task.path.exists() else 0)


def _move(rows: Path, send: Callable[[bytes], None]) -> None:
    """Append the rows of a task to the audit log.  Raises OutputError."""
    try:
        with rows.open("rb") as file:
            while data := file.read(_CHUNK):
                send(data)
        rows.unlink()
    except OSError as error:
        raise OutputError(f"{rows}: cannot read: {reason(error)}") from None
