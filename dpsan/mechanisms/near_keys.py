"""All words by approximate distance from some words: float32 keys of 16 bits with a bound.

Knows points and rounding errors.  Must not know ranks that were drawn, weights or strings.

A key is the squared distance in float32, mapped to 2 ... 65,502 and rounded down, so a counting
sort puts a row of n words in order in a fraction of the time of a comparison sort.  The order is
not exact, but wrong by a known amount: a word that stands before another is farther by at most the
row's *slack*, a bound on the squared distances whatever the order of summation in the product.
Exact distances decide afterwards (:mod:`dpsan.mechanisms.rank_orders`).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["Keys", "NearKeys", "window"]

_UNIT: Final = 2.0**-24
"""Unit roundoff of float32."""
_LEVELS: Final = 65_500
_FIRST: Final = 2
"""Key of the nearest other word, up to rounding; 0 is the word itself."""
_STEP: Final = 8192
_PIECE: Final = 500_000
"""Multiplications in one product up to which OpenBLAS works in the calling thread (2^19)."""
_SAMPLE: Final = 1024
"""Keys of a row that are sorted to guess where a rank lies."""

Keys = NDArray[np.uint16]
Floats32 = NDArray[np.float32]


class NearKeys:
    """Approximate distances from words to all words.

    Args:
        points: shape (n, d), whole numbers whose distances count.
    """

    def __init__(self, points: NDArray[np.int32]) -> None:
        self.n, d = points.shape
        columns = np.empty((d + 1, self.n), dtype=np.float32)
        squares = np.einsum("nd,nd->n", points, points, dtype=np.float64)
        # Scaled by a power of two, which is exact, to norms of at most 1.
        exponent = math.frexp(math.sqrt(float(squares.max())))[1]
        self._factor = math.ldexp(1.0, 2 * exponent)
        for at in range(0, self.n, _STEP):
            columns[:d, at : at + _STEP] = np.ldexp(points[at : at + _STEP], 1 - exponent).T
        columns[d] = squares / self._factor
        self._columns = columns
        largest = float(columns[d].max()) * (1 + 1e-6)
        # Of -2xy + y²: the product of d + 1 terms that add up to 3·y² at most, the rounding of
        # the vectors and of the squares, 5·u·y², the three roundings of a key, 9·u·y², and terms
        # of the second order, where y is the largest norm and u the unit roundoff.
        self._error = (3 * d + 32) * _UNIT * largest
        # How values become keys, for each word that was seen.
        self._scale: Floats32 = np.zeros(self.n, dtype=np.float32)
        self._shift: Floats32 = np.zeros(self.n, dtype=np.float32)
        self.slack: NDArray[np.float64] = np.full(self.n, math.inf)
        """Bound on how much farther, in squared distance, a word may be than one behind it."""

    def products(self, ids: NDArray[np.int64]) -> Floats32:
        """The matrix product that keys are made of, shape (m, n): -2xy + y² in some unit."""
        left = np.empty((len(ids), len(self._columns)), dtype=np.float32)
        left[:, :-1] = self._columns[:-1, ids].T
        left[:, :-1] *= -0.5
        left[:, -1] = 1
        out = np.empty((len(ids), self.n), dtype=np.float32)
        # In tiles that BLAS computes in the calling thread: its own threads would wait for the next
        # product busily, on the processors that the callers need.
        step = max(1, _PIECE // left.size) if left.size else self.n
        for at in range(0, self.n, step):
            part = slice(at, at + step)
            np.matmul(left, self._columns[:, part], out=out[:, part])
        return out

    def keys(self, ids: NDArray[np.int64], products: Floats32) -> Keys:
        """Keys (m, n) of words; sets their :attr:`slack`.

        Args:
            ids: words, shape (m,), not ⊥.
            products: what :meth:`products` gave for them; overwritten.
        """
        new = np.flatnonzero(np.isinf(self.slack[ids]))
        if len(new):
            self._range(ids[new], products if len(new) == len(ids) else products[new])
        products *= self._scale[ids, None]
        products += self._shift[ids, None]
        keys: Keys = products.astype(np.uint16)  # rounds down
        keys[np.arange(len(ids)), ids] = 0
        return keys

    def _range(self, ids: NDArray[np.int64], products: Floats32) -> None:
        """Choose the map to keys by the values of these words, once for each word."""
        # Another product may give values that differ by two errors: they must fit the keys too.
        low = products.min(axis=1) - 2 * self._error
        width = products.max(axis=1) + 2 * self._error - low
        # Rows of equal values have no order: every key is the same.
        wide = width > 0
        scale = np.divide(_LEVELS, width, out=np.zeros(len(ids)), where=wide).astype(np.float32)
        self._scale[ids] = scale
        self._shift[ids] = _FIRST - low * scale
        self.slack[ids] = (width * (1.05 / _LEVELS) + 2 * self._error) * self._factor


def window(keys: Keys, start: int, width: int) -> NDArray[np.int64] | None:
    """The words at the places ``start`` ... ``start + width - 1`` of a row in order of its keys.

    Only the part of the row around those places is sorted.

    Args:
        keys: shape (n,).

    Returns:
        Words, shape (width,), or None where the guess of that part was wrong.
    """
    n = len(keys)
    sample = np.sort(keys[:: max(1, n // _SAMPLE)], kind="stable")
    m = len(sample)
    share = (start + width / 2) / n
    # Four standard deviations of a place in a sample.
    reach = 4 * (share * (1 - share) * m) ** 0.5 + 2 + width * m / (2 * n)
    first, last = int(share * m - reach), int(share * m + reach) + 1
    below = 0
    inside = keys <= sample[last] if last < m else np.ones(n, dtype=np.bool_)
    if first >= 0:
        before = keys < sample[first]
        below = int(np.count_nonzero(before))
        inside ^= before
    near = np.flatnonzero(inside)
    start -= below
    if start < 0 or start + width > len(near):
        return None
    order = np.argsort(keys[near], kind="stable")[start : start + width]
    return np.asarray(near[order])
