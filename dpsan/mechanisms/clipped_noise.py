"""``clipped-laplace``: independent Laplace noise on clipped vectors, then the nearest word.

Definition
    Vectors longer than C are shortened to C.  Every coordinate gets independent noise with density
    exp(-|x|/b)/(2b), b = Delta_1/epsilon, Delta_1 the L1 diameter of the clipped vectors; the
    output is the word whose clipped vector is nearest.
Guarantee
    PROVED: pure epsilon-LDP.  The density ratio of two shifted noises is at most
    exp(|x - x'|_1/b), and |x - x'|_1 <= Delta_1 for every two inputs, the centroid ⊥ included
    because a norm is convex.  The nearest word reads only the noisy point.
Proof
    docs/proofs.md 1.5
Source
    [TrLap] Theorem 1, with the exact Delta_1 of the vocabulary (or the smallest sound bound) in
    position of 2·sqrt(d)·C.
Parameters
    clip: C, a length; auto is the largest norm, so that no vector changes.
Cost
    The L1 diameter once per vocabulary, then one exact search per word.
Not to be confused with
    ``laplace``, whose epsilon is per unit of distance.  ``clipped-laplace-paper`` has the published
    sensitivity and the nearest unclipped word.

``clipped-laplace-paper``: the Laplace baseline of [TrLap] as published.

Definition
    Vectors longer than C are shortened to C.  Every coordinate gets independent noise with density
    exp(-|x|/b)/(2b), b = 2·sqrt(d)·C/epsilon; the output is the word nearest to the result among
    the unclipped vectors.
Guarantee
    PROVED: pure epsilon-LDP.  Two vectors no longer than C differ by at most 2·C in L2 and so by
    2·sqrt(d)·C in L1: docs/proofs.md 1.5 with a larger sensitivity.  The nearest word, clipped or
    not, reads only the noisy point.
Proof
    docs/proofs.md 1.5
Source
    [TrLap] Theorem 1, to the letter.
Parameters
    clip: C, a length; auto is the largest norm, so that no vector changes.
Cost
    One exact search per word.
Not to be confused with
    ``clipped-laplace``, which has the vocabulary's own L1 diameter: a third less noise for the same
    guarantee.

``gaussian``: the analytic Gaussian mechanism on clipped vectors, then the nearest word.

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

``trlaplace``: truncated Laplace noise on clipped vectors with a calibration that holds.

Definition
    As ``trlaplace-paper`` with alpha = epsilon/(2 sqrt(d) C) but
    A = (2 sqrt(d) C/epsilon)·ln(1 + S/(2 delta)); S = d(e^(epsilon/d) - 1) if epsilon <= sqrt d,
    else epsilon + e^x - 1 - x with x = epsilon/sqrt d.  Nearest word among the clipped vectors.
Guarantee
    PROVED: (epsilon, delta)-LDP.  Inside both boxes the ratio is at most e^(alpha·|s|_1), which is
    at most e^epsilon for |s|_2 <= 2C; the mass outside is at most
    sum q(|s_i|) = delta·sum (e^(alpha|s_i|) - 1)/S.  S bounds that sum: e^(alpha sqrt v) - 1 is
    concave in v while alpha sqrt v <= 1, so equal |s_i| are worst; beyond,
    e^y - 1 <= y + (e^x - 1 - x)(y/x)² for y <= x.  All of delta is infinite-loss mass.
Proof
    docs/proofs.md 1.8
Source
    This project, correcting [TrLap] Theorem 3; d = 1 gives [Geng20].
Parameters
    delta: probability, > 0.  clip: C, a length; auto is the largest norm (no vector changes).
Cost
    One exact search per word.
Not to be confused with
    ``gaussian``, which adds a sixth of this noise for the same guarantee at d = 300, epsilon 1.

``trlaplace-paper``: the truncated Laplacian mechanism exactly as published; its claim is false.

Definition
    Vectors longer than C are shortened to C.  Every coordinate gets independent noise with density
    e^(-alpha|x|)/B on [-A, A], alpha = epsilon/(2 sqrt(d) C), B = 2C/delta^(1/d),
    A = -ln(1 - epsilon/(2 delta^(1/d) sqrt d))/alpha; the output is the word nearest to the result
    among the unclipped vectors.  Defined for epsilon < 2 delta^(1/d) sqrt d; for larger epsilon
    dummy dimensions (zeros) are added: d becomes the smallest multiple of 100 inside the domain
    (500 at epsilon 10, 1700 at 20 for delta = 4^-d).  Noise on dummies is dropped, not drawn.
Guarantee
    REFUTED: claimed (epsilon, delta)-LDP.  The proof bounds the mass outside the intersection of
    two boxes shifted by s by a product over coordinates, but a point lies outside as soon as one
    coordinate does.  True delta, and infinite-loss mass, at |s| = 2C:
    max 1 - prod(1 - q(|s_i|)), q(t) = (e^(alpha t)-1)e^(-alpha A)/(2(1-e^(-alpha A))), attained
    where all |s_i| are equal; .979 for d = 300, epsilon 1.  Inside, the ratio is at most e^epsilon.
Proof
    docs/proofs.md 3.1
Source
    [TrLap] Theorem 3; delta = 4^-d (of the padded d) as in its experiments.
Parameters
    delta: probability; auto is 4^-d.  clip: C, a length; auto is the largest norm.
Cost
    One exact search per word.
Not to be confused with
    ``trlaplace``, the same noise with a calibration that holds.
"""

