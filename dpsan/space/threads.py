"""Work on parts of an array in threads: NumPy lets go of the interpreter's lock in the long parts.

Knows how many threads there may be.  Must not know what is worked on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def threads() -> int:
    """As many as FAISS uses: the OpenMP setting, one in worker processes."""
    import faiss  # heavy import

    return int(faiss.omp_get_max_threads())


def side_by_side(work: Callable[[T], None], parts: Sequence[T]) -> None:
    """Do the work for each part; the first error is raised."""
    if (count := min(threads(), len(parts))) <= 1:
        for part in parts:
            work(part)
        return
    with ThreadPoolExecutor(count) as pool:
        for _ in pool.map(work, parts):
            pass
