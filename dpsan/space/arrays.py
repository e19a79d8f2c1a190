"""Array types that many files name, work on parts of arrays, and exact products of vectors."""

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Ids = NDArray[np.int64]
"""Row numbers of words, and what is counted like them: positions, ranks, levels."""
Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
"""Vectors as embedding files have them, and what is made of them for speed."""
Ints = NDArray[np.int32]
Mask = NDArray[np.bool_]
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


# Directions of word vectors as integers, whose products are exact whatever computes them.
#
# A vector is scaled to a fixed length and each coordinate is rounded to an integer.  By
# Cauchy-Schwarz every partial sum of a product of two such vectors is an integer of at most 2^23,
# which float32 holds exactly: the product is the same for every BLAS, thread count and order of
# summation.  It is cosine·LENGTH², up to the rounding of the coordinates.

LENGTH: Final = 2895
"""Bound on the Euclidean length of an integer vector; 2895² < 2^23."""
UNIT: Final = 1 << 23
"""Products are below this in absolute value."""
_PRODUCTS: Final = 1 << 22
"""Products that are ranked at once."""
_THREADS: Final = 2
"""Blocks that are ranked side by side; each writes rows of its own, so nothing depends on them."""


def _scale(d: int) -> float:
    # Rounding lengthens a vector by at most half the diagonal of a unit cube.
    return LENGTH - 1 - math.sqrt(d) / 2


def directions(vectors: Floats32) -> Floats32:
    """Integer vectors, shape (m, d), of the same directions; a zero vector stays zero.

    Only operations that IEEE 754 rounds correctly are used, in a fixed order.
    """
    out = np.empty(vectors.shape, dtype=np.float32)
    for at in range(0, len(vectors), _PIECE):
        wide = vectors[at : at + _PIECE].astype(np.float64)
        squares = np.zeros(len(wide))
        for column in wide.T:  # a sum of numpy's may use another order on another processor
            squares += column * column
        lengths = np.sqrt(squares)
        wide *= (_scale(vectors.shape[1]) / np.where(lengths > 0, lengths, 1.0))[:, None]
        np.rint(wide, out=wide)
        out[at : at + _PIECE] = wide
    return out


def cosine_unit(d: int) -> float:
    """Return the product that stands for cosine 1."""
    return _scale(d) ** 2


def favoured(rows: Floats32, favours: Floats32 | float | None) -> Floats32:
    """Integer vectors with one more coordinate; None leaves them as they are.

    Args:
        rows: shape (m, d).
        favours: 1 for inputs; for outputs, shape (m,), what is added to every product with them: an
            integer from -2^23 to 0, so that products stay exact and below 2^24.
    """
    if favours is None:
        return rows
    column = np.broadcast_to(np.asarray(favours, dtype=np.float32), len(rows))
    return np.hstack([rows, column[:, None]])


def ranking(inputs: Floats32, outputs: Floats32, width: int) -> tuple[NDArray[np.int32], Floats32]:
    """Return the ``width`` outputs with the largest products for each input, ties by position.

    Args:
        inputs: integer vectors, shape (m, d).
        outputs: integer vectors, shape (k, d).
        width: 1 ... k.

    Returns:
        Positions of outputs and products, each of shape (width, m): the best ones first.
    """
    m, k = len(inputs), len(outputs)
    indices = np.empty((width, m), dtype=np.int32)
    products = np.empty((width, m), dtype=np.float32)
    columns, places = outputs.T, np.arange(width)
    step = max(1, min(_PRODUCTS // k, 1 << 13))  # rows, products and positions share 63 bits

    def rank(at: int) -> None:
        scores = inputs[at : at + step] @ columns
        if width < k:
            least = np.partition(scores, k - width, axis=1)[:, k - width]
            rows, columns_of = np.nonzero(scores >= least[:, None])
            starts = np.searchsorted(rows, np.arange(len(scores)))
        else:
            rows, columns_of = np.divmod(np.arange(scores.size), k)
            starts = np.arange(len(scores)) * k
        # One integer for row, product and index: all are different, so the order has no ties.
        keys = UNIT - scores[rows, columns_of].astype(np.int64)
        keys += rows << 25
        keys = (keys << 24) + columns_of
        keys.sort()
        best = keys[starts + places[:, None]]
        indices[:, at : at + step] = best & ((1 << 24) - 1)
        products[:, at : at + step] = UNIT - ((best >> 24) & ((1 << 25) - 1))

    if m <= step:
        rank(0)
    else:  # most of the time goes into what BLAS does not do on several cores
        with ThreadPoolExecutor(_THREADS) as pool:
            for _ in pool.map(rank, range(0, m, step)):
                pass
    return indices, products
