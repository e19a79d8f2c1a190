"""Directions of word vectors as integers, whose products are exact whatever computes them.

A vector is scaled to a fixed length and each coordinate is rounded to an integer.  By
Cauchy-Schwarz every partial sum of a product of two such vectors is an integer of at most 2^23,
which float32 holds exactly: the product is the same for every BLAS, thread count and order of
summation.  It is cosine·LENGTH², up to the rounding of the coordinates.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import numpy as np
from numpy.typing import NDArray

LENGTH: Final = 2895
"""Bound on the Euclidean length of an integer vector; 2895² < 2^23."""
UNIT: Final = 1 << 23
"""Products are below this in absolute value."""
_ROWS: Final = 4096
"""Vectors whose directions are made at once."""
_PRODUCTS: Final = 1 << 22
"""Products that are ranked at once."""
_THREADS: Final = 2
"""Blocks that are ranked side by side; each writes rows of its own, so nothing depends on them."""

Floats = NDArray[np.float32]


def _scale(d: int) -> float:
    # Rounding lengthens a vector by at most half the diagonal of a unit cube.
    return LENGTH - 1 - math.sqrt(d) / 2


def directions(vectors: Floats) -> Floats:
    """Integer vectors, shape (m, d), of the same directions; a zero vector stays zero.

    Only operations that IEEE 754 rounds correctly are used, in a fixed order.
    """
    out = np.empty(vectors.shape, dtype=np.float32)
    for at in range(0, len(vectors), _ROWS):
        wide = vectors[at : at + _ROWS].astype(np.float64)
        squares = np.zeros(len(wide))
        for column in wide.T:  # a sum of numpy's may use another order on another processor
            squares += column * column
        lengths = np.sqrt(squares)
        wide *= (_scale(vectors.shape[1]) / np.where(lengths > 0, lengths, 1.0))[:, None]
        np.rint(wide, out=wide)
        out[at : at + _ROWS] = wide
    return out


def cosine_unit(d: int) -> float:
    """Return the product that stands for cosine 1."""
    return _scale(d) ** 2


def favoured(rows: Floats, favours: Floats | float | None) -> Floats:
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


def ranking(inputs: Floats, outputs: Floats, width: int) -> tuple[NDArray[np.int32], Floats]:
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
