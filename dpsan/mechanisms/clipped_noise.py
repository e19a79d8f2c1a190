"""Noise with independent coordinates on clipped vectors: base of mechanisms of that kind."""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.noise.vectors import independent_laplace, truncated_laplace
from dpsan.mechanisms.samplers.base import PointSampler, nearest, nearest_in
from dpsan.privacy.guarantee import Claim, Guarantee, Status
from dpsan.privacy.noise_distributions import LaplaceCoordinates, TruncatedLaplaceCoordinates
from dpsan.privacy.noise_formulas import truncated_laplace_std
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
    def noise(self, moved: MetricSpace, radius: float) -> partial[Any]:
        """Return the noise among words clipped at a radius: (streams, d) -> (m, d)."""

    def prepare(self, space: MetricSpace) -> PointSampler:
        """Return a point sampler: clipped points in; clipped or unclipped words out."""
        moved, radius = clipped(space, self.clip)
        project = partial(nearest_in, space) if self.unclipped else nearest
        return PointSampler(moved, self.noise(moved, radius), project)


class ScaledLaplace(ClippedNoise):
    """Laplace noise of one scale in every coordinate: pure LDP."""

    why: ClassVar[str]
    """Reason of the guarantee."""

    @abstractmethod
    def scale(self, moved: MetricSpace, radius: float) -> float:
        """B = (bound on the L1 distance of two words clipped at a radius)/epsilon."""

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Pure LDP."""
        return self.promise(epsilon_ldp=self.epsilon, claimed=Claim(self.epsilon), why=self.why)

    def noise_scale(self, space: MetricSpace) -> float:
        return math.sqrt(2) * self.scale(*clipped(space, self.clip))

    def noise_distribution(self, space: MetricSpace) -> LaplaceCoordinates:
        return LaplaceCoordinates(self.scale(*clipped(space, self.clip)))

    def noise(self, moved: MetricSpace, radius: float) -> partial[Any]:
        return partial(independent_laplace, scale=self.scale(moved, radius))


class TruncatedLaplace(ClippedNoise):
    """Truncated Laplace noise in every coordinate."""

    @abstractmethod
    def truncation(self, d: int, radius: float) -> tuple[float, float]:
        """Alpha and A for vectors of d dimensions clipped to a radius."""

    def noise_scale(self, space: MetricSpace) -> float:
        return truncated_laplace_std(*self.truncation(space.d, clipped(space, self.clip)[1]))

    def noise_distribution(self, space: MetricSpace) -> TruncatedLaplaceCoordinates:
        _, radius = clipped(space, self.clip)
        return TruncatedLaplaceCoordinates(*self.truncation(space.d, radius))

    def noise(self, moved: MetricSpace, radius: float) -> partial[Any]:
        alpha, bound = self.truncation(moved.d, radius)
        return partial(truncated_laplace, alpha=alpha, bound=bound)
