"""What a kept guarantee is worth: of the integers that are drawn, or of real numbers.

Knows certificates, mechanisms and the bound on rounding.  Must not know draws.
"""

from __future__ import annotations

from dataclasses import dataclass

from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.privacy.certificate import Certificate
from dpsan.privacy.guarantee import Arithmetic, Claim
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
