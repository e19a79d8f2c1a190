"""Exact nearest-neighbour search: FAISS proposes in float32, or int8 does; float64 decides.

FAISS computes squared distances in float32, whose last bits depend on batch size and threads.
Here a few more candidates than requested are re-scored in float64, ties go to the smaller row
number, and a rounding bound checks that no other row can belong among them; where it cannot
exclude that, more candidates are taken, in the end all of them.  So the answer is a function of
the query alone.  Long searches go by products of small integers where ``dpsan[fast]`` is there,
which leave other candidates and the same answer.
"""

import math
from typing import ClassVar, Final

import numpy as np

from dpsan.space.arrays import Floats, Floats32, Ids, Mask, largest_norm, side_by_side, threads
from dpsan.space.int8_search import FEWEST_POINTS, MOST_NEAREST, SmallIntegers

_EXTRA: Final = 3
"""Candidates taken beyond those requested; more cost time, fewer cost retries."""
_QUERIES: Final = 1024
"""Queries re-scored at a time: bounds memory at 1024 · (k + 3) · d float64."""
_FAR: Final = 64
"""Far queries handled at a time, at most."""
_FAR_SCORES: Final = 1 << 23
"""Scores of far queries held at a time: bounds memory at 16 bytes each."""
_FAR_EXTRA: Final = 16
_UNIT: Final = 2.0**-24
"""Unit roundoff of float32."""
_TINY: Final = 2.0**-126
"""The smallest normal number of float32: what is smaller may count as 0."""
_HUGE: Final = 2.0**125
"""No sum of float32 products that are less in all overflows."""
_WORTH: Final = 1e10
"""Work (2·m·n·d) after which the kernel for integers is loaded: it takes as long as that."""
_POINTS_WORTH: Final = 250
"""Points, besides, after which the vectors are rounded: it takes as long as their search."""
_SCORED: Final = 8192
"""Candidates re-scored at a time where their number differs from point to point."""


