"""How fast a mechanism is end to end, beside a bare FAISS search of the same shape.

Knows processes and medians.  Must not know command lines.  Every mechanism is measured in a
process of its own, so that peak memory is its own; within that process the runs alternate with
the bare search, so that the ratio compares like with like on a machine that others use too.
"""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from statistics import median_high
from typing import Any

from dpsan.analysis.bench.child import Measured, Task, measure
from dpsan.analysis.bench.comparison import Stored
from dpsan.analysis.bench.scale import Scale, scale
from dpsan.analysis.bench.starts import starts
from dpsan.analysis.bench.workload import synthetic_file
from dpsan.embeddings.cache.store import Store
from dpsan.errors import DpsanError, UsageError
from dpsan.mechanisms.base import Mechanism
from dpsan.space.int8_product import kernel
from dpsan.space.library import open_space


@dataclass(frozen=True)
class Benchmark:
    """All figures of one run."""

    n: int
    d: int
    mechanisms: list[Measured]
    faiss_words_per_second: float
    """Median of the bare searches beside all mechanisms."""
    scale: Scale | None
    """Of the first mechanism."""


@contextmanager
def vocabulary(
    embeddings: Path | None, synthetic: tuple[int, int] | None, names: Path | None
) -> Iterator[tuple[Path | None, Path]]:
    """The embedding file that is measured and the cache directory for it.

    A synthetic file and its cache live in a temporary directory and are removed at the end.

    Args:
        embeddings: a file; None for the bundled vocabulary.
        synthetic: words and dimensions of random vectors instead.
        names: a file with the words of the synthetic vocabulary, one a line.
    """
    if synthetic is None:
        yield embeddings, Store().root
        return
    with tempfile.TemporaryDirectory(prefix="dpsan-bench-") as folder:
        path = synthetic_file(Path(folder), *synthetic, names)
        yield path, Path(folder) / "cache"


def bench(
    kinds: Sequence[type[Mechanism]],
    task: Task,
    progress: Callable[[int], None] | None = None,
    *,
    size: int = 0,
    like: Stored | None = None,
) -> Benchmark:
    """Measure mechanisms, one after the other.

    Args:
        kinds: the mechanisms; each is built at the task's epsilon, or where its theorem is defined.
        task: what is the same for all.
        progress: called with the number of mechanisms finished since the last call.
        size: bytes of the text on which several processes are measured; 0: they are not.
        like: a run with which this one is to be compared.

    Raises:
        UsageError: the other run is of another shape.
        EmbeddingError: the embedding file cannot be used.
        DpsanError: a measuring process ended without an answer.
    """
    words, space = open_space(task.spec.embeddings, task.spec.vocab_size, Store(task.cache))
    n, d, word = space.n, space.d, words.index_to_key[0]
    del words, space
    if like and (like.n, like.d) != (n, d):
        raise UsageError(
            f"the stored run is of {like.n:,} words x {like.d}, this one of {n:,} x {d}",
            "the same --embeddings, --synthetic and --vocab-size",
        )
    found: list[Measured] = []
    scaled = None
    for kind in kinds:
        # A decision of the user's (delta) has no default; its example will do for a clock.
        needed = {name: each.example for name, each in kind.parameters().items() if each.required}
        values = {**needed, **task.spec.parameters}
        own = replace(task, spec=replace(task.spec, mechanism=kind.name, parameters=values))
        measured = _in_a_process(own)
        spec = replace(own.spec, epsilon=measured.epsilon)
        if size and not found:
            scaled = scale(spec, task.cache, task.text, size, task.runs)
        began = starts(spec, task.cache, word)
        found.append(
            replace(
                measured,
                startup_seconds=began.empty,
                first_line_seconds=began.line,
                bare_startup_seconds=began.bare,
            )
        )
        if progress:
            progress(1)
    bare = median_high(each.faiss_words_per_second for each in found)
    return Benchmark(n, d, found, bare, scaled)


def _in_a_process(task: Task) -> Measured:
    context = get_context("spawn")
    mine, theirs = context.Pipe()
    child = context.Process(target=measure, args=(task, theirs))  # no daemon: they have no children
    child.start()
    theirs.close()
    try:
        found = mine.recv()
    except EOFError:
        raise DpsanError("a measuring process died", "out of memory? try fewer words") from None
    finally:
        child.join(timeout=10)
        child.terminate()
    if isinstance(found, DpsanError):
        raise found
    return found  # type: ignore[no-any-return]


def machine() -> dict[str, Any]:
    """Where it was measured, with the versions that matter."""
    import faiss  # heavy import
    import numpy as np

    from dpsan import __version__

    model = platform.processor() or platform.machine()
    try:
        with Path("/proc/cpuinfo").open() as file:
            lines = [
                line.split(":", 1)[1].strip() for line in file if line.startswith("model name")
            ]
        model = lines[0] if lines else model
    except OSError:
        pass  # not Linux
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "threads": faiss.omp_get_max_threads(),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "faiss": faiss.__version__,
        "integers": kernel(),
        "dpsan": __version__,
    }
