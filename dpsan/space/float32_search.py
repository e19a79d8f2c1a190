"""The nearest rows by float32 values: FAISS, on parts of the work in threads of its own.

FAISS's own threads wait for each other after every few hundred rows.  Where another program has
one of the cores that costs several times the search itself.
Here each thread searches alone, for some of the points or in some of the rows.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Final

import numpy as np

from dpsan.space.arrays import Floats32, Ids

_ONE_THREAD_FLOPS: Final = 1e9
"""Work (2·m·n·d) of a search that one thread does in some 20 ms: on a busy machine threads that
wait for each other cost a single line more than they save."""
_POINTS: Final = 1024
"""Points of a piece, at most: one piece is done before an interrupt is heeded."""
_PRODUCT: Final = 5
"""Points from which the matrix product is faster than one distance after the other; for a single
point it takes five times as long."""
_FEW: Final = 512
"""Points from which the product with all rows is efficient; fewer per thread share the rows."""
_ROWS: Final = 1 << 14
"""Rows of a part, at least, where there are more parts than threads."""
_PARTS: Final = 4
"""Parts per thread, at most: a thread that is held up leaves the next parts to the others."""

Proposals = tuple[Ids, Floats32]


def least_values(vectors: Floats32, points: Floats32, width: int) -> Proposals:
    """Return the rows with the least float32 squared distances from each point.

    Args:
        vectors: shape (n, d), C order.
        points: shape (m, d), C order.
        width: 1 ... n.

    Returns:
        Row numbers and values, each (m, width), by value; a row is -1 where values overflow.  The
        last bits of a value, and with them the order of rows, may differ from call to call.
    """
    import faiss  # heavy import

    # FAISS has two code paths; how it picks one differs between versions, so it is set.
    faiss.cvar.distance_compute_blas_threshold = 1 if len(points) >= _PRODUCT else 1 << 30
    threads = int(faiss.omp_get_max_threads())
    flops = 2.0 * len(points) * vectors.size
    if threads > 1 and flops > _ONE_THREAD_FLOPS:
        most = int(2 * flops / _ONE_THREAD_FLOPS)
        return _shared(vectors, points, width, min(threads, most))
    faiss.omp_set_num_threads(1)  # of the calling thread only
    try:
        return _search(vectors, points, width, 0)
    finally:
        faiss.omp_set_num_threads(threads)


def _shared(vectors: Floats32, points: Floats32, width: int, threads: int) -> Proposals:
    """Return the same by several threads."""
    import faiss  # heavy import

    m, n = len(points), len(vectors)
    by_points = m >= _FEW * threads
    pieces = threads * math.ceil(m / (_POINTS * threads)) if by_points else 1
    parts = 1 if by_points else threads * max(1, min(_PARTS, n // (_ROWS * threads)))
    pool = ThreadPoolExecutor(threads, initializer=faiss.omp_set_num_threads, initargs=(1,))
    try:
        begun = [
            pool.submit(_search, vectors[low:high], points[begin:end], width, low)
            for begin, end in _cuts(m, pieces)
            for low, high in _cuts(n, min(n, parts))
        ]
        done = [item.result() for item in begun]
    finally:
        pool.shutdown(cancel_futures=True)
    axis = 0 if by_points else 1
    rows = np.concatenate([ids for ids, _ in done], axis=axis)
    values = np.concatenate([item for _, item in done], axis=axis)
    if by_points:
        return rows, values
    order = np.argsort(values, axis=1, kind="stable")[:, :width]
    return np.take_along_axis(rows, order, axis=1), np.take_along_axis(values, order, axis=1)


def _cuts(size: int, parts: int) -> list[tuple[int, int]]:
    """Begin and end of equal parts of 0 ... size-1."""
    return list(pairwise(size * part // parts for part in range(parts + 1)))


def _search(rows: Floats32, points: Floats32, width: int, first: int) -> Proposals:
    """Return the same in some rows, the first of which has the number ``first``, by this thread."""
    import faiss  # heavy import

    values, numbers = faiss.knn(points, rows, min(width, len(rows)))
    numbers[numbers >= 0] += first
    return numbers, values
