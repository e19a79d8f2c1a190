"""How many words a run is expected to leave as they are, from the vocabulary alone.

Knows samplers and public word frequencies.  Must not know texts: the number is public, and the
same for every text.

Words are taken as often as the vocabulary counts them (Zipf's law where it has no counts), at
evenly spaced places of the cumulative frequencies.  Where the sampler tells the probability that a
word comes out as itself, it is that; otherwise one draw for each word, with a public key.  The
work is bounded (some tenths of a second, and a row or two of a closed form for the default), so it
is done again for each run that prints it, and nothing is cached.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.base import Sampler
from dpsan.privacy import randomness
from dpsan.space.metric_space import MetricSpace

__all__ = ["expected_unchanged"]

Ids = NDArray[np.int64]

_FLOPS: Final = 4e9
"""Work of the draws, by 2·n·d for each."""
_WORDS: Final = (50, 400)
_LINE: Final = 10
"""Words of a line, for samplers that share a line's epsilon among its words."""


def expected_unchanged(sampler: Sampler, space: MetricSpace) -> float:
    """Mean probability, by public frequency, that a word of the vocabulary comes out as itself."""
    ids = _frequent(space)
    known = sampler.unchanged(ids)
    if known is None:
        key = randomness.seeded_key("dpsan retention")
        size = _LINE if sampler.whole_records else 1
        lines = len(ids) // size
        drawn = sampler.sample(ids, randomness.streams_for(key, range(lines), [size] * lines))
        known = drawn == ids
    return float(np.mean(known))


def _frequent(space: MetricSpace) -> Ids:
    """Words at evenly spaced places of the cumulative frequencies, shape (m,); m divides by 10."""
    n, counts = space.n, space.counts
    frequencies = 1 / (np.arange(n) + 2.7) if counts is None else np.maximum(counts, 1) * 1.0
    cumulative = np.cumsum(frequencies)
    least, most = _WORDS
    words = int(min(max(_FLOPS / (2 * n * space.d), least), most)) // _LINE * _LINE
    places = (np.arange(words) + 0.5) / words * cumulative[-1]
    found = np.searchsorted(cumulative, places, side="right")
    return np.asarray(np.minimum(found, n - 1), dtype=np.int64)
