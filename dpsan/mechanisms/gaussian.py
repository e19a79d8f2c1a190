"""``gaussian``: the analytic Gaussian mechanism on clipped vectors, then the nearest word.

Definition
    Vectors longer than C are shortened to C; z ~ N(0, sigma²·I), sigma = Delta_2/mu, Delta_2 the
    L2 diameter of the clipped vectors and mu the solution of
    ndtr(-epsilon/mu + mu/2) - e^epsilon·ndtr(-epsilon/mu - mu/2) = delta.
Guarantee
    PROVED: (epsilon, delta)-LDP for every epsilon > 0.  The loss between two inputs at distance s
    is itself normal, N(m²/2, m²) with m = s/sigma, which gives the left side exactly at mu = m.
    It grows with m and m <= mu for all pairs; the centroid ⊥ is covered as a norm is convex.
Proof
    docs/proofs.md 1.6
Source
    [BW18] Theorem 8; [TrLap] Theorem 2 uses it for words.  Delta_2 is the exact diameter where that
    is cheap, never above 2·C.
Parameters
    delta: probability, > 0.  clip: C, a length; auto is the largest norm (no vector changes).
Cost
    The diameter once per vocabulary, then one exact search per word.
Not to be confused with
    ``gaussian-classical``, whose formula holds for epsilon <= 1 only and adds more noise.
"""

from __future__ import annotations

from dpsan.mechanisms.mechanism import Guarantee, MetricSpace
from dpsan.mechanisms.noise import GaussianNoise
from dpsan.privacy.noise_formulas import gaussian_mu


class AnalyticGaussian(GaussianNoise):
    """Gaussian noise with the exact calibration, nearest word."""

    name = "gaussian"
    summary = "Gaussian noise, exactly calibrated for any epsilon: LDP with delta"
    source = "BW18 Theorem 8"
    why = "the loss of Gaussian noise is normal; sigma solves its exact delta"

    def mu(self, d: int) -> float:
        """Diameter/sigma."""
        return gaussian_mu(self.epsilon, self.delta)

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """(epsilon, delta)-LDP."""
        return self.promise(self.epsilon, delta=self.delta)
