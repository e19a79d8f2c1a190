"""Noise on points: what mechanisms of the same noise share."""

from __future__ import annotations

import math
import sys
from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any

from dpsan.mechanisms.mechanism import Mechanism, parameter
from dpsan.mechanisms.tables import PointSampler, Projection, nearest, nearest_in
from dpsan.privacy import rounding
from dpsan.privacy.certificate import Certificate
from dpsan.privacy.guarantee import Arithmetic, Claim, Guarantee
from dpsan.privacy.noise_formulas import gaussian_delta, gaussian_epsilon, largest_escape
from dpsan.space.diameters import clipped, l2_diameter
from dpsan.space.metric_space import MetricSpace


def clip_parameter() -> Any:
    """Return the field ``clip`` of mechanisms on clipped vectors."""
    what = "vectors longer than this are shortened to it"
    return parameter("auto", what, convert=float, unit="distance", above=0)


def delta_parameter(published: bool = False) -> Any:
    """Return the field ``delta`` of mechanisms that need one: a decision of the user's.

    Args:
        published: as [TrLap] has it: 4^-d unless it is given.
    """
    domain = {"convert": float, "unit": "probability", "above": 0, "high": 0.5}
    if published:
        return parameter("auto", "the paper's delta; auto is 4^-d", **domain)
    what = "probability that the loss may exceed epsilon"
    return parameter(None, what, **domain, example="1e-6")


def paper_delta(delta: float | str, d: int) -> float:
    """Return 4^-d for ``auto``, as [TrLap] has it; below the smallest float64 that, not 0."""
    paper = math.exp(-d * math.log(4))
    return max(paper, sys.float_info.min) if isinstance(delta, str) else delta


class LaplaceNoise(Mechanism):
    """Noise with a density that falls as exp(-rate·|z|); the rest is post-processing."""

    family = "point"
    epsilon_unit = "1/distance"
    arithmetic = Arithmetic.ROUNDED

    def projection(self, space: MetricSpace) -> Projection:
        """Return the function from noisy points to words."""
        return nearest

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """epsilon·d_X and epsilon·diameter LDP."""
        return self.promise(
            self.epsilon * space.diameter, metric="euclidean", epsilon_metric=self.epsilon
        )

    def noise(self, space: MetricSpace) -> PointSampler:
        return PointSampler(space, rounding.SphericalLaplace(self.epsilon), self.projection(space))


class ClippedNoise(Mechanism):
    """Noise on a clipped point, then the nearest clipped word."""

    family = "point"
    epsilon_unit = "nats"
    unclipped = False
    """True if the nearest word is searched among unclipped vectors."""

    if TYPE_CHECKING:  # the order of fields is that of the parameters
        clip: float | str

    @abstractmethod
    def distribution(self, moved: MetricSpace, radius: float) -> rounding.NoiseDistribution:
        """Return the noise among words clipped at a radius."""

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Pure LDP."""
        return self.promise(self.epsilon)

    def noise(self, space: MetricSpace) -> PointSampler:
        """Clipped points in; clipped or unclipped words out."""
        moved, radius = clipped(space, self.clip)
        project = partial(nearest_in, space) if self.unclipped else nearest
        return PointSampler(moved, self.distribution(moved, radius), project)


class TruncatedLaplace(ClippedNoise):
    """Truncated Laplace noise in every coordinate."""

    @abstractmethod
    def truncation(self, d: int, radius: float) -> tuple[float, float]:
        """Alpha and A for vectors of d dimensions clipped to a radius."""

    @abstractmethod
    def claimed_delta(self, d: int) -> float:
        """Return the delta that is claimed."""

    def true_delta(self, d: int) -> float:
        """Return the largest mass outside the shifted box (the unit of length does not matter)."""
        return largest_escape(*self.truncation(d, 1.0), d, 2.0)

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """(epsilon, delta)-LDP with the delta that holds."""
        true = self.true_delta(space.d)
        return self.promise(
            self.epsilon,
            delta=true,
            infinite_loss_mass=true,
            claimed=Claim(self.epsilon, self.claimed_delta(space.d)),
            why=self.why.format(true=true),
        )

    def distribution(self, moved: MetricSpace, radius: float) -> rounding.NoiseDistribution:
        return rounding.TruncatedLaplaceCoordinates(*self.truncation(moved.d, radius))


class GaussianNoise(ClippedNoise):
    """Noise N(0, sigma²·I) with sigma = sensitivity/mu, then the nearest word."""

    arithmetic = Arithmetic.ROUNDED

    delta: float = delta_parameter()
    clip: float | str = clip_parameter()

    @abstractmethod
    def mu(self, d: int) -> float:
        """Sensitivity/sigma for words of d dimensions."""

    def wanted_delta(self, d: int) -> float:
        """Return the delta that sigma was chosen for."""
        return self.delta

    def sensitivity(self, moved: MetricSpace, radius: float) -> float:
        """Return the largest distance of two clipped inputs, or an upper bound."""
        return l2_diameter(moved, radius)

    def certificate(self, space: MetricSpace) -> Certificate:
        """Return the exact delta of the noise that the sampler draws, whatever ``mu`` says of
        it.
        """
        moved, radius = clipped(space, self.clip)
        mu = l2_diameter(moved, radius) / self.distribution(moved, radius).sigma
        return Certificate(
            method="analytic certificate, exact delta of the noise drawn",
            epsilon_ldp=gaussian_epsilon(mu, self.wanted_delta(space.d) * (1 + 1e-9)),
            delta=gaussian_delta(self.epsilon, mu),
            pair=(0, 0),
        )

    def distribution(self, moved: MetricSpace, radius: float) -> rounding.GaussianCoordinates:
        return rounding.GaussianCoordinates(self.sensitivity(moved, radius) / self.mu(moved.d))
