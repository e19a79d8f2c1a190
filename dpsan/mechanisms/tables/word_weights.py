"""Weights of words for mechanisms on tensors: a public list, or corpus frequency.

A weight is in [0, 1): 0 is plain, near 1 is sensitive.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.base import word_frequencies
from dpsan.embeddings.public_words import WordLists
from dpsan.errors import UsageError
from dpsan.space.arrays import Floats

NO_WEIGHTS: Final = "none"
FREQUENCY: Final = "frequency"
TOP_WEIGHT: Final = 0.9
"""Weight of the rarest word by frequency."""


def frequency(counts: NDArray[np.int64] | None, n: int) -> Floats:
    """Weights from public corpus counts, shape (n,): 0 for the most frequent, 0.9 for the rarest.

    Linear in the logarithm of the count.

    Args:
        counts: shape (n,) or None, see :func:`word_frequencies`.
    """
    seen = word_frequencies(n, counts)
    rarity = np.log(seen.max() / seen)
    top = float(rarity.max())
    return np.asarray(TOP_WEIGHT * rarity / top if top > 0 else rarity, dtype=np.float64)


def resolve(
    choice: str,
    listed: tuple[float, ...] | None,
    counts: NDArray[np.int64] | None,
    n: int,
) -> Floats:
    """Weights of all inputs, shape (n + 1,); ⊥ has the largest weight of any word.

    Args:
        choice: ``none``, ``frequency`` or a file.
        listed: what :meth:`WordLists.weights` found in the file.

    Raises:
        UsageError: a file that was not read for this vocabulary.
    """
    if choice == NO_WEIGHTS:
        words = np.zeros(n)
    elif choice == FREQUENCY:
        words = frequency(counts, n)
    elif listed is None or len(listed) != n:
        raise UsageError("weights from a file need the vocabulary", "call with_vocabulary first")
    else:
        words = np.array(listed)
        if not ((words >= 0) & (words < 1)).all() or not all(map(math.isfinite, listed)):
            raise UsageError("weights must be >= 0 and < 1")
    return np.append(words, words.max(initial=0.0))


def with_listed(mechanism: Any, lists: WordLists) -> Any:
    """Return a mechanism with fields ``weights`` and ``listed``, where the weights are a file's."""
    if mechanism.weights in (FREQUENCY, NO_WEIGHTS):
        return mechanism
    return replace(mechanism, listed=lists.weights(mechanism.weights))
