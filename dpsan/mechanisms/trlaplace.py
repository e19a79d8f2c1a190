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
"""

from __future__ import annotations

from dpsan.mechanisms.mechanism import clip_parameter, delta_parameter
from dpsan.mechanisms.noise import TruncatedLaplace
from dpsan.privacy.noise_formulas import sound_truncation


class TrLaplace(TruncatedLaplace):
    """Truncated Laplace noise, soundly calibrated, nearest word."""

    name = "trlaplace"
    summary = "truncated Laplace noise with a calibration that holds"
    source = "dpsan §trlaplace"
    why = "ratio at most e^epsilon inside both boxes, mass at most delta outside"

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
