"""Arithmetic for which a kept guarantee is proved, and the smallest delta at other epsilons."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np

from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.samplers.base import Sampler, Table
from dpsan.privacy.certificate import Certificate, hockey_stick
from dpsan.privacy.guarantee import Arithmetic, Claim, Guarantee
from dpsan.privacy.noise_formulas import gaussian_delta
from dpsan.privacy.rounding import float64_delta
from dpsan.space.arrays import Ids
from dpsan.space.metric_space import MetricSpace


@dataclass(frozen=True)
class Grade:
    """Arithmetic for which a guarantee is kept."""

    name: str
    gap: float | None
    """Bound on the total variation distance between the drawn distribution and the proved one."""
    delta: float | None = None
    """Delta of the claimed LDP epsilon with that gap; None without a gap or a claim."""


def grade(
    mechanism: Mechanism,
    sampler: Sampler,
    space: MetricSpace,
    certificate: Certificate | None,
    claim: Claim,
) -> Grade:
    """Return the grade of a guarantee that is kept.

    Args:
        mechanism: the mechanism under test.
        sampler: its sampler.
        space: its vocabulary.
        certificate: certificate of its integers, or of anything else.
        claim: the claim that is kept.
    """
    gap = mechanism.float64_gap(space)
    whole = isinstance(sampler, Table)  # else the certificate is of probabilities
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
"""Shares of the LDP epsilon at which delta is printed."""
_ROUNDING: Final = 1e-12
"""Largest delta that rounding of float64 sums may leave where the true delta is 0."""
_CELLS: Final = 5e5
"""Most probabilities that are compared: fewer inputs where the vocabulary is larger."""


def delta_curve(
    sampler: Sampler, guarantee: Guarantee, rows: Ids, epsilon: float | None
) -> tuple[tuple[float, float], ...]:
    """Return pairs (epsilon, smallest delta) of the worst-case pair, or of the given inputs.

    Args:
        sampler: sampler, with its exact distribution where it has one.
        guarantee: guarantee of its mechanism.
        rows: inputs without public words, those of the largest losses first.
        epsilon: the LDP epsilon; delta is computed at shares of it.

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
    distinct = np.array(list(dict.fromkeys(rows.tolist())))
    pmf = sampler.probabilities(distinct[: max(2, int(_CELLS / one.shape[1]))])
    assert pmf is not None  # noqa: S101 - one row was given
    found = ((each, hockey_stick(pmf, each)[0]) for each in points)
    return tuple((each, delta if delta > _ROUNDING else 0.0) for each, delta in found)
