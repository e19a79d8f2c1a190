"""Vectors rounded to half precision, as vocabularies are stored.

Knows vectors.  Must not know words or files.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def distinct_half_precision(
    vectors: NDArray[np.float32], rng: np.random.Generator
) -> NDArray[np.float16]:
    """Rows rounded to float16; rows that coincide are moved apart by the smallest steps.

    Mechanisms on distances need words at positive distance from each other.
    """
    out = vectors.astype("<f2")
    while True:
        _, first = np.unique(out, axis=0, return_index=True)
        again = np.setdiff1d(np.arange(len(out)), first)
        if not len(again):
            break
        noise = rng.normal(0.0, 1e-3, (len(again), vectors.shape[1]))
        out[again] = (vectors[again] + noise).astype("<f2")
    if not np.isfinite(out).all() or not out.any(axis=1).all():
        raise ValueError("a vector is zero or not finite")
    return out
