"""Run tasks with Ray.

Ray sees no text, and its usage reports, its dashboard and the output of its workers are off.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, chdir, contextmanager
from functools import partial
from typing import Final

from dpsan.errors import DpsanError, ExtraMissingError, InputError
from dpsan.run.ray.driver import Answer, Engine, Job, rewrite
from dpsan.run.stream import Task
from dpsan.version import __version__

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
    packed = ray.put(job.packed())
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
