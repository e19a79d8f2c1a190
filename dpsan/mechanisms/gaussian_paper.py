"""``gaussian-paper``: the Gaussian baseline of [TrLap] as its experiments use it, at any epsilon.

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

from dpsan.mechanisms.mechanism import Claim, Guarantee, MetricSpace, Status, delta_parameter
from dpsan.mechanisms.noise import GaussianNoise, paper_delta
from dpsan.privacy.noise_formulas import gaussian_delta


class GaussianPaper(GaussianNoise):
    """Gaussian noise by the textbook formula and sensitivity 2·C, nearest unclipped word."""

    name = "gaussian-paper"
    status = Status.REFUTED
    summary = "Gaussian noise by the textbook formula, at any epsilon as in the experiments"
    source = "TrLap Theorem 2"
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