class FlatIndex:
    """Vectors (n, d) searched flat, that is whole; holds the only copy of them.

    In memory of numpy's, which asks the system for huge pages: the search of a large matrix takes
    a third less time there than in FAISS's own.

    Args:
        vectors: shape (n, d), made read-only; not copied if float32 in C order.
        norm: what :func:`largest_norm` gives for them, if it is known.
    """

    integers: ClassVar[bool] = True
    """True if ``dpsan[fast]`` is used where it is installed."""
    by_integers: ClassVar[int] = 0
    """Points of all indexes that were searched by it."""

    def __init__(self, vectors: Floats32, norm: float | None = None) -> None:
        self.vectors = np.ascontiguousarray(vectors, dtype=np.float32)
        """Shape (n, d), read-only."""
        self.vectors.flags.writeable = False
        self.n, self.d = self.vectors.shape
        self._largest_norm = largest_norm(self.vectors) if norm is None else norm
        self._half_squares: Floats32 | None = None
        self._searched = 0
        self._small: SmallIntegers | None = None
        self._most_nearest = MOST_NEAREST

    def __reduce__(self) -> tuple[object, ...]:
        return FlatIndex, (self.vectors, self._largest_norm)

    def search(self, points: Floats, k: int) -> tuple[Ids, Floats]:
        """Return the k nearest rows of each point, nearest first, ties by row number.

        Args:
            points: shape (m, d), finite.
            k: 1 ... n.

        Returns:
            Row numbers and Euclidean distances (not squared), each (m, k).
        """
        if not 1 <= k <= self.n:
            raise ValueError(f"k must be in 1 ... {self.n}")
        if (small := self._integers(len(points), k)) is not None:
            return self._by_integers(small, points, k)
        return self._settle(points, *self._propose(points, min(self.n, k + _EXTRA)), k)

    def _by_integers(self, small: SmallIntegers, points: Floats, k: int) -> tuple[Ids, Floats]:
        """Return the k nearest rows; each thread has some of the points."""
        m = len(points)
        parts = max(1, min(threads(), m // FEWEST_POINTS))
        FlatIndex.by_integers += m
        ids, distances = np.empty((m, k), dtype=np.int64), np.empty((m, k))

        def search(part: int) -> None:
            part_of = slice(m * part // parts, m * (part + 1) // parts)
            ids[part_of], distances[part_of] = self._reckoned(small, points[part_of], k)

        side_by_side(search, range(parts))
        return ids, distances

    def nearest(self, points: Floats) -> Ids:
        """Return the nearest row of each point, ties by row number, shape (m,)."""
        return self.search(points, 1)[0][:, 0]

    def _integers(self, m: int, k: int) -> SmallIntegers | None:
        """Vectors of small integers, for a search that they serve, once they are worth it."""
        if not self.integers or m < FEWEST_POINTS or k > self._most_nearest:
            return None
        if self._searched >= 0:
            self._searched += m
            if self._searched < _POINTS_WORTH + _WORTH / (2 * self.n * self.d):
                return None
            self._small = SmallIntegers.of(self.vectors)
            self._searched = -1  # computed once, whatever the result
        return self._small

    def _reckoned(self, small: SmallIntegers, points: Floats, k: int) -> tuple[Ids, Floats]:
        """Return the k nearest rows and their distances, from candidates by integers."""
        rows = small.candidates(points, k)
        exact = np.empty(len(rows.rows))
        for at in range(0, len(exact), _SCORED):
            part = slice(at, at + _SCORED)
            offsets = self.vectors[rows.rows[part]].astype(np.float64)
            offsets -= points[rows.points[part]]
            exact[part] = np.einsum("nd,nd->n", offsets, offsets)
        # By point and distance; rows ascend, so a stable sort breaks ties by row.
        order = np.lexsort((exact, rows.points))
        starts = np.flatnonzero(np.diff(rows.points, prepend=-1))
        chosen = order[starts[:, None] + np.arange(k)]
        ids = np.empty((len(points), k), dtype=np.int64)
        distances = np.empty((len(points), k))
        ids[~rows.lost], distances[~rows.lost] = rows.rows[chosen], np.sqrt(exact[chosen])
        if len(lost := np.flatnonzero(rows.lost)):
            if 2 * len(lost) > len(points):  # these vectors are too much alike
                self._most_nearest = k - 1
                if k == 1:
                    self._small = None
            proposed = self._propose(points[lost], min(self.n, k + _EXTRA))
            ids[lost], distances[lost] = self._settle(points[lost], *proposed, k)
        return ids, distances

    def _propose(self, points: Floats, width: int) -> tuple[Ids, Floats32]:
        with np.errstate(over="ignore"):
            queries = np.ascontiguousarray(points, dtype=np.float32)
        rows, near = least_values(self.vectors, queries, width)
        # FAISS has no row where a value overflows.  Such a point has an infinite bound: nothing is
        # concluded from its values, but its candidates are rows, and all of them if width is n.
        lost = (rows < 0).any(axis=1)
        rows[lost], near[lost] = np.arange(width), 0.0
        return rows, near

    def _bound(self, points: Floats) -> Floats:
        """Bound on |float32 value - true squared distance| for any order of summation, (m,).

        d products, the rounding of the point itself and of the final sums: factor d + 8 on the
        norms, and as often what is lost where a product is too small for float32.  Infinite where
        one may be too large.
        """
        norms = np.sqrt(np.einsum("md,md->m", points, points)) + self._largest_norm
        bound = np.where(norms**2 < _HUGE, 2 * _UNIT * norms**2 + _TINY, np.inf)
        return np.asarray((self.d + 8) * bound, dtype=np.float64)

    def _settle(self, points: Floats, rows: Ids, near: Floats32, k: int) -> tuple[Ids, Floats]:
        """Return the k nearest rows and their distances, from candidates and their float32
        values.
        """
        m = len(points)
        ids = np.empty((m, k), dtype=np.int64)
        distances = np.empty((m, k), dtype=np.float64)
        # FAISS searches all points at once (one matrix product); re-scoring goes in pieces.
        step = max(1, _QUERIES * 8 // (k + _EXTRA)) if k > 8 else _QUERIES
        for at in range(0, m, step):
            part = slice(at, at + step)
            good = self._decide(points[part], rows[part], near[part], k, ids[part], distances[part])
            far = at + np.flatnonzero(~good)
            size = max(1, min(_FAR, _FAR_SCORES // self.n))
            for left in (far[start : start + size] for start in range(0, len(far), size)):
                ids[left], distances[left] = self._far(points[left], k)
        return ids, distances

    def _decide(
        self, points: Floats, rows: Ids, near: Floats32, k: int, ids: Ids, distances: Floats
    ) -> Mask:
        """Re-score candidates into ``ids`` and ``distances``; True where certainly right."""
        rows = np.sort(rows, axis=1)  # ascending rows: a stable sort breaks ties by row
        offsets = self.vectors[rows].astype(np.float64)
        offsets -= points[:, None, :]
        exact = np.einsum("mkd,mkd->mk", offsets, offsets)
        order = np.argsort(exact, axis=1, kind="stable")[:, :k]
        ids[:] = np.take_along_axis(rows, order, axis=1)
        exact = np.take_along_axis(exact, order, axis=1)
        distances[:] = np.sqrt(exact)
        if rows.shape[1] == self.n:
            return np.ones(len(points), dtype=np.bool_)
        # A row outside the candidates has a float32 value of at least the largest candidate's.
        largest: Floats = near[:, -1].astype(np.float64)
        with np.errstate(invalid="ignore"):  # both may be infinite: then nothing is certain
            return np.asarray(exact[:, -1] < largest - self._bound(points), dtype=np.bool_)

    def _far(self, points: Floats, k: int) -> tuple[Ids, Floats]:
        """Queries whose first candidates could not be proved complete, mostly far from all words.

        There x² drowns x·y - y²/2 in float32; without x² the rounding is smaller by |x|/|y|.
        """
        width = min(self.n, k + _FAR_EXTRA)
        with np.errstate(over="ignore", invalid="ignore"):  # judged below
            if self._half_squares is None:
                self._half_squares = np.einsum("nd,nd->n", self.vectors, self.vectors) / 2
            scores = points.astype(np.float32) @ self.vectors.T
            scores -= self._half_squares
        rows = np.argpartition(-scores, width - 1, axis=1)[:, :width]
        smallest = np.take_along_axis(scores, rows, axis=1).min(axis=1).astype(np.float64)
        ids = np.empty((len(points), k), dtype=np.int64)
        distances = np.empty((len(points), k))
        # Candidates only: completeness is judged below, in terms of the scores.
        self._decide(points, rows, np.full((len(points), 1), np.inf, np.float32), k, ids, distances)
        last = self.vectors[ids[:, -1]].astype(np.float64)
        score = np.einsum("md,md->m", points, last) - np.einsum("md,md->m", last, last) / 2
        norms, y = np.linalg.norm(points, axis=1), self._largest_norm
        bound = (self.d + 8) * 2 * _UNIT * (norms * y + y * y)
        bound += (self.d + 8) * (4 * _UNIT**2 * (norms + y) ** 2 + _TINY)  # of the float64 squares
        sure = score > smallest + bound
        sure &= np.isfinite(smallest) & (norms * y + y * y < _HUGE)  # no value overflowed
        for row in np.flatnonzero(~sure & (width < self.n)):
            ids[row], distances[row] = self._all(points[row], k)
        return ids, distances

    def _all(self, point: Floats, k: int) -> tuple[Ids, Floats]:
        """One query against every row in float64."""
        exact = np.empty(self.n, dtype=np.float64)
        for at in range(0, self.n, 16384):
            offsets = self.vectors[at : at + 16384].astype(np.float64)
            offsets -= point
            exact[at : at + 16384] = np.einsum("nd,nd->n", offsets, offsets)
        order = np.argsort(exact, kind="stable")[:k]
        return order, np.sqrt(exact[order])


# The nearest rows by float32 values: FAISS, on parts of the points in threads of its own.
#
# FAISS's own threads wait for each other after every few hundred rows.  Where another program has
# one of the cores that costs several times the search itself.

_ONE_THREAD_FLOPS: Final = 1e9
"""Work (2·m·n·d) of a search that one thread does in some 20 ms: on a busy machine threads that
wait for each other cost a single line more than they save."""
_POINTS: Final = 1024
"""Points of a piece, at most: one piece is done before an interrupt is heeded."""
_PRODUCT: Final = 5
"""Points from which the matrix product is faster than one distance after the other; for a single
point it takes five times as long."""


def least_values(vectors: Floats32, points: Floats32, width: int) -> tuple[Ids, Floats32]:
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
    m, count = len(points), threads()
    small = 2.0 * m * vectors.size <= _ONE_THREAD_FLOPS
    pieces = 1 if small else count * math.ceil(m / (_POINTS * count))
    rows, values = np.empty((m, width), dtype=np.int64), np.empty((m, width), dtype=np.float32)

    def search(piece: int) -> None:
        part = slice(m * piece // pieces, m * (piece + 1) // pieces)
        before = faiss.omp_get_max_threads()
        faiss.omp_set_num_threads(1)  # of this thread only
        try:
            values[part], rows[part] = faiss.knn(points[part], vectors, width)
        finally:
            faiss.omp_set_num_threads(before)

    side_by_side(search, range(pieces))
    return rows, values
