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

``gaussian-classical``: Gaussian noise by the textbook formula, for epsilon <= 1 only.

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

``gaussian-paper``: the Gaussian baseline of [TrLap] as its experiments use it, at any epsilon.

Definition
    Vectors longer than C are shortened to C; z ~ N(0, sigma²·I) with the textbook formula
    sigma = 2·C·sqrt(2·ln(1.25/delta))/epsilon for any epsilon; the output is the word nearest to
    the result among the unclipped vectors.
Guarantee
    REFUTED as used: the theorem is for epsilon <= 1, where the formula is proved
    (docs/proofs.md 1.7); the experiments use it up to epsilon 20.  It fails from epsilon 16.9 on
    with the paper's delta of 4^-300, and from 8.42 (delta 1e-5), 8.78 (1e-6), 9.62 (1e-9).  The
    exact delta of this sigma for two inputs 2·C apart, D(epsilon, mu) with
    mu = epsilon/sqrt(2·ln(1.25/delta)), is printed instead, whatever epsilon.
Proof
    docs/proofs.md 3.8
Source
    [TrLap] Theorem 2 and its experiments, with delta = 4^-d; the formula is [DR14] Theorem A.1.
Parameters
    delta: probability; auto is 4^-d.  clip: C, a length; auto is the largest norm.
Cost
    One exact search per word.
Not to be confused with
    ``gaussian``, whose exact calibration and diameter need less noise for a guarantee that holds.
"""

from __future__ import annotations

import math
import sys

from dpsan.errors import UsageError
from dpsan.mechanisms.mechanism import Claim, Guarantee, MetricSpace
from dpsan.mechanisms.noise import GaussianNoise, delta_parameter, paper_delta
from dpsan.privacy.noise_formulas import gaussian_delta, gaussian_mu


class AnalyticGaussian(GaussianNoise):
    """Gaussian noise with the exact calibration, nearest word."""

    def mu(self, d: int) -> float:
        """Diameter/sigma."""
        return gaussian_mu(self.epsilon, self.delta)

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """(epsilon, delta)-LDP."""
        return self.promise(self.epsilon, delta=self.delta)


class ClassicalGaussian(GaussianNoise):
    """Gaussian noise with the textbook calibration, nearest word."""

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


class GaussianPaper(GaussianNoise):
    """Gaussian noise by the textbook formula and sensitivity 2·C, nearest unclipped word."""

    unclipped = True

    delta: float | str = delta_parameter(published=True)  # type: ignore[assignment]

    def mu(self, d: int) -> float:
        """2·C/sigma; delta may be far below the smallest float64."""
        log = -d * math.log(4) if isinstance(self.delta, str) else math.log(self.delta)
        return self.epsilon / math.sqrt(2 * (math.log(1.25) - log))

    def wanted_delta(self, d: int) -> float:
        return paper_delta(self.delta, d)

    def sensitivity(self, moved: MetricSpace, radius: float) -> float:
        """2·C: the paper's, whatever the words."""
        return 2 * radius

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Return the claim, and the exact delta of its sigma at two inputs 2·C apart."""
        mu, claimed = self.mu(space.d), self.wanted_delta(space.d)
        true = max(gaussian_delta(self.epsilon, mu), sys.float_info.min)
        verdict = "is above" if true > claimed else "is below"
        return self.promise(
            epsilon_ldp=self.epsilon,
            delta=true,
            claimed=Claim(self.epsilon, claimed),
            why="the textbook formula is proved for epsilon <= 1 only; the exact delta of its "
            f"noise, {true:.4g}, {verdict} the claim at this epsilon",
        )
