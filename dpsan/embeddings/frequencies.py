"""How frequent the words of a vocabulary are in public text.

Knows counts and row numbers.  Must not know words or vectors.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_OFFSET = 2.7
"""Mandelbrot's: the first ranks of a text are less frequent than Zipf's 1/rank says."""


def word_frequencies(n: int, counts: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """Public frequencies of n words, shape (n,); they sum to 1.

    Args:
        counts: corpus counts (n,), where the embedding file has them; otherwise Zipf's law by row
            number, since files list their words by falling frequency.
    """
    found = 1 / (np.arange(n) + _OFFSET) if counts is None else np.maximum(counts, 1) * 1.0
    return np.asarray(found / found.sum())
