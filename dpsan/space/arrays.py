"""Array types that many files name, and work on parts of arrays: in pieces, in threads, by word."""

from __future__ import annotations

import math
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
    return float(norms(vectors).max(initial=0.0)) * (1 + 1e-9)


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


# Points on a public lattice, whose squared distances are exact whatever computes them.
#
# A matrix product of float64 numbers depends in its last bits on the order of its sums: on the
# BLAS, its threads, the shape of the product and the position in it.  Here the centred vectors are
# rounded once to integer multiples of a power of two, few enough for every partial sum of x² + y² -
# 2xy to be an integer of at most 2^53.  Such sums are exact in any order, with and without fused
# multiply-add, and the square root is correctly rounded: a distance is a function of its two rows.
# What the rounding moves is bounded by :attr:`Lattice.error`.

_LARGEST: Final = 2.0**25.5
"""Bound on a norm L in lattice units: 2·|x||y| + x² + y² <= 4·L² = 2^53."""
_HELD_BYTES: Final = 256 << 20
"""Up to this size the integers are held in float64; beyond it they are made again as needed."""
_STEP: Final = 8192
_PART: Final = 1024
"""Words whose right factors stay in a processor's cache."""
_TALL: Final = 64
"""Inputs of a product, at most: more of them leave it too few words to be nearly square."""
_MULTIPLIED: Final = 500_000
"""Multiplications in one product up to which OpenBLAS works in the calling thread (2^19)."""


class Lattice:
    """n points and the centroid (input ``n``), rounded to a lattice around the centroid.

    Args:
        vectors: shape (n, d); not copied.
        centroid: shape (d,).
    """

    def __init__(self, vectors: Floats32, centroid: Floats) -> None:
        self.n, self.d = vectors.shape
        self._vectors, self._centroid = vectors, centroid
        largest = float(norms(vectors, centroid).max(initial=0.0)) * (1 + 1e-9)
        # The largest power of two with largest·scale + the rounding of a row <= _LARGEST.
        exponent = 0
        if largest > 0:
            exponent = math.frexp((_LARGEST - math.sqrt(self.d)) / largest)[1] - 1
        self.scale = math.ldexp(1.0, exponent)
        self.unit = math.ldexp(1.0, -exponent)
        """Length of one step, a power of two: multiplying by it is exact."""
        self.error = math.sqrt(self.d) * self.unit + largest * 2.0**-50
        """Bound on abs(distance - true distance of the two vectors).

        A row moves by at most half a step in each coordinate, sqrt(d)/2 steps, and so does the
        other; the second term covers the rounding of the centring and of the square root.
        """
        self._held: Floats | None = None
        if 8 * self.n * (self.d + 2) <= _HELD_BYTES:
            self._held = self._made(0, self.n)

    def _integers(self, vectors: Floats32, out: Floats | None = None) -> Floats:
        out = np.subtract(vectors, self._centroid, out=out)
        out *= self.scale
        return np.rint(out, out=out)

    def left(self, ids: Ids) -> Floats:
        """Left factors (-2x, x², 1) of inputs, shape (m, d + 2)."""
        out = np.empty((len(ids), self.d + 2))
        unknown = ids == self.n
        x = self._integers(self._vectors[np.where(unknown, 0, ids)])
        x[unknown] = 0.0
        np.multiply(x, -2.0, out=out[:, : self.d])
        np.einsum("md,md->m", x, x, out=out[:, self.d])
        out[:, self.d + 1] = 1.0
        return out

    def _rows(self, vectors: Floats32) -> Floats:
        out = np.empty((len(vectors), self.d + 2))
        y = self._integers(vectors, out[:, : self.d])
        out[:, self.d] = 1.0
        np.einsum("nd,nd->n", y, y, out=out[:, self.d + 1])
        return out

    def right(self, start: int, stop: int) -> Floats:
        """Right factors (y, 1, y²) of the words start ... stop - 1 as columns, (d + 2, words)."""
        if self._held is not None:
            return self._held[:, start:stop]
        return self._made(start, stop)

    def _made(self, start: int, stop: int) -> Floats:
        out = np.empty((self.d + 2, stop - start))
        for at in range(start, stop, _STEP):
            rows = self._rows(self._vectors[at : min(at + _STEP, stop)])
            out[:, at - start : at - start + len(rows)] = rows.T
        return out

    def squares(self, ids: Ids, out: Floats) -> None:
        """Squared distances in square units: integers, exact; uses the calling thread only.

        Args:
            ids: inputs, shape (m,).
            out: shape (m, n), contiguous.  A distance costs less the more inputs there are, up to
                about 64.
        """
        left, step = self.left(ids), self.n if self._held is not None else _PART
        for at in range(0, self.n, step):
            self._product(left, self.right(at, min(at + step, self.n)), out[:, at : at + step])

    def _product(self, left: Floats, right: Floats, out: Floats) -> None:
        """Squared distances, by the calling thread only."""
        for at in range(0, len(left), _TALL):
            rows, target = left[at : at + _TALL], out[at : at + _TALL]
            # Nearly square pieces: their factors are read least often.
            width = max(1, int(_MULTIPLIED // rows.size))
            width -= width % 8 if width > 8 else 0
            count = right.shape[1] // width
            whole = count * width
            if whole:
                pieces = right[:, :whole].reshape(-1, count, width).transpose(1, 0, 2)
                tiles = target[:, :whole].reshape(-1, count, width).transpose(1, 0, 2)
                np.matmul(rows, pieces, out=tiles)
            np.matmul(rows, right[:, whole:], out=target[:, whole:])

    def distances(self, ids: Ids) -> Floats:
        """Distances from inputs to every word, shape (m, n)."""
        out, left = np.empty((len(ids), self.n)), self.left(ids)

        def fill(at: int) -> None:
            stop = min(at + _PART, self.n)
            # Rows, turned, cost less than columns that are used once.
            right = self._rows(self._vectors[at:stop]).T
            self._product(left, right, out[:, at:stop])

        if self._held is not None:
            np.matmul(left, self._held, out=out)
        else:
            side_by_side(fill, range(0, self.n, _PART))
        np.sqrt(out, out=out)
        out *= self.unit
        return out
