"""The smallest delta at several epsilons: how much worse than the claim a small epsilon is.

Knows distribution matrices and Gaussian noise.  Must not know draws.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.samplers.base import Sampler
from dpsan.privacy.distribution_matrix import hockey_stick
from dpsan.privacy.guarantee import Guarantee
from dpsan.privacy.noise_formulas import gaussian_delta

_SHARES: Final = (0.25, 0.5, 0.75, 1.0)
"""Of the LDP epsilon."""
_ROUNDING: Final = 1e-12
"""What sums of float64 probabilities leave of a delta of 0."""
_CELLS: Final = 4e6
"""Probabilities that are compared; fewer inputs where the vocabulary is larger."""


def delta_curve(
    sampler: Sampler, guarantee: Guarantee, rows: NDArray[np.int64], epsilon: float | None
) -> tuple[tuple[float, float], ...]:
    """Pairs (epsilon, smallest delta): of the worst pair of inputs, or of those that are given.

    Args:
        sampler: its exact distribution, where it has one.
        guarantee: of its mechanism.
        rows: inputs, most telling first; public words are left out by the caller.
        epsilon: the LDP epsilon; at shares of it.

    Returns:
        Nothing where neither the distribution nor the noise gives a delta.
    """
    if epsilon is None or not 0 < epsilon < math.inf:
        return ()
    points = [share * epsilon for share in _SHARES]
    if guarantee.gaussian_mu is not None:
        return tuple((each, gaussian_delta(each, guarantee.gaussian_mu)) for each in points)
    one = sampler.probabilities(rows[:1])
    if one is None:
        return ()
    distinct = np.array(list(dict.fromkeys(rows.tolist())), dtype=np.int64)
    law = sampler.probabilities(distinct[: max(2, int(_CELLS / one.shape[1]))])
    assert law is not None  # noqa: S101 - one row was given
    found = ((each, hockey_stick(law, each)[0]) for each in points)
    return tuple((each, delta if delta > _ROUNDING else 0.0) for each, delta in found)
