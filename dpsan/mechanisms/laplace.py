"""``laplace``: multivariate Laplace noise on the word's vector, then the nearest word.

Definition
    z = r·u with r ~ Gamma(d, 1/epsilon) and u uniform on the unit sphere, so the density of z is
    proportional to exp(-epsilon·|z|); the output is the word nearest to phi(w) + z.
Guarantee
    PROVED: epsilon·d_X for the Euclidean distance; LDP epsilon·diameter.  The density ratio of two
    shifted noises is exp(epsilon·(|y - x'| - |y - x|)), at most exp(epsilon·|x - x'|) by the
    triangle inequality.  Taking the nearest word reads only the noisy point: post-processing.
    Holds in ideal real arithmetic; only a row number is released.
Proof
    docs/proofs.md 1.1
Source
    [CMP] §3; the baseline of [Curse] §3.  Directions come from the sphere, not from the ball.
Cost
    One exact search per word, 2·n·d operations.
Not to be confused with
    i.i.d. Laplace noise per coordinate (``clipped-laplace``), which has an L1 guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from dpsan.mechanisms.base import Mechanism, PointSampler
from dpsan.privacy.guarantee import Claim, Guarantee, Status
from dpsan.privacy.noise import multivariate_laplace
from dpsan.privacy.noise_formulas import radial_std
from dpsan.space.metric_space import MetricSpace

__all__ = ["Laplace"]


@dataclass(frozen=True)
class Laplace(Mechanism):
    """Multivariate Laplace noise, nearest word."""

    name: ClassVar[str] = "laplace"
    family: ClassVar[str] = "point"
    status: ClassVar[Status] = Status.PROVED
    summary: ClassVar[str] = "multivariate Laplace noise, nearest word: the papers' baseline"
    epsilon_unit: ClassVar[str] = "1/distance"
    source: ClassVar[str] = "CMP §3"

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """epsilon·d_X and epsilon·diameter LDP."""
        return Guarantee(
            status=self.status,
            epsilon_ldp=self.epsilon * space.diameter,
            metric="euclidean",
            epsilon_metric=self.epsilon,
            claimed=Claim(self.epsilon, metric="euclidean"),
            why="density ratio of shifted noise by the triangle inequality; "
            "the nearest word reads only the noisy point",
            source=self.source,
        )

    def noise_scale(self, space: MetricSpace) -> float:
        """Standard deviation per coordinate."""
        return radial_std(space.d, self.epsilon)

    def prepare(self, space: MetricSpace) -> PointSampler:
        """A point sampler."""
        return PointSampler(space, partial(multivariate_laplace, epsilon=self.epsilon))
