"""All words by approximate distance from some words: float32 keys of 16 bits with a bound.

Knows vectors and rounding errors.  Must not know ranks that were drawn, weights or strings.

A key is the squared distance in float32, mapped to 2 ... 65,502 and rounded down, so a counting
sort puts a row of n words in order in a fraction of the time of a comparison sort.  The order is
not exact, but wrong by a known amount: a word that stands before another is farther by at most the
row's *slack*, a bound on the squared distances whatever the order of summation in the product.
Exact distances decide afterwards (:mod:`dpsan.mechanisms.rank_orders`).
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.space import MetricSpace

__all__ = ["Keys", "NearKeys", "window"]

_UNIT: Final = 2.0**-24
"""Unit roundoff of float32."""
_LEVELS: Final = 65_500
_FIRST: Final = 2
"""Key of the nearest other word, up to rounding; 0 is the word itself."""
_STRIP: Final = 8
"""Rows handled at once: they stay in the processor's own cache."""
_SAMPLE: Final = 1024
"""Keys of a row that are sorted to guess where a rank lies."""

Keys = NDArray[np.uint16]


class NearKeys:
    """Approximate distances from words to all words.

    Args:
        space: the vocabulary.
    """

    def __init__(self, space: MetricSpace) -> None:
        self.n = space.n
        centred = (space.vectors - space.centroid).astype(np.float32)
        exact = np.einsum("nd,nd->n", centred, centred, dtype=np.float64)
        self._centred = centred
        self._columns: NDArray[np.float32] = np.ascontiguousarray(-2 * centred.T)
        self._squares = exact.astype(np.float32)
        # The product of d terms, the rounding of the centred vectors and of the squares, and two
        # roundings of a key: (2d + 4 + 1 + 2 · 6)·u·y² and second-order terms, y the largest norm.
        largest = float(exact.max()) * (1 + 1e-6)
        self._error = (2 * space.d + 32) * _UNIT * largest

    def products(self, ids: NDArray[np.int64]) -> NDArray[np.float32]:
        """The matrix product that keys are made of, shape (m, n)."""
        return np.asarray(np.matmul(self._centred[ids], self._columns))

    def keys(
        self, ids: NDArray[np.int64], products: NDArray[np.float32]
    ) -> tuple[Keys, NDArray[np.float64]]:
        """Keys (m, n) of words and the slack of each row (m,).

        Args:
            ids: words, shape (m,), not ⊥.
            products: what :meth:`products` gave for them; overwritten.
        """
        m = len(ids)
        keys: Keys = np.empty((m, self.n), dtype=np.uint16)
        slack = np.empty(m)
        for at in range(0, m, _STRIP):
            rows = products[at : at + _STRIP]
            rows += self._squares
            low, high = rows.min(axis=1), rows.max(axis=1)
            width = high.astype(np.float64) - low
            # Rows of one value have no order: every key is the same.
            scale = np.divide(_LEVELS, width, out=np.zeros(len(width)), where=width > 0)
            rows -= low[:, None]
            rows *= scale.astype(np.float32)[:, None]
            rows += np.float32(_FIRST)
            keys[at : at + _STRIP] = rows  # the cast rounds down
            slack[at : at + _STRIP] = width * (1.05 / _LEVELS) + 2 * self._error
        keys[np.arange(m), ids] = 0
        return keys, slack


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
