"""Distributions of noise, stated so that draws can be tested against them.

These formulas share nothing with the code that draws (``mechanisms/noise``).  Each turns noise
vectors into numbers that are uniform on (0, 1) if the noise has the distribution, by the
distribution functions of its parts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from dpsan.space.arrays import Floats


class NoiseDistribution(ABC):
    """A distribution over vectors, symmetric in the sign of every coordinate."""

    def whitened(self, noise: Floats) -> Floats:
        """Noise vectors in the coordinates in which they are symmetric, (m, d) -> (m, d)."""
        return noise

    @abstractmethod
    def uniforms(self, noise: Floats) -> dict[str, Floats]:
        """Uniform numbers of whitened noise (m, d), by the name of the part: each (m, parts)."""


@dataclass(frozen=True)
class SphericalLaplace(NoiseDistribution):
    """Density proportional to exp(-epsilon·|S^-1 z|): Gamma(d) radius, uniform direction.

    Args:
        epsilon: per unit of distance.
        root: S, shape (d, d); None for the identity.
    """

    epsilon: float
    root: Floats | None = None

    def whitened(self, noise: Floats) -> Floats:
        if self.root is None:
            return noise
        return np.asarray(np.linalg.solve(self.root.T, noise.T).T, dtype=np.float64)

    def uniforms(self, noise: Floats) -> dict[str, Floats]:
        """Return uniforms of the radius and of each (Beta distributed) direction coordinate."""
        from scipy.special import betainc, gammainc  # heavy import

        d = noise.shape[1]
        radius = np.sqrt(np.square(noise).sum(axis=1, keepdims=True))
        out = {"radius": gammainc(float(d), self.epsilon * radius)}
        if d > 1:
            half = (d - 1) / 2
            with np.errstate(invalid="ignore"):
                out["direction"] = betainc(half, half, np.clip((noise / radius + 1) / 2, 0, 1))
        return out


@dataclass(frozen=True)
class GaussianCoordinates(NoiseDistribution):
    """Independent N(0, sigma²) coordinates."""

    sigma: float

    def uniforms(self, noise: Floats) -> dict[str, Floats]:
        """Return uniforms of each coordinate."""
        from scipy.special import ndtr  # heavy import

        return {"coordinates": ndtr(noise / self.sigma)}


@dataclass(frozen=True)
class LaplaceCoordinates(NoiseDistribution):
    """Independent coordinates of density exp(-|x|/scale)/(2 scale)."""

    scale: float

    def uniforms(self, noise: Floats) -> dict[str, Floats]:
        """Return uniforms of each coordinate."""
        tail = np.exp(-np.abs(noise) / self.scale) / 2
        return {"coordinates": np.where(noise < 0, tail, 1 - tail)}


@dataclass(frozen=True)
class TruncatedLaplaceCoordinates(NoiseDistribution):
    """Independent coordinates of density proportional to e^(-alpha|x|) on [-bound, bound]."""

    alpha: float
    bound: float

    def uniforms(self, noise: Floats) -> dict[str, Floats]:
        """Return uniforms of each coordinate; NaN outside the support."""
        size = np.abs(noise)
        part = np.expm1(-self.alpha * size) / np.expm1(-self.alpha * self.bound) / 2
        inside = np.where(size <= self.bound * (1 + 2.0**-50), part, np.nan)
        return {"coordinates": 0.5 + np.copysign(inside, noise)}
