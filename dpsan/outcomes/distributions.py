"""The output distributions of words, where a sampler knows them.

Knows samplers.  Must not know what is made of a distribution.
"""

from __future__ import annotations

import numpy as np

from dpsan.mechanisms.samplers.base import Sampler
from dpsan.space.arrays import Floats, Ids


def has_distribution(sampler: Sampler) -> bool:
    """Whether probabilities are known, and not only draws."""
    return sampler.probabilities(np.zeros(1, dtype=np.int64)) is not None


def distributions(sampler: Sampler, ids: Ids) -> Floats:
    """P(u|w) of words (m,) for all outputs, shape (m, n).

    Args:
        ids: words; n for ⊥.
    """
    found = sampler.probabilities(ids)
    if found is None:
        raise AssertionError("the distribution is known for some words only")
    return found
