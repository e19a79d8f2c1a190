"""``tem``: truncated exponential mechanism.

Definition
    P(u|w) proportional to exp(-epsilon·min(d(w, u), gamma)/2) over all n words, with
    gamma = (2/epsilon)·ln((1-beta)(n-1)/beta); ⊥ gives a uniform word.  This *is* the published
    form: the words within gamma of w, and one element of score
    -gamma + (2/epsilon)·ln(number of words beyond gamma) that stands for "uniform beyond gamma".
    Sampled from integer weights, scores capped at 30 nats.
Guarantee
    PROVED: epsilon·d_X for the Euclidean distance, *and* LDP epsilon·gamma =
    2·ln((1-beta)(n-1)/beta), whatever epsilon is.  min(d, gamma) is a metric, so by the triangle
    inequality each weight, and so their sum, changes by at most exp(epsilon·min(d, gamma)/2)
    between two inputs; that is at most exp(epsilon·d/2) and at most exp(epsilon·gamma/2).
Proof
    docs/proofs.md 2.2
Source
    [TEM] Algorithm 1, Theorem 1; gamma such that the words beyond it have mass at most beta.
Parameters
    beta: mass given up beyond gamma where every other word is that far, in (0, 0.5].
Cost
    n weights per distinct word once, and about sqrt(n) per word.
Not to be confused with
    leaving the words beyond gamma out, whose supports differ: infinite loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.parameters import parameter
from dpsan.mechanisms.sampling.blocked import DistanceSampler
from dpsan.mechanisms.sampling.distance_scores import DistanceScores, coarse, distance_guarantee
from dpsan.mechanisms.sampling.samplers import SCORE_CAP
from dpsan.privacy.certificate import Certificate
from dpsan.privacy.guarantee import Claim, Guarantee, Status
from dpsan.space.metric_space import MetricSpace

__all__ = ["TEM"]


@dataclass(frozen=True)
class TEM(Mechanism):
    """Truncated exponential mechanism."""

    name: ClassVar[str] = "tem"
    family: ClassVar[str] = "table"
    status: ClassVar[Status] = Status.PROVED
    summary: ClassVar[str] = "exponential mechanism on the distance cut at gamma: metric and LDP"
    epsilon_unit: ClassVar[str] = "1/distance"
    source: ClassVar[str] = "TEM Algorithm 1"

    beta: float = parameter(
        0.001,
        "mass of the words beyond gamma where all others are that far",
        convert=float,
        low=0,
        high=0.5,
        open_low=True,
    )

    def cut(self, n: int) -> float:
        """Largest score epsilon·gamma/2, nats."""
        # log1p and not log(1 - beta): beta may be tiny.
        return max(math.log1p(-self.beta) + math.log(max(n - 1, 1)) - math.log(self.beta), 0.0)

    def gamma(self, n: int) -> float:
        """The distance beyond which words are alike."""
        return 2 * self.cut(n) / self.epsilon

    def _scores(self, space: MetricSpace) -> DistanceScores:
        return DistanceScores(space, 0.5 * self.epsilon, min(self.cut(space.n), SCORE_CAP))

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """epsilon·d_X and epsilon·gamma LDP, with the integer rounding bounded."""
        loss, per_unit, slack = distance_guarantee(space, self.epsilon, self.cut(space.n))
        return Guarantee(
            status=self.status,
            epsilon_ldp=loss,
            metric=None if per_unit is None else "euclidean",
            epsilon_metric=per_unit,
            slack=slack,
            claimed=Claim(self.epsilon, metric="euclidean"),
            why="min(d, gamma) is a metric: each weight and their sum change by at most "
            "exp(epsilon min(d, gamma) / 2)" + (coarse(space) if per_unit is None else ""),
            source=self.source,
        )

    def certificate(self, space: MetricSpace) -> Certificate | None:
        """See :class:`Mechanism`."""
        return self._scores(space).certificate(repr(self))

    def prepare(self, space: MetricSpace) -> DistanceSampler:
        """A sampler by blocks of words."""
        return DistanceSampler(space, self._scores(space))
