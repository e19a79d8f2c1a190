"""How likely each input is before its output is seen: the public prior of words and of ⊥.

Knows public word frequencies and row numbers.  Must not know mechanisms.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import MetricSpace

UNKNOWN_PRIOR: Final = 0.06
"""Prior of ⊥: the share of tokens of AG News and SST-2 that the bundled vocabulary lacks."""


def prior(space: MetricSpace) -> Floats:
    """Public probabilities of the inputs, shape (n + 1,), ⊥ last; they sum to 1.

    See :func:`dpsan.embeddings.frequencies.word_frequencies`.
    """
    return np.append(space.frequencies * (1 - UNKNOWN_PRIOR), UNKNOWN_PRIOR)


def words_at(space: MetricSpace, places: Floats) -> Ids:
    """The words at places 0 ... 1 of the cumulative frequencies, shape (m,).

    Uniform places choose words by frequency; evenly spaced ones stand for the whole vocabulary.
    """
    rows = np.searchsorted(np.cumsum(space.frequencies), places, side="right")
    return np.asarray(np.minimum(rows, space.n - 1), dtype=np.int64)
