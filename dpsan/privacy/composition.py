"""Guarantees of many words together: basic and optimal composition.

Sources: [BW18] and docs/proofs.md 4.1; black boxes go through Google's dp-accounting (extra
``accounting``), Gaussian noise through its closed form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from dpsan.privacy.guarantee import Guarantee

_LARGEST: Final = 10_000
"""Words up to which black boxes are composed numerically."""
_GRID: Final = 1e-3


@dataclass(frozen=True, slots=True)
class Composed:
    """Epsilon and delta of several words together (local differential privacy)."""

    epsilon: float
    delta: float
    method: str


def compose_basic(guarantee: Guarantee, words: int) -> Composed:
    """Epsilons and deltas add up."""
    epsilon = words * guarantee.epsilon_ldp if words else 0.0  # 0 times infinity is no number
    return Composed(epsilon, min(1.0, words * guarantee.delta), "basic composition")


def compose_optimal(guarantee: Guarantee, words: int) -> Composed | None:
    """Return the best epsilon for a delta near the basic one; None where no method gives a smaller
    one.

    Gaussian noise: mu grows with the square root of the number of words, exactly.  Otherwise the
    mechanism is taken as any (epsilon, delta) black box; below deltas of about 1e-15 its grid
    has no finite answer, and basic composition stands.
    """
    if words < 2 or not 0 < guarantee.delta < 1 or math.isinf(guarantee.epsilon_ldp):
        return None
    if guarantee.gaussian_mu is None:
        found = _black_box(guarantee, words)
    else:
        from dpsan.privacy.noise_formulas import gaussian_epsilon  # scipy

        mu = math.sqrt(words) * guarantee.gaussian_mu
        found = Composed(gaussian_epsilon(mu, guarantee.delta), guarantee.delta, "Gaussian")
    basic = compose_basic(guarantee, words)
    return found if found and found.epsilon < basic.epsilon else None


def _black_box(guarantee: Guarantee, words: int) -> Composed | None:
    if words > _LARGEST or guarantee.epsilon_ldp > 20:
        return None
    try:
        from dp_accounting.pld import privacy_loss_distribution as pld
        from dp_accounting.pld.common import DifferentialPrivacyParameters
    except ImportError:
        return None
    # The infinite-loss part alone composes to 1 - (1 - delta)^words < words·delta.
    delta = min(1.0, 2 * words * guarantee.delta)
    one = pld.from_privacy_parameters(
        DifferentialPrivacyParameters(guarantee.epsilon_ldp, guarantee.delta),
        value_discretization_interval=_GRID,
    )
    epsilon = float(one.self_compose(words).get_epsilon_for_delta(delta))
    return Composed(epsilon, delta, "optimal composition (dp-accounting)")
