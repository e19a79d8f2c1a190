"""``trlaplace``: truncated Laplace noise on clipped vectors with a calibration that holds.

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

from __future__ import annotations

from dpsan.mechanisms.noise import TruncatedLaplace, clip_parameter, delta_parameter, paper_delta
from dpsan.privacy.noise_formulas import padded_dimensions, published_truncation, sound_truncation


class TrLaplace(TruncatedLaplace):
    """Truncated Laplace noise, soundly calibrated, nearest word."""

    delta: float = delta_parameter()
    clip: float | str = clip_parameter()

    def truncation(self, d: int, radius: float) -> tuple[float, float]:
        """Alpha and A."""
        return sound_truncation(self.epsilon, self.delta, d, radius)

    def claimed_delta(self, d: int) -> float:
        return self.delta

    def true_delta(self, d: int) -> float:
        """At most delta, by the proof above."""
        return min(self.delta, super().true_delta(d))


class TrLaplacePaper(TruncatedLaplace):
    """Truncated Laplace noise as published."""

    unclipped = True

    delta: float | str = delta_parameter(published=True)
    clip: float | str = clip_parameter()

    def dimensions(self, d: int) -> int:
        """D with the paper's dummy dimensions."""
        return padded_dimensions(self.epsilon, self.delta, d)

    def truncation(self, d: int, radius: float) -> tuple[float, float]:
        """Alpha and A for vectors of d dimensions clipped to a radius."""
        return published_truncation(self.epsilon, self.delta, self.dimensions(d), radius)

    def claimed_delta(self, d: int) -> float:
        return paper_delta(self.delta, self.dimensions(d))
