"""Words of opposite judgement apart: a coordinate for what is good and what is bad.

Knows vectors and hand-written lists of signs.  Must not know counts, nor any test set.

In trained vectors *tasty* is near *tasteless*: both are said of the same things.  One direction of
the space, that which tells the listed good words from the bad best, becomes the coordinate; a
listed word has a fixed part of its length there, all else of it is kept.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from recipe.words import read_list

__all__ = ["polarised", "read_signs"]

_RIDGE: Final = 20.0

Vectors = NDArray[np.float32]


def read_signs(folder: Path) -> dict[str, int]:
    """+1 for the words of positive.txt, -1 for those of negative.txt."""
    return {
        word: sign
        for name, sign in (("positive", 1), ("negative", -1))
        for word in read_list(folder / f"{name}.txt")
    }


def polarised(vectors: Vectors, sign: NDArray[np.int64], weight: float) -> Vectors:
    """Unit vectors whose words with a sign have it along one direction, ``weight`` to 1.

    Args:
        vectors: unit, shape (words, d).
        sign: of each word; 0 leaves it as it is.
        weight: length along the direction, all else of the word having length 1.
    """
    if not sign.any():
        return vectors
    rated = np.flatnonzero(sign)
    x = vectors[rated].astype(np.float64)
    axis = np.linalg.solve(x.T @ x + _RIDGE * np.eye(x.shape[1]), x.T @ sign[rated])
    axis /= np.linalg.norm(axis)
    across = x - np.outer(x @ axis, axis)
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    moved = across + weight * np.outer(sign[rated], axis)
    out = vectors.copy()
    out[rated] = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    return out
