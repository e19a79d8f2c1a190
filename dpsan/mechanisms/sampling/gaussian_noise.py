"""Gaussian noise on clipped vectors: what every mechanism of that noise shares.

Knows the noise and its exact delta.  Must not know how its size is chosen.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.parameters import clip_parameter, delta_parameter
from dpsan.mechanisms.sampling.samplers import PointSampler
from dpsan.privacy.certificate import Certificate
from dpsan.privacy.guarantee import Status
from dpsan.privacy.noise import gaussian
from dpsan.privacy.noise_formulas import gaussian_delta, gaussian_epsilon
from dpsan.space.diameters import clipped, l2_diameter
from dpsan.space.metric_space import MetricSpace

__all__ = ["GaussianNoise"]


@dataclass(frozen=True)
class GaussianNoise(Mechanism):
    """Noise N(0, sigma²·I) with sigma = (L2 diameter)/mu, then the nearest word."""

    family: ClassVar[str] = "point"
    status: ClassVar[Status] = Status.PROVED
    epsilon_unit: ClassVar[str] = "nats"

    delta: float = delta_parameter()
    clip: float | str = clip_parameter()

    @abstractmethod
    def mu(self) -> float:
        """Diameter/sigma."""

    def noise_scale(self, space: MetricSpace) -> float:
        """Sigma."""
        return l2_diameter(*clipped(space, self.clip)) / self.mu()

    def certificate(self, space: MetricSpace) -> Certificate:
        """The exact delta of the noise that the sampler draws, whatever ``mu`` says of it."""
        started = time.perf_counter()
        noise = self.prepare(space).noise
        assert isinstance(noise, partial)  # noqa: S101 - so it is made below
        mu = l2_diameter(*clipped(space, self.clip)) / noise.keywords["sigma"]
        return Certificate(
            method="analytic certificate, exact delta of the noise drawn",
            epsilon_ldp=gaussian_epsilon(mu, self.delta * (1 + 1e-9)),
            epsilon_metric=None,
            delta=gaussian_delta(self.epsilon, mu),
            infinite_loss_mass=0.0,
            pair=(0, 0),
            seconds=time.perf_counter() - started,
        )

    def prepare(self, space: MetricSpace) -> PointSampler:
        """A point sampler among the clipped words."""
        moved, radius = clipped(space, self.clip)
        sigma = l2_diameter(moved, radius) / self.mu()
        return PointSampler(moved, partial(gaussian, sigma=sigma))
