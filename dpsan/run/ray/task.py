"""Rewrite one file on a worker, into temporary files that the driver publishes.

An answer holds counts, hashes, names of files and error messages of dpsan: never text.  With equal
words drawn once per file or run, it also holds keyed marks of the words that occurred, which are as
secret as the key of the run.
"""

from __future__ import annotations

import os
import pickle
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from dpsan.embeddings.cache.store import Store
from dpsan.errors import DpsanError, UnexpectedError, UsageError
from dpsan.files.temporaries import temporary_name
from dpsan.formats.passing import Passing
from dpsan.run.audit import AuditWriter
from dpsan.run.one_file import rewrite_file
from dpsan.run.stream import Outcome, Plan, Work
from dpsan.sanitize.request import RunSpec
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.version import __version__


@dataclass(frozen=True)
class Job:
    """All that the tasks of a run share.  Secret: it holds the key of the run."""

    spec: RunSpec
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
