"""Multivariate Laplace noise on the word's vector: what every mechanism of that noise shares."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.noise.vectors import multivariate_laplace
from dpsan.mechanisms.samplers.base import PointSampler, Projection, nearest
from dpsan.privacy.guarantee import Arithmetic, Claim, Guarantee, Status
from dpsan.privacy.noise_distributions import SphericalLaplace
from dpsan.privacy.noise_formulas import radial_std
from dpsan.space.metric_space import MetricSpace


class LaplaceNoise(Mechanism):
    """Noise with a density that falls as exp(-rate·|z|); the rest is post-processing."""

    family = "point"
    status = Status.PROVED
    arithmetic = Arithmetic.ROUNDED
    epsilon_unit = "1/distance"
    why: ClassVar[str]
    """Reason of the guarantee."""

    def projected(self, space: MetricSpace) -> MetricSpace:
        """Return the words where noise is added to them."""
        return space

    def rate(self, space: MetricSpace) -> float:
        """Epsilon per unit of distance there."""
        return self.epsilon

    def projection(self) -> Projection:
        """Return the function from noisy points to words."""
        return nearest

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """epsilon·d_X and epsilon·diameter LDP."""
        return self.promise(
            epsilon_ldp=self.epsilon * space.diameter,
            metric="euclidean",
            epsilon_metric=self.epsilon,
            claimed=Claim(self.epsilon, metric="euclidean"),
            why=self.why,
        )

    def noise_scale(self, space: MetricSpace) -> float:
        """Standard deviation per coordinate."""
        return radial_std(self.projected(space).d, self.rate(space))

    def noise_distribution(self, space: MetricSpace) -> SphericalLaplace:
        return SphericalLaplace(self.rate(space))

    def prepare(self, space: MetricSpace) -> PointSampler:
        """Return a point sampler."""
        noise = partial(multivariate_laplace, epsilon=self.rate(space))
        return PointSampler(self.projected(space), noise, self.projection())
