"""Noise with independent coordinates on clipped vectors: base of mechanisms of that kind."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.samplers.base import PointSampler, nearest, nearest_in
from dpsan.privacy.guarantee import Claim, Guarantee, Status
from dpsan.privacy.noise_distributions import NoiseDistribution, TruncatedLaplaceCoordinates
from dpsan.space.diameters import clipped
from dpsan.space.metric_space import MetricSpace


class ClippedNoise(Mechanism):
    """Noise on a clipped point, then the nearest clipped word."""

    family = "point"
    status = Status.PROVED
    epsilon_unit = "nats"
    unclipped = False
    """True if the nearest word is searched among unclipped vectors."""

    if TYPE_CHECKING:  # the order of fields is that of the parameters
        clip: float | str

    @abstractmethod
    def distribution(self, moved: MetricSpace, radius: float) -> NoiseDistribution:
        """Return the noise among words clipped at a radius."""

    def noise(self, space: MetricSpace) -> PointSampler:
        """Clipped points in; clipped or unclipped words out."""
        moved, radius = clipped(space, self.clip)
        project = partial(nearest_in, space) if self.unclipped else nearest
        return PointSampler(moved, self.distribution(moved, radius), project)


class ScaledLaplace(ClippedNoise):
    """Laplace noise of one scale in every coordinate: pure LDP."""

    why: ClassVar[str]
    """Reason of the guarantee."""

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Pure LDP."""
        return self.promise(epsilon_ldp=self.epsilon, claimed=Claim(self.epsilon), why=self.why)


class TruncatedLaplace(ClippedNoise):
    """Truncated Laplace noise in every coordinate."""

    @abstractmethod
    def truncation(self, d: int, radius: float) -> tuple[float, float]:
        """Alpha and A for vectors of d dimensions clipped to a radius."""

    def distribution(self, moved: MetricSpace, radius: float) -> NoiseDistribution:
        return TruncatedLaplaceCoordinates(*self.truncation(moved.d, radius))
