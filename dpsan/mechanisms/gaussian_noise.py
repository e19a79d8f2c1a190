"""Gaussian noise on clipped vectors: what every mechanism of that noise shares."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Any

from dpsan.mechanisms.clipped_noise import ClippedNoise
from dpsan.mechanisms.noise.vectors import gaussian
from dpsan.mechanisms.parameters import clip_parameter, delta_parameter
from dpsan.privacy.certificate import Certificate
from dpsan.privacy.guarantee import Arithmetic
from dpsan.privacy.noise_distributions import GaussianCoordinates
from dpsan.privacy.noise_formulas import gaussian_delta, gaussian_epsilon
from dpsan.space.diameters import clipped, l2_diameter
from dpsan.space.metric_space import MetricSpace


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

    def noise_scale(self, space: MetricSpace) -> float:
        """Sigma."""
        return self.sensitivity(*clipped(space, self.clip)) / self.mu(space.d)

    def certificate(self, space: MetricSpace) -> Certificate:
        """Return the exact delta of the noise that the sampler draws, whatever ``mu`` says of
        it.
        """
        noise = self.prepare(space).noise
        assert isinstance(noise, partial)  # noqa: S101 - so it is made below
        mu = l2_diameter(*clipped(space, self.clip)) / noise.keywords["sigma"]
        return Certificate(
            method="analytic certificate, exact delta of the noise drawn",
            epsilon_ldp=gaussian_epsilon(mu, self.wanted_delta(space.d) * (1 + 1e-9)),
            delta=gaussian_delta(self.epsilon, mu),
            pair=(0, 0),
        )

    def noise_distribution(self, space: MetricSpace) -> GaussianCoordinates:
        return GaussianCoordinates(self.noise_scale(space))

    def noise(self, moved: MetricSpace, radius: float) -> partial[Any]:
        sigma = self.sensitivity(moved, radius) / self.mu(moved.d)
        return partial(gaussian, sigma=sigma)
