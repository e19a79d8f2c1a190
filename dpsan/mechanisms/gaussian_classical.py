"""``gaussian-classical``: Gaussian noise by the textbook formula, for epsilon <= 1 only.

Definition
    As ``gaussian``, with sigma = Delta_2·sqrt(2·ln(1.25/delta))/epsilon.
Guarantee
    PROVED for epsilon <= 1: (epsilon, delta)-LDP.  The loss is N(m²/2, m²) with
    m = epsilon/sqrt(2·ln(1.25/delta)), and its tail beyond epsilon has mass at most delta there.
    The exact delta of this sigma is computed and printed; it is smaller.  The formula first fails
    at epsilon = 8.42 (delta 1e-5), 8.78 (1e-6), 9.62 (1e-9): epsilon > 1 is refused.
Proof
    docs/proofs.md 1.7
Source
    [DR14] Theorem A.1, stated there for epsilon < 1; the exact delta is [BW18] Theorem 8.
Parameters
    delta: probability, > 0.  clip: C, a length; auto is the largest norm (no vector changes).
Cost
    The diameter once per vocabulary, then one exact search per word.
Not to be confused with
    ``gaussian``, which holds for every epsilon with less noise.  ``gaussian-paper`` runs the
    formula above epsilon 1 too, as published.
"""

from __future__ import annotations

import math

from dpsan.errors import UsageError
from dpsan.mechanisms.mechanism import Guarantee, MetricSpace
from dpsan.mechanisms.noise import GaussianNoise
from dpsan.privacy.noise_formulas import gaussian_delta


class ClassicalGaussian(GaussianNoise):
    """Gaussian noise with the textbook calibration, nearest word."""

    name = "gaussian-classical"
    summary = "Gaussian noise by the textbook formula, epsilon <= 1 only"
    source = "DR14 Theorem A.1"
    why = "the tail of the normal loss beyond epsilon, for epsilon <= 1; delta is exact"

    def mu(self, d: int) -> float:
        """Diameter/sigma.  Raises UsageError outside the theorem's domain."""
        if self.epsilon > 1:
            raise UsageError(
                f"gaussian-classical is proved for epsilon <= 1 only (got {self.epsilon:g})",
                "-m gaussian holds for every epsilon, with less noise",
            )
        return self.epsilon / math.sqrt(2 * math.log(1.25 / self.delta))

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """(epsilon, delta)-LDP with the exact delta."""
        exact = gaussian_delta(self.epsilon, self.mu(space.d))
        return self.promise(self.epsilon, delta=min(self.delta, exact))
