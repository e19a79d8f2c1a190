"""Public weights of words: a weight is in [0, 1), 0 is plain, near 1 is sensitive."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.base import word_frequencies
from dpsan.mechanisms.parameters import parameter
from dpsan.space.arrays import Floats
from dpsan.space.metric_space import MetricSpace

NO_WEIGHTS: Final = "none"
FREQUENCY: Final = "frequency"
TOP_WEIGHT: Final = 0.9
"""Weight of the rarest word by frequency."""


def weights_parameter(default: str) -> Any:
    """Return the field ``weights`` of mechanisms whose words have weights."""
    what = "weight of each word: none, or more for rarer words"
    return parameter(default, what, words=(FREQUENCY, NO_WEIGHTS))


def word_weights(weights: str, space: MetricSpace) -> Floats:
    """Weights of all inputs, shape (n + 1,); ⊥ has the largest weight of any word."""
    words = np.zeros(space.n)
    if weights == FREQUENCY:
        words = frequency(space.counts, space.n)
    return np.append(words, words.max(initial=0.0))


def frequency(counts: NDArray[np.int64] | None, n: int) -> Floats:
    """Weights from public corpus counts, shape (n,): 0 for the most frequent, 0.9 for the rarest.

    Linear in the logarithm of the count.

    Args:
        counts: shape (n,) or None, see :func:`word_frequencies`.
    """
    shares = word_frequencies(n, counts)
    rarity = np.log(shares.max() / shares)
    top = float(rarity.max())
    return np.asarray(TOP_WEIGHT * rarity / top if top > 0 else rarity, dtype=np.float64)
