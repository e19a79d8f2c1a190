"""Arithmetic for which a kept guarantee is proved, and the smallest delta at other epsilons."""

from __future__ import annotations

from dataclasses import dataclass

from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.mechanisms.tables.table import Table
from dpsan.privacy.certificate import Certificate
from dpsan.privacy.guarantee import Arithmetic, Claim
from dpsan.privacy.rounding import float64_delta
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
