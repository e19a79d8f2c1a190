"""``rewrite --engine ray``: one task per input file, on a Ray cluster.

A task does what a single process does with the same file: it has the same key, so it draws the same
words.  A worker rewrites one file into a temporary file, and the driver publishes the outputs in
the order of the inputs.  No text passes through Ray: every machine must find the files under the
same paths.  An answer holds counts, hashes, names of files and error messages of dpsan.  With equal
words drawn once per file or run, it also holds keyed marks of the words that occurred, which are as
secret as the key of the run.  Ray's usage reports, its dashboard and the output of its workers are
off.
"""

import importlib.util
import logging
import os
import pickle
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import ExitStack, chdir, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Final, TypeAlias

from dpsan import __version__
from dpsan.embeddings.store import Store
from dpsan.errors import DpsanError, ExtraMissingError, InputError, UsageError, refuse
from dpsan.files.source import sweep
from dpsan.run.group import Group, rewrite_file
from dpsan.run.plan import Outcome, Plan, Task
from dpsan.run.run import Run, replaceable
from dpsan.run.stream import Work
from dpsan.run.workers import portable
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.sanitize.settings import Settings


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


def rewrite(version: str, job: bytes, task: Task) -> Outcome | DpsanError:
    """Rewrite an input.

    Nothing is raised: Ray would print the error of a library, which may quote what it was given.

    Args:
        version: version of the driver's dpsan.
        job: pickled, as a worker with another dpsan could not unpickle it.
        task: the input.

    Returns:
        An outcome that can be pickled, or the error of a job that cannot begin.
    """
    try:
        refuse(version != __version__, f"a worker has dpsan {__version__}, the driver {version}")
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
                    answers.update([next(arriving)])
                answer = answers.pop(task)
                if isinstance(answer, DpsanError):
                    totals = self.sanitizer.accountant()
                    answer = Outcome(task, totals, str(task.path), error=answer)
                if self.progress:
                    self.progress(task.path.stat().st_size if task.path.exists() else 0)
                yield answer
            group.flush()


# --- Ray, which is imported by these functions alone ---

_TRIES: Final = 10
"""A task whose worker died is run again, this many times."""
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_QUIET: Final = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_BACKEND_LOG_LEVEL": "fatal"}


def require_ray() -> None:
    """Raise ExtraMissingError without Ray; import nothing."""
    if importlib.util.find_spec("ray") is None:
        raise ExtraMissingError("--engine ray", "ray")


def start(stack: ExitStack, *, address: str | None = None, workers: int | None = None) -> Engine:
    """Connect to a cluster, or start one on this machine; ``stack`` ends the connection.

    A cluster that this process is already connected to is used as it is.

    Args:
        address: address of a running cluster; None starts one here.
        workers: most tasks that run at once; default one for each CPU of the cluster.

    Raises:
        ExtraMissingError: Ray is not installed.
        DpsanError: there is no cluster at the address.
    """
    require_ray()
    os.environ.update(_QUIET)
    import ray  # an extra

    if not ray.is_initialized():
        # Ray replaces signal handlers, and would end without our cleaning up.
        kept = {number: signal.getsignal(number) for number in _SIGNALS}
        stack.callback(ray.shutdown)
        ended = 0
        try:
            # Ray's processes look for modules in the directory in which they start.
            with _muted(), chdir("/"):
                ray.init(
                    address=address or "local",
                    num_cpus=None if address else workers,
                    include_dashboard=None if address else False,
                    log_to_driver=False,
                    logging_level=logging.CRITICAL,
                )
        except (ConnectionError, RuntimeError, ValueError, OSError, TimeoutError):
            where = f"cannot connect to a Ray cluster at {address}" if address else "cannot start"
            raise DpsanError(f"--engine ray: {where}", "ray status --address ADDR") from None
        except SystemExit as error:  # how Ray answers SIGTERM
            ended = error.code if isinstance(error.code, int) else signal.SIGTERM
        finally:
            for number, handler in kept.items():
                signal.signal(number, handler)
        if ended:
            signal.raise_signal(ended)
    cpus = int(ray.cluster_resources().get("CPU", 1))
    return partial(_run, workers or max(1, cpus))


@contextmanager
def _muted() -> Iterator[None]:
    """Discard what Ray's native code writes to standard error while it starts."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def _run(workers: int, job: Job, tasks: Sequence[Task]) -> Iterator[tuple[Task, Answer]]:
    """Run tasks, at most ``workers`` at once, and yield the answers as they arrive."""
    import ray

    remote = ray.remote(rewrite).options(num_cpus=1, max_retries=_TRIES)
    packed = ray.put(pickle.dumps(job))
    running: dict[ray.ObjectRef, Task] = {}
    waiting = iter(tasks)
    while True:
        while len(running) < workers and (task := next(waiting, None)):
            running[remote.remote(__version__, packed, task)] = task
        if not running:
            return
        (ready,), _ = ray.wait([*running])
        task = running.pop(ready)
        try:
            answer: Answer = ray.get(ready)
        except ray.exceptions.RayError as error:
            what = f"the cluster failed: {type(error).__name__}"
            hint = "a worker that dies repeatedly is usually out of memory: use fewer with -j"
            answer = InputError(task.path, what, hint)
        yield task, answer
