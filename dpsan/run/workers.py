"""Sanitizing in this process or in several spawned ones; results are the same.

Workers share nothing but the cache on disk: each loads the vectors itself, so memory is (number of
workers) times one process.  They are spawned, never forked: FAISS hangs after a fork.

The pool is our own because that of the standard library hands all workers the ends of one pipe: one
that dies while it writes leaves a part of a message that the rest of the program waits for without
end.  Here each worker has a socket, and its death, at any moment, is an end of file.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, Protocol, Self, TypeAlias

from dpsan.embeddings.store import Store
from dpsan.errors import DpsanError, EmbeddingError, UnexpectedError
from dpsan.run.plan import few_searches
from dpsan.sanitize.decided import DecidedTexts
from dpsan.sanitize.result import Sanitized, Texts
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.sanitize.settings import Settings

_THREAD_VARIABLES: Final = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

_PARENTS: Final = (signal.SIGINT, signal.SIGHUP)
_SWITCH: Final = 2e-4
"""Seconds after which a thread gives way to another that waits: of Python's .005, in which a worker
that has answered waits for more, there would be one in each batch of .03."""
_SMALLER: Final = "out of memory? try a smaller -j"

Done = Sanitized | DecidedTexts
"""What became of a batch."""


class Answer(Protocol):
    """Future result of a batch."""

    def result(self) -> Done:
        """Waits for it."""
        ...


def sanitized(answer: Answer | Future[Done]) -> Sanitized:
    """Return what became of a batch that is no part of a unit."""
    done = answer.result()
    assert isinstance(done, Sanitized)  # noqa: S101 - the batch asked for it
    return done


def decided(answer: Answer) -> DecidedTexts:
    """Return what is to be replaced in parts of a unit."""
    done = answer.result()
    assert isinstance(done, DecidedTexts)  # noqa: S101 - the batch asked for it
    return done


class Inline:
    """Sanitizes batches in this process, at once."""

    window = 0
    """Largest number of unfinished batches."""

    def __init__(self, sanitizer: Sanitizer) -> None:
        self._sanitizer = sanitizer

    def idle(self) -> None:
        """Nobody waits for anything now."""
        self._sanitizer.warm_up()

    def submit(self, batch: Texts) -> Future[Done]:
        """Sanitize a batch."""
        future: Future[Done] = Future()
        future.set_result(self._sanitizer.answer(batch))
        return future


class Pool:
    """Spawned processes, one thread each; a context manager.

    Args:
        spec: every worker builds its sanitizer from it, with the cache at ``root``.
        jobs: number of processes.
        digest: of the embeddings that the guarantee was computed for; a worker that finds others
            fails.
    """

    def __init__(self, spec: Settings, root: Path, jobs: int, digest: str) -> None:
        self.window = 2 * jobs
        self._threads = ThreadPoolExecutor(jobs)
        self._workers: SimpleQueue[Connection] = SimpleQueue()
        """Those that have nothing to do: each thread takes one for each batch."""
        self._lock, self._living = threading.Lock(), jobs
        context = get_context("spawn")
        pipes = [context.Pipe() for _ in range(jobs)]
        # Daemons: whatever happens, the interpreter ends them when it ends.
        self._processes = [
            context.Process(target=_serve, args=(theirs, spec, root, digest), daemon=True)
            for _, theirs in pipes
        ]
        with _undisturbed(), _inherited():
            for process in self._processes:
                process.start()
        for ours, theirs in pipes:
            theirs.close()  # else a worker's death would be no end of file
            self._workers.put(ours)

    def __enter__(self) -> Self:
        self._switch = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH)
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        sys.setswitchinterval(self._switch)
        if kind is not None:
            for process in self._processes:
                process.kill()  # they write nothing that a kill could spoil
        self._threads.shutdown(cancel_futures=True)  # nobody asks for these answers any more
        with suppress(Empty):
            while worker := self._workers.get_nowait():
                worker.close()
        for process in self._processes:
            process.join()

    def idle(self) -> None:
        """Workers get ready by themselves."""

    def submit(self, batch: Texts) -> Future[Done]:
        return self._threads.submit(self._answered, batch)

    def _answered(self, work: Texts) -> Done:
        """Return the answer of a worker; one that has died gets no more work, unless all have."""
        worker = self._workers.get()
        try:
            worker.send(work)
            done: Done | DpsanError = worker.recv()
        except (EOFError, OSError):
            worker.close()
            raise DpsanError("a worker process died", _SMALLER) from None
        finally:
            with self._lock:
                self._living -= worker.closed
                if not worker.closed or self._living <= 0:
                    self._workers.put(worker)
        if isinstance(done, DpsanError):
            raise done
        return done


Workers: TypeAlias = Inline | Pool
"""Where batches are sanitized."""


@contextmanager
def _inherited() -> Iterator[None]:
    """Processes started here have one thread each and leave the keyboard's signals to their parent.

    The signals go to the whole process group, also while a worker is still starting.
    """
    kept = {name: os.environ.get(name) for name in _THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(_THREAD_VARIABLES, "1"))
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, _PARENTS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        for name, value in kept.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Signals that come meanwhile are heard at the end: a half-started worker would complain."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[int] = []
    kept = {
        number: signal.signal(number, lambda number, _: heard.append(number))
        for number in (*_PARENTS, signal.SIGTERM)
        if callable(signal.getsignal(number))
    }
    try:
        yield
    finally:
        for code, handler in kept.items():
            signal.signal(code, handler)
        for number in heard[:1]:
            signal.raise_signal(number)


def _serve(parent: Connection, spec: Settings, root: Path, digest: str) -> None:
    """A worker's life: it ends when its parent closes the connection."""
    for number in _PARENTS:
        signal.signal(number, signal.SIG_IGN)  # the parent decides
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        sanitizer = Sanitizer.from_spec(spec, Store(root))
        if sanitizer.embeddings.digest != digest:
            raise EmbeddingError(sanitizer.embeddings.source, "changed after the start")
        sanitizer.warm_up()
        opened: Sanitizer | DpsanError = sanitizer
    except Exception as error:  # noqa: BLE001, raised in the parent
        opened = portable(error)
    try:
        with few_searches():
            while True:
                parent.send(_answer(opened, parent.recv()))
    except EOFError:
        return
    except Exception:  # noqa: BLE001, the parent tells of it; a traceback could hold text
        os._exit(1)


def _answer(opened: Sanitizer | DpsanError, work: Texts) -> Done | DpsanError:
    if isinstance(opened, DpsanError):
        return opened
    try:
        return opened.answer(work)
    except Exception as error:  # noqa: BLE001, raised in the parent
        return portable(error)


def portable(error: Exception) -> DpsanError:
    """Return an error that can be pickled, with the position of an unexpected one."""
    return error if isinstance(error, DpsanError) else UnexpectedError(error)


def _end_with_parent() -> None:
    """End as soon as the parent was killed, also in the middle of a batch."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