import math
import sys

from dpsan.errors import UsageError
from dpsan.mechanisms import noise
from dpsan.privacy import noise_formulas as formulas
from dpsan.privacy.guarantee import Arithmetic, Claim, Guarantee
from dpsan.privacy.rounding import LaplaceCoordinates
from dpsan.space.diameters import l1_diameter
from dpsan.space.metric_space import MetricSpace


class ClippedLaplace(noise.ClippedNoise):
    """Independent Laplace noise on clipped vectors, nearest word."""

    arithmetic = Arithmetic.ROUNDED

    clip: float | str = noise.clip_parameter()

    def distribution(self, moved: MetricSpace, radius: float) -> LaplaceCoordinates:
        """B = Delta_1/epsilon."""
        return LaplaceCoordinates(l1_diameter(moved, radius) / self.epsilon)


_UP = 1 + 1e-12
"""Rounding of the square root and the product, safe side."""


class ClippedLaplacePaper(noise.ClippedNoise):
    """Independent Laplace noise for the ball of radius C, nearest unclipped word."""

    unclipped = True

    clip: float | str = noise.clip_parameter()

    def distribution(self, moved: MetricSpace, radius: float) -> LaplaceCoordinates:
        """B = 2·sqrt(d)·C/epsilon, rounded up."""
        return LaplaceCoordinates(2 * math.sqrt(moved.d) * radius * _UP / self.epsilon)


class AnalyticGaussian(noise.GaussianNoise):
    """Gaussian noise with the exact calibration, nearest word."""

    def mu(self, d: int) -> float:
        """Diameter/sigma."""
        return formulas.gaussian_mu(self.epsilon, self.delta)

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """(epsilon, delta)-LDP."""
        return self.promise(self.epsilon, delta=self.delta)


class ClassicalGaussian(noise.GaussianNoise):
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
        exact = formulas.gaussian_delta(self.epsilon, self.mu(space.d))
        return self.promise(self.epsilon, delta=min(self.delta, exact))


class GaussianPaper(noise.GaussianNoise):
    """Gaussian noise by the textbook formula and sensitivity 2·C, nearest unclipped word."""

    unclipped = True

    delta: float | str = noise.delta_parameter(published=True)  # type: ignore[assignment]

    def mu(self, d: int) -> float:
        """2·C/sigma; delta may be far below the smallest float64."""
        log = -d * math.log(4) if isinstance(self.delta, str) else math.log(self.delta)
        return self.epsilon / math.sqrt(2 * (math.log(1.25) - log))

    def wanted_delta(self, d: int) -> float:
        return noise.paper_delta(self.delta, d)

    def sensitivity(self, moved: MetricSpace, radius: float) -> float:
        """2·C: the paper's, whatever the words."""
        return 2 * radius

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Return the claim, and the exact delta of its sigma at two inputs 2·C apart."""
        mu, claimed = self.mu(space.d), self.wanted_delta(space.d)
        true = max(formulas.gaussian_delta(self.epsilon, mu), sys.float_info.min)
        verdict = "is above" if true > claimed else "is below"
        return self.promise(
            epsilon_ldp=self.epsilon,
            delta=true,
            claimed=Claim(self.epsilon, claimed),
            why=self.why.format(true=true, verdict=verdict),
        )


class TrLaplace(noise.TruncatedLaplace):
    """Truncated Laplace noise, soundly calibrated, nearest word."""

    delta: float = noise.delta_parameter()
    clip: float | str = noise.clip_parameter()

    def truncation(self, d: int, radius: float) -> tuple[float, float]:
        """Alpha and A."""
        return formulas.sound_truncation(self.epsilon, self.delta, d, radius)

    def claimed_delta(self, d: int) -> float:
        return self.delta

    def true_delta(self, d: int) -> float:
        """At most delta, by the proof above."""
        return min(self.delta, super().true_delta(d))


class TrLaplacePaper(noise.TruncatedLaplace):
    """Truncated Laplace noise as published."""

    unclipped = True

    delta: float | str = noise.delta_parameter(published=True)
    clip: float | str = noise.clip_parameter()

    def dimensions(self, d: int) -> int:
        """D with the paper's dummy dimensions."""
        return formulas.padded_dimensions(self.epsilon, self.delta, d)

    def truncation(self, d: int, radius: float) -> tuple[float, float]:
        """Alpha and A for vectors of d dimensions clipped to a radius."""
        return formulas.published_truncation(self.epsilon, self.delta, self.dimensions(d), radius)

    def claimed_delta(self, d: int) -> float:
        return noise.paper_delta(self.delta, self.dimensions(d))
