"""Hand out one task per input file, and publish the outputs in the order of the inputs.

An engine runs the tasks: nothing here imports Ray.  A worker rewrites one file into temporary files
that the driver publishes.  Its answer holds counts, hashes, names of files and error messages of
dpsan: never text.  With equal words drawn once per file or run, it also holds keyed marks of the
words that occurred, which are as secret as the key of the run.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from dpsan.embeddings.cache.store import Store
from dpsan.errors import DpsanError, InputError, UsageError
from dpsan.files.names import sweep
from dpsan.run.group import Group, rewrite_file
from dpsan.run.run import Run, replaceable
from dpsan.run.stream import Outcome, Plan, Task, Work
from dpsan.run.workers import portable
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
    directory: Path = field(default_factory=Path.cwd)
    """Working directory of the driver, to which paths are relative."""
    umask: int = 0o077

    def packed(self) -> bytes:
        """Return the job for :func:`rewrite`: a worker with another dpsan could not unpickle it."""
        return pickle.dumps(self)


def rewrite(version: str, job: bytes, task: Task) -> Outcome | DpsanError:
    """Rewrite an input.

    Nothing is raised: Ray would print the error of a library, which may quote what it was given.

    Args:
        version: version of the driver's dpsan.
        job: from :meth:`Job.packed`.
        task: the input.

    Returns:
        An outcome that can be pickled, or the error of a job that cannot begin.
    """
    try:
        if version != __version__:
            raise UsageError(f"a worker has dpsan {__version__}, the driver {version}")
        return _rewritten(*_opened(job), task)
    except Exception as error:  # noqa: BLE001 - see above
        return portable(error)


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


def _rewritten(job: Job, sanitizer: Sanitizer, task: Task) -> Outcome:
    outcome = rewrite_file(task, Work(sanitizer, job.plan, job.key))
    if outcome.sink:
        outcome.sink.sync()
        outcome.sink.hand_over()
    if outcome.error is not None:
        outcome.error = portable(outcome.error)
    return outcome


Answer: TypeAlias = Outcome | DpsanError
Engine: TypeAlias = Callable[[Job, Sequence[Task]], Iterator[tuple[Task, Answer]]]
"""Runs tasks; the answers come in any order."""


@dataclass(kw_only=True)
class ClusterRun(Run):
    """A run of files to a directory whose inputs are rewritten by an engine."""

    start: Callable[[ExitStack], Engine]
    """Starts the engine; the stack stops it."""
    cache: Path
    tree: bool = True

    def _outcomes(self, tasks: Iterator[Task], group: Group) -> Generator[Outcome]:
        waiting = [*tasks]
        what = "not a regular file", "--engine ray needs files"
        refused = [task for task in waiting if not replaceable(task.path)]
        answers: dict[Task, Answer] = {task: InputError(task.path, *what) for task in refused}
        targets = [task.target for task in waiting if task.target]
        with ExitStack() as stack:
            # First on the stack: temporary files are removed after the engine has stopped.
            stack.callback(sweep, *targets, again=True)
            umask = os.umask(0)
            os.umask(umask)
            job = Job(
                self.sanitizer.spec,
                self.cache.absolute(),
                self.sanitizer.embeddings.digest,
                self.plan,
                self.key,
                umask=umask,
            )
            rest = [task for task in waiting if task not in answers]
            arriving = self.start(stack)(job, rest) if rest else iter(())
            for task in waiting:
                while task not in answers:
                    done, answer = next(arriving)
                    answers[done] = answer
                yield self._arrived(task, answers.pop(task))
            group.flush()

    def _arrived(self, task: Task, answer: Answer) -> Outcome:
        """Return the outcome of a task."""
        if isinstance(answer, DpsanError):
            answer = Outcome(task, self.sanitizer.accountant(), str(task.path), error=answer)
        if self.progress:
            self.progress(task.path.stat().st_size if task.path.exists() else 0)
        return answer
