"""Tensors of words, a word or a whole line: what tldp and tldp-paper share."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.base import word_frequencies
from dpsan.mechanisms.parameters import parameter
from dpsan.mechanisms.samplers.base import Sampler, nearest
from dpsan.privacy.randomness import Streams
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import MetricSpace

_PARTS: Final = 4096
"""Words whose noise is held at once."""


class TensorSampler(Sampler):
    """Release a noisy tensor, then the word nearest to each of its points."""

    space: MetricSpace
    """The words where noise is added to them."""

    @abstractmethod
    def release(self, ids: Ids, words: Ids, streams: Streams) -> Floats:
        """Return the noisy points of words, (m, d).

        Args:
            words: for each word how many its tensor has.
        """

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        words, out, at = np.ones_like(ids), np.empty_like(ids), 0
        if self.whole_records:
            _, which, counts = np.unique(streams.records, return_inverse=True, return_counts=True)
            words = counts[which]
        for part in streams.chunks(_PARTS):
            here = slice(at, at + len(part))
            out[here] = nearest(self.space, self.release(ids[here], words[here], part), part)
            at += len(part)
        return out


# Weights of words, public: a weight is in [0, 1), 0 is plain, near 1 is sensitive.

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
    seen = word_frequencies(n, counts)
    rarity = np.log(seen.max() / seen)
    top = float(rarity.max())
    return np.asarray(TOP_WEIGHT * rarity / top if top > 0 else rarity, dtype=np.float64)
