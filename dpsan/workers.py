"""Sanitizing in this process or in several spawned ones; results are the same.

Knows processes.  Must not know formats or files.  Workers share nothing but the cache on disk:
each loads the vectors itself, so memory is (number of workers) times one process.  They are
spawned, never forked: FAISS hangs after a fork.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from types import TracebackType
from typing import Final, Protocol, Self

from dpsan.cache import Store
from dpsan.errors import DpsanError
from dpsan.runspec import RunSpec, Sanitized
from dpsan.sanitizer import Sanitizer

__all__ = ["Inline", "Pool", "Workers"]

_THREAD_VARIABLES: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

_PARENTS: Final = (signal.SIGINT, signal.SIGHUP)

_sanitizer: Sanitizer | None = None


class Workers(Protocol):
    """Where batches are sanitized."""

    window: int
    """How many batches may be in hand before the oldest must be finished."""

    def submit(
        self, texts: Sequence[str], key: bytes, numbers: Sequence[int], audit: bool
    ) -> Future[Sanitized]:
        """Sanitize a batch, see :meth:`Sanitizer.sanitize`."""
        ...


class Inline:
    """In this process, at once."""

    window = 0

    def __init__(self, sanitizer: Sanitizer) -> None:
        self._sanitizer = sanitizer

    def submit(
        self, texts: Sequence[str], key: bytes, numbers: Sequence[int], audit: bool
    ) -> Future[Sanitized]:
        """See :class:`Workers`."""
        future: Future[Sanitized] = Future()
        future.set_result(self._sanitizer.sanitize(texts, key, numbers, audit=audit))
        return future


class _DiedError(DpsanError):
    """A worker process ended without an answer."""

    def __init__(self) -> None:
        super().__init__("a worker process died", "out of memory? try a smaller -j")


class _Checked(Future[Sanitized]):
    """Turns the death of a worker into one clear line."""

    def __init__(self, inner: Future[Sanitized]) -> None:
        super().__init__()
        self._inner = inner

    def result(self, timeout: float | None = None) -> Sanitized:
        try:
            return self._inner.result(timeout)
        except BrokenProcessPool:
            raise _DiedError from None


class Pool:
    """Spawned processes, one thread each; a context manager.

    Args:
        spec: every worker builds its sanitizer from it, with the cache at ``root``.
        jobs: number of processes.
    """

    def __init__(self, spec: RunSpec, root: Path, jobs: int) -> None:
        self.window = 2 * jobs
        # Inherited by the workers: one thread per process, whatever the libraries prefer.
        kept = {name: os.environ.get(name) for name in _THREAD_VARIABLES}
        os.environ.update(dict.fromkeys(_THREAD_VARIABLES, "1"))
        # Inherited too: signals for the whole process group are the parent's to answer, also while
        # a worker is still starting.
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _PARENTS)
        try:
            self._executor = ProcessPoolExecutor(
                jobs, mp_context=get_context("spawn"), initializer=_start, initargs=(spec, root)
            )
            # Processes start with the first tasks: start them while the environment is set.
            self._first = [self._executor.submit(_ready) for _ in range(jobs)]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
            for name, value in kept.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None:
            for process in list((self._executor._processes or {}).values()):
                process.terminate()
        self._executor.shutdown(wait=True, cancel_futures=True)

    def submit(
        self, texts: Sequence[str], key: bytes, numbers: Sequence[int], audit: bool
    ) -> Future[Sanitized]:
        """See :class:`Workers`."""
        try:
            return _Checked(self._executor.submit(_work, list(texts), key, numbers, audit))
        except BrokenProcessPool:
            raise _DiedError from None


def _start(spec: RunSpec, root: Path) -> None:
    global _sanitizer
    for number in _PARENTS:
        signal.signal(number, signal.SIG_IGN)  # the parent decides
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _sanitizer = Sanitizer.from_spec(spec, Store(root))


def _end_with_parent() -> None:
    """End when the parent was killed: a worker holds both ends of its queue and would wait."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _ready() -> None:
    return None


def _work(texts: list[str], key: bytes, numbers: Sequence[int], audit: bool) -> Sanitized:
    if _sanitizer is None:
        raise RuntimeError("worker was not started")
    return _sanitizer.sanitize(texts, key, numbers, audit=audit)
