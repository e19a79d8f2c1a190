"""Distributions of noise: they draw it, and are stated so that draws can be tested against them.

All draws come from keyed streams.  The formulas of ``uniforms`` share nothing with the code that
draws.  Each turns noise vectors into numbers that are uniform on (0, 1) if the noise has the
distribution, by the distribution functions of its parts.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final

import numpy as np

from dpsan.privacy.noise_formulas import radial_std, truncated_laplace_std
from dpsan.privacy.randomness import Streams
from dpsan.space.arrays import Floats

_ROWS: Final = 64


def unit_directions(streams: Streams, d: int) -> Floats:
    """Points uniform on the unit sphere (not the ball), shape (m, d)."""
    normal = streams.normal("direction", d)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    return normal


class NoiseDistribution(ABC):
    """A distribution over vectors, symmetric in the sign of every coordinate."""

    @abstractmethod
    def __call__(self, streams: Streams, d: int) -> Floats:
        """Draw noise in d dimensions, one vector for each word, shape (m, d)."""

    @abstractmethod
    def std(self, d: int) -> float:
        """Return the standard deviation per coordinate, in d dimensions."""

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

    def __call__(self, streams: Streams, d: int) -> Floats:
        """|z| has the Gamma(d, 1/epsilon) distribution, z/|z| is uniform on the sphere."""
        from scipy.special import gammaincinv  # heavy import

        radius = gammaincinv(float(d), streams.uniform("radius")) / self.epsilon
        noise = unit_directions(streams, d)
        noise *= radius
        if self.root is None:
            return noise
        # A matrix product may differ in its last bit with the number of rows: always the same one.
        padded = np.zeros((-(-len(noise) // _ROWS), _ROWS, d))
        padded.reshape(-1, d)[: len(noise)] = noise
        return np.asarray((padded @ self.root).reshape(-1, d)[: len(noise)], dtype=np.float64)

    def std(self, d: int) -> float:
        """Root mean square over the coordinates, where S·S has trace d."""
        return radial_std(d, self.epsilon)

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

    def __call__(self, streams: Streams, d: int) -> Floats:
        return np.asarray(streams.normal("gaussian", d) * self.sigma)

    def std(self, d: int) -> float:
        return self.sigma

    def uniforms(self, noise: Floats) -> dict[str, Floats]:
        """Return uniforms of each coordinate."""
        from scipy.special import ndtr  # heavy import

        return {"coordinates": ndtr(noise / self.sigma)}


@dataclass(frozen=True)
class LaplaceCoordinates(NoiseDistribution):
    """Independent coordinates of density exp(-|x|/scale)/(2 scale)."""

    scale: float

    def __call__(self, streams: Streams, d: int) -> Floats:
        signed = 2 * streams.uniform("independent", d) - 1  # exact, never 0
        size = np.log1p(-np.abs(signed)) * self.scale
        return np.asarray(np.copysign(size, signed), dtype=np.float64)

    def std(self, d: int) -> float:
        return math.sqrt(2) * self.scale

    def uniforms(self, noise: Floats) -> dict[str, Floats]:
        """Return uniforms of each coordinate."""
        tail = np.exp(-np.abs(noise) / self.scale) / 2
        return {"coordinates": np.where(noise < 0, tail, 1 - tail)}


@dataclass(frozen=True)
class TruncatedLaplaceCoordinates(NoiseDistribution):
    """Independent coordinates of density proportional to e^(-alpha|x|) on [-bound, bound]."""

    alpha: float
    bound: float

    def __call__(self, streams: Streams, d: int) -> Floats:
        signed = 2 * streams.uniform("truncated", d) - 1
        mass = -np.expm1(-self.alpha * self.bound)
        size = np.minimum(-np.log1p(-np.abs(signed) * mass) / self.alpha, self.bound)
        return np.asarray(np.copysign(size, signed), dtype=np.float64)

    def std(self, d: int) -> float:
        return truncated_laplace_std(self.alpha, self.bound)

    def uniforms(self, noise: Floats) -> dict[str, Floats]:
        """Return uniforms of each coordinate; NaN outside the support."""
        size = np.abs(noise)
        part = np.expm1(-self.alpha * size) / np.expm1(-self.alpha * self.bound) / 2
        inside = np.where(size <= self.bound * (1 + 2.0**-50), part, np.nan)
        return {"coordinates": 0.5 + np.copysign(inside, noise)}
