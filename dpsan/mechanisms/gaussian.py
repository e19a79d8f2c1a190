"""``gaussian``: the analytic Gaussian mechanism on clipped vectors, then the nearest word.

Definition
    Vectors longer than C are shortened to C; z ~ N(0, sigma²·I), sigma = Delta_2/mu, Delta_2 the
    L2 diameter of the clipped vectors and mu the solution of
    ndtr(-epsilon/mu + mu/2) - e^epsilon·ndtr(-epsilon/mu - mu/2) = delta.
Guarantee
    PROVED: (epsilon, delta)-LDP for every epsilon > 0.  The loss between two inputs at distance s
    is itself normal, N(m²/2, m²) with m = s/sigma, which gives the left side exactly at mu = m.
    It grows with m and m <= mu for all pairs; the centroid ⊥ is covered as a norm is convex.
Proof
    docs/proofs.md 1.6
Source
    [BW18] Theorem 8; [TrLap] Theorem 2 uses it for words.  Delta_2 is the exact diameter where that
    is cheap, never above 2·C.
Parameters
    delta: probability, > 0.  clip: C, a length; auto is the largest norm (no vector changes).
Cost
    The diameter once per vocabulary, then one exact search per word.
Not to be confused with
    ``gaussian-classical``, whose formula holds for epsilon <= 1 only and adds more noise.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from dpsan.mechanisms.base import Mechanism, PointSampler, parameter
from dpsan.mechanisms.clipped_laplace import clip_parameter
from dpsan.privacy.certificate import Certificate
from dpsan.privacy.guarantee import Claim, Guarantee, Status
from dpsan.privacy.noise import gaussian
from dpsan.privacy.noise_formulas import gaussian_delta, gaussian_epsilon, gaussian_mu
from dpsan.space.diameters import clipped, l2_diameter
from dpsan.space.metric_space import MetricSpace

__all__ = ["AnalyticGaussian", "delta_parameter", "noise_certificate"]


def delta_parameter() -> Any:
    """The field ``delta`` of mechanisms that need one: a decision of the user's."""
    return parameter(
        None,
        "probability that the loss may exceed epsilon",
        convert=float,
        unit="probability",
        low=0,
        high=0.5,
        open_low=True,
        example="1e-6",
    )


def noise_certificate(
    sampler: PointSampler, sensitivity: float, epsilon: float, delta: float
) -> Certificate:
    """The exact delta of the noise that a sampler draws, whatever its mechanism says of it.

    Args:
        sampler: its noise has a ``sigma``.
        sensitivity: L2 diameter of its points.
        epsilon: claimed.
        delta: claimed.
    """
    started = time.perf_counter()
    assert isinstance(sampler.noise, partial)  # noqa: S101 - so are they made below
    mu = sensitivity / sampler.noise.keywords["sigma"]
    return Certificate(
        method="analytic certificate, exact delta of the noise drawn",
        epsilon_ldp=gaussian_epsilon(mu, delta * (1 + 1e-9)),
        epsilon_metric=None,
        delta=gaussian_delta(epsilon, mu),
        infinite_loss_mass=0.0,
        pair=(0, 0),
        seconds=time.perf_counter() - started,
    )


@dataclass(frozen=True)
class AnalyticGaussian(Mechanism):
    """Gaussian noise with the exact calibration, nearest word."""

    name: ClassVar[str] = "gaussian"
    family: ClassVar[str] = "point"
    status: ClassVar[Status] = Status.PROVED
    summary: ClassVar[str] = "Gaussian noise, exactly calibrated for any epsilon: LDP with delta"
    epsilon_unit: ClassVar[str] = "nats"
    source: ClassVar[str] = "BW18 Theorem 8"

    delta: float = delta_parameter()
    clip: float | str = clip_parameter()

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """(epsilon, delta)-LDP."""
        return Guarantee(
            status=self.status,
            epsilon_ldp=self.epsilon,
            delta=self.delta,
            gaussian_mu=gaussian_mu(self.epsilon, self.delta),
            claimed=Claim(self.epsilon, self.delta),
            why="the loss of Gaussian noise is normal; sigma solves its exact delta",
            source=self.source,
        )

    def noise_scale(self, space: MetricSpace) -> float:
        """Sigma."""
        return l2_diameter(*clipped(space, self.clip)) / gaussian_mu(self.epsilon, self.delta)

    def certificate(self, space: MetricSpace) -> Certificate:
        """From the noise itself."""
        sensitivity = l2_diameter(*clipped(space, self.clip))
        return noise_certificate(self.prepare(space), sensitivity, self.epsilon, self.delta)

    def prepare(self, space: MetricSpace) -> PointSampler:
        """A point sampler among the clipped words."""
        moved, radius = clipped(space, self.clip)
        sigma = l2_diameter(moved, radius) / gaussian_mu(self.epsilon, self.delta)
        return PointSampler(moved, partial(gaussian, sigma=sigma))
