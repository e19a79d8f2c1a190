"""Ray: who works on the pieces, one sanitizer in each of a pool of actors.

Knows Ray and nothing else: pieces go in, answers come out.  Ray is told nothing that is text, and
neither its reports on usage nor its dashboard nor its workers' output are turned on.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final

import orjson

from dpsan.errors import DpsanError, ExtraMissingError
from dpsan.run.ray.pieces import Piece
from dpsan.run.ray.run import Engine
from dpsan.run.ray.work import Job, Row, count, guarded, prepared, rewrite
from dpsan.sanitize.sanitizer import Sanitizer

_SHARE: Final = 0.9
"""CPUs of a worker: a pool of whole ones would leave none for Ray's own tasks, and hang."""
_AHEAD: Final = 2
"""Pieces that an actor has in hand: one to work on, one to go on with."""
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_QUIET: Final = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_DATA_LOG_LEVEL": "CRITICAL",
}


def require_ray() -> None:
    """Raise ExtraMissingError without Ray Data; imports nothing."""
    for name in ("ray", "pyarrow"):
        if importlib.util.find_spec(name) is None:
            raise ExtraMissingError("--engine ray", "ray")


def start(stack: ExitStack, *, address: str | None = None, actors: int | None = None) -> Engine:
    """Connect to a cluster, or start one on this machine; ``stack`` ends that.

    A cluster that this process is already connected to is used as it is.

    Args:
        address: of a running cluster; None starts one here.
        actors: how many; default one for each CPU of the cluster.

    Raises:
        ExtraMissingError: no Ray.
        DpsanError: no cluster at the address.
    """
    require_ray()
    os.environ.update(_QUIET)
    import ray  # an extra

    if not ray.is_initialized():
        # Ray takes signals for itself, and would end without cleaning up after us.
        kept = {number: signal.getsignal(number) for number in _SIGNALS}
        stack.callback(ray.shutdown)
        asked = 0
        try:
            with _muted():
                ray.init(
                    address=address or "local",
                    num_cpus=None if address else actors,
                    include_dashboard=None if address else False,
                    log_to_driver=False,
                    logging_level=logging.CRITICAL,
                )
        except (ConnectionError, RuntimeError, ValueError, OSError, TimeoutError):
            where = f"cannot connect to a Ray cluster at {address}" if address else "cannot start"
            raise DpsanError(f"--engine ray: {where}", "ray status --address ADDR") from None
        except SystemExit as ended:  # how Ray answers SIGTERM
            asked = ended.code if isinstance(ended.code, int) else signal.SIGTERM
        finally:
            for number, handler in kept.items():
                signal.signal(number, handler)
        if asked:
            signal.raise_signal(asked)
    resources: dict[str, float] = ray.cluster_resources()
    return RayEngine(actors or max(1, int(resources.get("CPU", 1))))


@contextmanager
def _muted() -> Iterator[None]:
    """Without what Ray's native code says on standard error while it starts."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


class RayEngine:
    """Ray Data over pieces, in the cluster that this process is connected to."""

    def __init__(self, actors: int) -> None:
        self.workers = actors

    def count(self, job: Job, pieces: list[Piece]) -> Iterator[Row]:
        """See :class:`Engine`.  Raises DpsanError."""
        return self._run(pieces, _count, fn_args=(job,))

    def rewrite(self, job: Job, pieces: list[Piece]) -> Iterator[Row]:
        """See :class:`Engine`.  Raises DpsanError."""
        from ray.data import ActorPoolStrategy

        actors = min(self.workers, len(pieces))
        return self._run(
            pieces,
            Actor,
            fn_constructor_args=(job,),
            compute=ActorPoolStrategy(size=actors, max_tasks_in_flight_per_actor=_AHEAD),
        )

    @staticmethod
    def _run(pieces: list[Piece], work: Any, **more: Any) -> Iterator[Row]:
        import ray
        import ray.data

        for name in ("ray", "ray.data"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        # Answers carry numbers: whatever is ready may come, and a slow piece holds nobody up.
        context.execution_options.preserve_order = False
        rows = ray.data.from_items(
            [piece.row() for piece in pieces], override_num_blocks=len(pieces)
        ).map(work, num_cpus=_SHARE, **more)
        try:
            for row in rows.iter_rows():
                answer: Row = orjson.loads(row["answer"])
                if answer["fatal"]:
                    raise DpsanError(*answer["error"].split("\n"))
                yield answer
        except ray.exceptions.RayError as error:
            raise DpsanError(
                f"the cluster gave up: {type(error).__name__}",
                "a worker that dies again and again is most often out of memory: fewer with -j",
            ) from None


def _answer(piece: Piece, row: Row, *, fatal: bool = False) -> Row:
    """One column, the same for every answer."""
    return {"answer": orjson.dumps({"fatal": fatal, **row, "piece": piece.number})}


def _count(row: Row, job: Job) -> Row:
    piece = Piece.of(row)
    return _answer(piece, guarded(partial(count, job, piece)))


class Actor:
    """Holds one sanitizer: vectors are loaded once, from the cache of its machine.

    Nothing is raised here, not even while it starts: Ray would print it.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._sanitizer: Sanitizer | None = None
        self._failed = guarded(self._prepare)

    def _prepare(self) -> Row:
        self._sanitizer = prepared(self._job)
        return {}

    def __call__(self, row: Row) -> Row:
        """Rewrite a piece."""
        piece = Piece.of(row)
        if self._sanitizer is None:
            return _answer(piece, self._failed, fatal=True)
        return _answer(piece, guarded(partial(rewrite, self._job, self._sanitizer, piece)))
