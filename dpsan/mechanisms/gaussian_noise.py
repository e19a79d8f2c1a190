"""Gaussian noise on clipped vectors: what every mechanism of that noise shares."""

from __future__ import annotations

from abc import abstractmethod

from dpsan.mechanisms.clipped_noise import ClippedNoise
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

    def distribution(self, moved: MetricSpace, radius: float) -> GaussianCoordinates:
        return GaussianCoordinates(self.sensitivity(moved, radius) / self.mu(moved.d))
