"""Array types that many files name, and work on parts of arrays: in pieces, in threads, by word."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]
"""Row numbers of words, and what is counted like them: positions, ranks, levels."""
Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
"""Vectors as embedding files have them, and what is made of them for speed."""
Integers = NDArray[np.uint64]
"""Weights, their sums, and the numbers that are drawn below them."""

T = TypeVar("T")

_PIECE: Final = 4096


def blocks(n: int, size: int) -> Iterator[Ids]:
    """Yield the row numbers 0 ... n - 1, so many at a time."""
    for at in range(0, n, size):
        yield np.arange(at, min(at + size, n))


def norms(vectors: Floats32, centre: Floats | float = 0.0, norm: int = 2) -> Floats:
    """Norms (Euclidean, or 1) of rows less their centre (d,), in float64, shape (n,)."""
    out = np.empty(len(vectors))
    for at in range(0, len(out), _PIECE):
        apart = np.subtract(vectors[at : at + _PIECE], centre, dtype=np.float64)
        out[at : at + _PIECE] = np.linalg.norm(apart, ord=norm, axis=1)
    return out


def unit_rows(vectors: Floats32) -> Floats32:
    """Return the directions of rows, (n, d); zero rows stay zero."""
    lengths = np.linalg.norm(vectors, axis=1)
    return np.asarray(vectors / np.maximum(lengths, np.float32(1e-30))[:, None])


def largest_norm(vectors: Floats32) -> float:
    """Return the largest Euclidean norm of a row, rounded up."""
    return float(norms(vectors).max()) * (1 + 1e-9)


def by_word(ids: Ids, size: int) -> Iterator[tuple[Ids, Ids, Ids]]:
    """Tokens of equal words together, so many words at a time.

    Returns:
        Distinct words, ascending; the positions of their tokens, and which of the words each is.
    """
    order = np.argsort(ids, kind="stable")
    distinct, starts = np.unique(ids[order], return_index=True)
    bounds = np.append(starts, len(ids))
    for at in range(0, len(distinct), size):
        words = distinct[at : at + size]
        ends = bounds[at : at + len(words) + 1]
        yield words, order[ends[0] : ends[-1]], np.repeat(np.arange(len(words)), np.diff(ends))


def threads() -> int:
    """Return the number of threads of FAISS: the OpenMP setting, one in worker processes."""
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
