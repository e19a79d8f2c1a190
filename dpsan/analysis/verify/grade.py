"""In which numbers a kept guarantee holds, and the smallest delta at other epsilons."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.privacy.certificate import Certificate
from dpsan.privacy.distribution_matrix import hockey_stick
from dpsan.privacy.guarantee import Arithmetic, Claim, Guarantee
from dpsan.privacy.noise_formulas import gaussian_delta
from dpsan.privacy.rounding import float64_delta
from dpsan.space.metric_space import MetricSpace


@dataclass(frozen=True)
class Grade:
    """In which numbers a guarantee is kept."""

    name: str
    gap: float | None
    """Bound on the total variation distance between what is drawn and what the proof is about."""
    delta: float | None = None
    """The delta of the claimed LDP epsilon with that gap; None where there is no gap or claim."""


def grade(
    mechanism: Mechanism,
    sampler: Sampler,
    space: MetricSpace,
    certificate: Certificate | None,
    claim: Claim,
) -> Grade:
    """The grade of a guarantee that is kept.

    Args:
        mechanism: what is verified.
        sampler: what draws for it.
        space: its vocabulary.
        certificate: of its integers, or of anything else.
        claim: what is kept.
    """
    gap = mechanism.float64_gap(space)
    whole = sampler.integer_weights() is not None  # else the certificate is of probabilities
    if mechanism.arithmetic is Arithmetic.INTEGERS and certificate is not None and whole:
        return Grade("certified on the sampled integers", gap)
    if gap is None:
        return Grade("proved for real numbers only", None)
    # Rounded up in print, as every bound is.
    name = f"proved; float64 gap at most {1.05 * gap:.2g}"
    if not gap or claim.metric is not None:
        return Grade(name, gap)
    return Grade(name, gap, float64_delta(claim.epsilon, claim.delta, gap))


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
