"""A trained vocabulary as the bytes of an ``.npz`` file, which ``load`` reads.

Knows the arrays of :mod:`dpsan.embeddings.numpy_files`.  Must not know how they were made.
"""

from __future__ import annotations

import io

import numpy as np

from dpsan.embeddings.training.recipe import Trained


def packed(trained: Trained) -> bytes:
    """Vectors (n, d) float16, words, counts and spellings (n,); no pickle, no time of day."""
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        vectors=np.ascontiguousarray(trained.vectors, dtype="<f2"),
        words=np.array(trained.words, dtype=np.str_),
        counts=trained.counts.astype("<i8"),
        spellings=np.array(trained.spellings, dtype=np.str_),
    )
    return buffer.getvalue()
