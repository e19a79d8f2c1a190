"""The process in which one mechanism is measured.

Knows files, clocks and one mechanism.  Must not know the others.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import islice
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.analysis.bench.workload import random_points
from dpsan.embeddings.cache.store import Store
from dpsan.errors import DpsanError, UsageError
from dpsan.outcomes.calibrate.target import Draft
from dpsan.privacy import randomness
from dpsan.run.audit import AuditWriter
from dpsan.run.stream import Plan, Work, rewrite_file
from dpsan.run.workers import Batch, Pool, Workers
from dpsan.sanitize.request import RunSpec
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.exact_search import FlatIndex
from dpsan.space.library import open_space

_SECONDS: Final = 3.0
"""Aim of one run where the number of words is not given."""
_FEWEST: Final = 2000
_POINTS_LIKE: Final = 1 << 14
"""Vectors whose length random points have."""
_POINT_BYTES: Final = 64 << 20
"""Memory for random points: the bare search takes fewer of them than this, at the same speed."""


@dataclass(frozen=True)
class Task:
    """What to measure."""

    spec: RunSpec
    cache: Path
    text: Path
    """Lines to sanitize."""
    words: int | None
    """Words of one run; None: as many as take about three seconds."""
    runs: int
    jobs: int = 1
    """Processes of which the speed is measured too, if there are several."""


@dataclass(frozen=True)
class Measured:
    """The figures of one mechanism; speeds are medians."""

    mechanism: str
    epsilon: float
    words: int
    """Words of one run."""
    words_per_second: float
    """From an open text file to a finished output file."""
    words_per_second_audit: float
    """The same with an audit file."""
    faiss_words_per_second: float
    """Of the bare search, in the same process."""
    ratio: float
    """Median over the runs of the speed over that of the bare search just after."""
    ratio_audit: float
    peak_mb: float
    """Largest resident memory of the process, 10^6 bytes."""
    search: str = "float32"
    """How the nearest words were found, where they were: float32, or int8 with ``dpsan[fast]``."""
    words_per_second_float32: float | None = None
    """Without ``dpsan[fast]``, where it was used; the same words."""
    ratio_float32: float | None = None
    words_per_second_jobs: float | None = None
    """Of several processes, if they were asked for; starts apart."""
    ratio_jobs: float | None = None
    startup_seconds: float = 0.0
    """Of a process without input, with a warm cache."""
    first_line_seconds: float = 0.0
    """From the start of a process to its first line of output."""
    bare_startup_seconds: float = 0.0
    """To import numpy and faiss, and to read and hash the embedding file, between those starts."""


def measure(task: Task, pipe: Connection) -> None:
    """Send the figures of one mechanism, or the error that prevents them, through a pipe."""
    try:
        with tempfile.TemporaryDirectory(prefix="dpsan-bench-") as folder:
            pipe.send(_measure(task, Path(folder)))
    except DpsanError as error:
        pipe.send(error)
    except KeyboardInterrupt:
        pass  # the parent says so
    finally:
        pipe.close()


def _measure(task: Task, folder: Path) -> Measured:
    spec = replace(task.spec, epsilon=_epsilon(task))
    count = task.words or _suitable(task, spec, folder)
    text = _head(task.text, folder, count)
    found: list[tuple[float, float, float]] = []
    slow: list[float] = []
    many: list[float] = []
    peak, bare = 0, None
    for _ in range(task.runs):
        # A new sampler in every run: rows that a first run has computed are part of the work.
        sanitizer = _warm(spec, task.cache)
        words, plain = _run(sanitizer, text, folder, audit=False)
        del sanitizer
        sanitizer = _warm(spec, task.cache)
        _, audited = _run(sanitizer, text, folder, audit=True)
        if bare is None:
            peak = _peak()  # before there are two indexes
            bare = _Bare(sanitizer.space.vectors)
        del sanitizer
        found.append((words / plain, words / audited, bare.points_per_second(words)))
        if FlatIndex.by_integers:
            slow.append(words / _without(spec, task.cache, text, folder))
        if task.jobs > 1:
            many.append(words / _by_processes(spec, task, text, folder))
    speeds = np.array(found)
    plain_speed, audit_speed, bare_speed = np.median(speeds, axis=0).tolist()
    ratio, ratio_audit = np.median(speeds[:, :2] / speeds[:, 2:], axis=0).tolist()
    return Measured(
        spec.mechanism,
        float(spec.epsilon or 0),
        words,
        plain_speed,
        audit_speed,
        bare_speed,
        ratio,
        ratio_audit,
        peak / 1e6,
        "int8" if slow else "float32",
        *_medians(slow, speeds),
        *_medians(many, speeds),
    )


def _medians(some: list[float], speeds: NDArray[np.float64]) -> tuple[float | None, float | None]:
    """Of speeds, and of their ratios to the bare search, if there are any; of the last runs."""
    if not some:
        return None, None
    return float(np.median(some)), float(np.median(some / speeds[-len(some) :, 2]))


def _without(spec: RunSpec, cache: Path, text: Path, folder: Path) -> float:
    """Seconds of a run without ``dpsan[fast]``."""
    FlatIndex.integers = False
    try:
        return _run(_warm(spec, cache), text, folder, audit=False)[1]
    finally:
        FlatIndex.integers = True


def _by_processes(spec: RunSpec, task: Task, text: Path, folder: Path) -> float:
    """Seconds of a run by several processes that are ready."""
    sanitizer = _warm(spec, task.cache)
    with Pool(spec, task.cache, task.jobs, sanitizer.embeddings.digest) as pool:
        # All begin at the same time, so each has one of these to answer.
        nothing = Batch([""], randomness.seeded_key("dpsan bench"), [0], audit=False)
        for each in [pool.submit(nothing) for _ in range(task.jobs)]:
            each.result()
        return _run(sanitizer, text, folder, audit=False, workers=pool)[1]


def _epsilon(task: Task) -> float:
    """The epsilon asked for, or one at which the mechanism is defined."""
    spec = task.spec
    embeddings, space = open_space(spec.embeddings, spec.vocab_size, Store(task.cache))
    draft = Draft(spec.kind(), spec.parameters, embeddings.key_to_index)
    try:
        mechanism = draft.at(spec.epsilon or 0)
        mechanism.guarantee(space)
    except UsageError:
        mechanism = draft.anywhere(space)[0]
    return mechanism.epsilon


def _suitable(task: Task, spec: RunSpec, folder: Path) -> int:
    """Words that take about three seconds, by a short run."""
    sanitizer = _warm(spec, task.cache)
    few = _head(task.text, folder, _FEWEST)
    words, seconds = _run(sanitizer, few, folder, audit=False)
    for _ in range(6):
        if seconds > _SECONDS / 4:
            break
        few = _head(task.text, folder, 4 * words)
        before = words
        words, seconds = _run(sanitizer, few, folder, audit=False)
        if words < 2 * before:
            return words  # all there is
    return max(_FEWEST, int(words * _SECONDS / seconds))


def _head(text: Path, folder: Path, words: int) -> Path:
    """The first lines of the text with about so many words."""
    path = folder / "text"

    def lines() -> Iterator[bytes]:
        left = words
        with text.open("rb") as file:
            while left > 0 and (some := list(islice(file, 64))):
                for line in some:
                    if left <= 0:
                        return
                    left -= len(line.split())
                    yield line

    with path.open("wb") as out:
        out.writelines(lines())
    return path


def _warm(spec: RunSpec, cache: Path) -> Sanitizer:
    """A new sampler, ready to draw: what a start takes is measured apart."""
    sanitizer = Sanitizer.from_spec(spec, Store(cache))
    sanitizer.warm_up()
    return sanitizer


def _run(
    sanitizer: Sanitizer,
    text: Path,
    folder: Path,
    *,
    audit: bool,
    workers: Workers | None = None,
) -> tuple[int, float]:
    """Words and seconds of one file, as ``dpsan rewrite`` does it."""
    (folder / "audit").unlink(missing_ok=True)
    plan, key = Plan(format="text", force=True), randomness.seeded_key("dpsan bench")
    started = time.perf_counter()
    with AuditWriter(folder / "audit", sanitizer) if audit else nullcontext() as writer:
        work = Work(sanitizer, plan, key, workers=workers, audit=writer)
        done = rewrite_file(text, folder / "out", work)
    done.sink.sync()
    done.place()
    return done.outcome.totals.words, time.perf_counter() - started


class _Bare:
    """A FAISS Flat index as FAISS makes it, with a copy of the vectors."""

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        import faiss  # heavy import

        self._some = vectors[:_POINTS_LIKE].copy()
        self._index = faiss.IndexFlatL2(vectors.shape[1])
        self._index.add(vectors)

    def points_per_second(self, count: int) -> float:
        """Of a search for the nearest of random points, in one batch."""
        count = max(1, min(count, _POINT_BYTES // (4 * self._some.shape[1])))
        if count > _FEWEST:
            count = max(_FEWEST, min(count, int(self._searched(_FEWEST) * _SECONDS)))
        return self._searched(count)

    def _searched(self, count: int) -> float:
        import faiss  # heavy import

        points = random_points(self._some, count)
        faiss.cvar.distance_compute_blas_threshold = 20  # FAISS's own; a run may have changed it
        started = time.perf_counter()
        self._index.search(points, 1)
        return count / (time.perf_counter() - started)


def _peak() -> int:
    """Largest resident memory of this process so far, bytes."""
    import resource
    import sys

    try:
        # On Linux a process takes over the ru_maxrss of the one that started it.
        status = Path("/proc/self/status").read_text()
        return 1024 * int(status.split("VmHWM:", 1)[1].split()[0])
    except (OSError, IndexError, ValueError):
        pass  # not Linux
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else 1024 * used
