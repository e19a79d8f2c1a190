"""Test whether as many words stay unchanged as a run says that it expects.

Words are drawn by their public frequencies, each is rewritten as a text of its own, and those that
stay are counted.  A run expects the share of a few hundred words at quantiles of the frequencies,
so the limit is half as much again and .05.  A program that stays below it is refuted with
probability at most 1e-9.
"""

import math

import numpy as np

from checks import KEY
from dpsan.analysis.verify.checks import words_at_random
from dpsan.outcomes.intervals import log_tail_of_share
from dpsan.privacy.randomness import derive_key, streams_for
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.tokens import folded

_ERROR = 1e-9
_WORDS = 6000
_MISSED = 0.05
"""Largest share of the frequencies that words of several tokens may have."""
_LIMIT = (1.5, 0.05)


def unchanged(sanitizer: Sanitizer, key: bytes = KEY) -> str:
    """Count words that stay.

    A run that expects the share from draws of a few words is not judged.
    """
    n, keys = sanitizer.space.n, sanitizer.embeddings.index_to_key
    sampler = sanitizer.mechanism.prepare(sanitizer.space)
    if sampler.unchanged(np.zeros(1, dtype=np.int64)) is None:
        return ""
    weights = sanitizer.space.frequencies.copy()
    weights[list(sanitizer.public)] = 0
    every, several = weights.sum(), np.ones(n, dtype=np.bool_)
    several[words_at_random(sanitizer, n, key)] = False
    weights[several] = 0
    if not every or weights.sum() < (1 - _MISSED) * every:
        return ""
    ends = np.cumsum(weights)
    chance = streams_for(derive_key(key, "chance"), [0], [_WORDS]).uniform("words")[:, 0]
    texts = [keys[row] for row in np.searchsorted(ends, chance * ends[-1], side="right").tolist()]
    single = sanitizer.by_text()
    done, totals = single.sanitize(texts, derive_key(key, "run")), single.accountant()
    totals.add([done])
    same = sum(folded(a) == folded(b) for a, b in zip(texts, done.lines, strict=True))
    share = sanitizer.expected_share(totals)
    limit = min(1.0, _LIMIT[0] * share + _LIMIT[1])
    log = float(log_tail_of_share(np.array([same]), _WORDS, np.array([limit]))[0])
    if same <= limit * _WORDS or log > math.log(_ERROR):
        return ""
    return f"{same / _WORDS:.0%} of {_WORDS:,} words stay, and a run expects only {share:.0%}"
