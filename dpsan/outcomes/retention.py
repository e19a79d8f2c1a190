"""How many words a run is expected to leave as they are, from the vocabulary alone.

Knows samplers and public word frequencies.  Must not know texts: the number is public, and the
same for every text.

The words stand at evenly spaced places of the cumulative public frequencies.  Where the sampler
knows the probability that a word comes out as itself, the mean of those is taken; otherwise one
draw for each word, with a public key.  This takes some tenths of a second at most, so every run
that prints the share computes it anew, and nothing is cached.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from dpsan.mechanisms.samplers.base import Sampler
from dpsan.outcomes.prior import words_at
from dpsan.privacy import randomness
from dpsan.space.metric_space import MetricSpace

_FLOPS: Final = 4e9
"""Work of the draws, by 2·n·d for each."""
_WORDS: Final = (50, 400)
_LINE: Final = 10
"""Words of a line, for samplers that share a line's epsilon among its words."""


def expected_unchanged(sampler: Sampler, space: MetricSpace, public: tuple[int, ...] = ()) -> float:
    """Mean probability, by public frequency, that a word of the vocabulary comes out as itself.

    Args:
        public: row numbers of words that do not count.
    """
    least, most = _WORDS
    words = int(min(max(_FLOPS / (2 * space.n * space.d), least), most)) // _LINE * _LINE
    ids = words_at(space, (np.arange(words) + 0.5) / words)
    if public:
        ids = ids[~np.isin(ids, public)]
        if not len(ids):  # nearly all that is ever said is public
            ids = np.delete(np.arange(space.n), public)[:words]
    known = sampler.unchanged(ids)
    if known is None:
        key = randomness.seeded_key("dpsan retention")
        size = _LINE if sampler.whole_records else 1
        lines = len(ids) // size
        drawn = sampler.sample(ids, randomness.streams_for(key, range(lines), [size] * lines))
        known = drawn == ids
    return float(np.mean(known))
