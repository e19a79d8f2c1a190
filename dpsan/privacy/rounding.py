"""Bound the probability that float64 noise gives another word than the noise of the proof.

Real and float64 noise are made of the same random bits, so that both words are the same unless the
real noisy point lies within the rounding error of a wall between two words' cells; this bounds the
probability of that, for every input.  It is a bound on the total variation distance of the two
distributions of the word. docs/proofs.md 1.9 has the proof and what it takes for granted.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from dpsan.privacy import noise_formulas, randomness
from dpsan.space.arrays import Floats

LIBRARY_ERROR: Final = 2.0**-44
"""Relative error granted to the library's inverse distribution functions; tests see 1/10 of it."""
_UNIT: Final = 2.0**-53
"""Unit roundoff of float64."""
_CELL: Final = 2.0**-52
"""Mass of a cell of the grid of uniform numbers."""
_REACH: Final = 8.3
"""Standard deviations beyond which less than a cell of a normal distribution lies, and more."""
_SMALL: Final = 200
"""Displacements above the smallest distance over this count as another word."""


class Moments(NamedTuple):
    """Moments of noise z with density p, and of its displacement s(z) by the grid."""

    power: tuple[float, ...]
    """E|z|^k for k = 0, 1, 2."""
    slope: tuple[float, ...]
    """E|z|^k·G for k = 0 ... 3, with G = |grad ln p|."""
    grid: tuple[float, ...]
    """E s; E s·G, E s·G·|z|; E|grad s|, E|grad s|·|z|."""
    relative: float
    """Rounding of the noise relative to |z|."""
    ends: float
    """Mass of the cells at the ends of the grid."""


# Distributions of noise: they draw it, and are stated so that draws can be tested against them.
#
# All draws come from keyed streams.  The formulas of ``uniforms`` share nothing with the code that
# draws.  Each turns noise vectors into numbers that are uniform on (0, 1) if the noise has the
# distribution, by the distribution functions of its parts.

_ROWS: Final = 64


class NoiseDistribution(ABC):
    """A distribution over vectors, symmetric in the sign of every coordinate."""

    @abstractmethod
    def __call__(self, streams: randomness.Streams, d: int) -> Floats:
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

    def moments(self, d: int) -> Moments | None:
        """Return the moments that bound what rounding changes; None where none are known."""
        return None


@dataclass(frozen=True)
class SphericalLaplace(NoiseDistribution):
    """Density proportional to exp(-epsilon·|S^-1 z|): Gamma(d) radius, uniform direction.

    Args:
        epsilon: per unit of distance.
        root: S, shape (d, d); None for the identity.
    """

    epsilon: float
    root: Floats | None = None

    def __call__(self, streams: randomness.Streams, d: int) -> Floats:
        """|z| has the Gamma(d, 1/epsilon) distribution, z/|z| is uniform on the sphere."""
        from scipy.special import gammaincinv  # heavy import

        radius = gammaincinv(float(d), streams.uniform("radius")) / self.epsilon
        noise = streams.normal("direction", d)
        noise /= np.linalg.norm(noise, axis=1, keepdims=True)
        noise *= radius
        if self.root is None:
            return noise
        # A matrix product may differ in its last bit with the number of rows: always the same one.
        padded = np.zeros((-(-len(noise) // _ROWS), _ROWS, d))
        padded.reshape(-1, d)[: len(noise)] = noise
        return np.asarray((padded @ self.root).reshape(-1, d)[: len(noise)], dtype=np.float64)

    def std(self, d: int) -> float:
        """Root mean square over the coordinates, where S·S has trace d.

        E|z|² = d(d + 1)/epsilon² for the Gamma(d, 1/epsilon) radius, shared by d coordinates.
        """
        return math.sqrt(d + 1) / self.epsilon

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

    def moments(self, d: int) -> Moments | None:
        """Radius Gamma(d, 1/epsilon); direction g/|g| of normal g.  G = epsilon."""
        if self.root is not None:
            return None
        from scipy.special import gammainccinv, gammaincinv  # heavy import

        power = [1.0]
        for k in range(3):
            power.append(power[-1] * (d + k) / self.epsilon)
        far = 1.1 * float(gammainccinv(float(d), _CELL)) / self.epsilon
        near = 0.9 * float(gammaincinv(float(d), _CELL)) / self.epsilon
        size, outwards = far, self.epsilon * far**2 / 2
        change = (d - 1) * math.log(far / near) + self.epsilon * far
        moved = (d - 1) * far + self.epsilon * far**2 / 2
        if d > 1:  # else the direction is a sign, which is exact
            inverse = 7.4  # bound on the integral of E[1/|g|] over a coordinate, for every d > 1
            if d > 2:
                chi = math.exp(math.lgamma(d / 2 - 1) - math.lgamma((d - 1) / 2)) / math.sqrt(2)
                inverse = min(inverse, 2 * _REACH * chi)
            turned = inverse + _REACH**2
            size += 2 * d * power[1] * inverse
            outwards += 2 * d * power[2] * inverse
            change += 2 * d * turned
            moved += 2 * d * power[1] * turned
        grid = (size, self.epsilon * size, self.epsilon * outwards, change, moved)
        return Moments(
            tuple(power[:3]),
            tuple(self.epsilon * moment for moment in power),
            tuple(_CELL * moment for moment in grid),
            3 * LIBRARY_ERROR + (d + 8) * _UNIT,
            2 * (d + 1) * _CELL,
        )


@dataclass(frozen=True)
class GaussianCoordinates(NoiseDistribution):
    """Independent N(0, sigma²) coordinates."""

    sigma: float

    def __call__(self, streams: randomness.Streams, d: int) -> Floats:
        return np.asarray(streams.normal("gaussian", d) * self.sigma)

    def std(self, d: int) -> float:
        return self.sigma

    def uniforms(self, noise: Floats) -> dict[str, Floats]:
        """Return uniforms of each coordinate."""
        from scipy.special import ndtr  # heavy import

        return {"coordinates": ndtr(noise / self.sigma)}

    def moments(self, d: int) -> Moments:
        """Independent normal coordinates.  G = |z|/sigma²."""
        second, fourth = d * self.sigma**2, d * (d + 2) * self.sigma**4
        first, third = math.sqrt(second), math.sqrt(second * fourth)
        reach, others = _REACH, math.sqrt(d - 1)
        cube = 2 * reach**3 / 3
        grid = (
            self.sigma * 2 * reach,
            reach**2 + 2 * reach * others,
            self.sigma * (cube + 2 * reach * (d - 1)),
            reach**2,
            self.sigma * (cube + others * reach**2),
        )
        return Moments(
            (1.0, first, second),
            tuple(moment / self.sigma**2 for moment in (first, second, third, fourth)),
            tuple(d * _CELL * moment for moment in grid),
            LIBRARY_ERROR + 2 * _UNIT,
            2 * d * _CELL,
        )


@dataclass(frozen=True)
class LaplaceCoordinates(NoiseDistribution):
    """Independent coordinates of density exp(-|x|/scale)/(2 scale)."""

    scale: float

    def __call__(self, streams: randomness.Streams, d: int) -> Floats:
        signed = 2 * streams.uniform("independent", d) - 1  # exact, never 0
        size = np.log1p(-np.abs(signed)) * self.scale
        return np.asarray(np.copysign(size, signed), dtype=np.float64)

    def std(self, d: int) -> float:
        return math.sqrt(2) * self.scale

    def uniforms(self, noise: Floats) -> dict[str, Floats]:
        """Return uniforms of each coordinate."""
        tail = np.exp(-np.abs(noise) / self.scale) / 2
        return {"coordinates": np.where(noise < 0, tail, 1 - tail)}

    def moments(self, d: int) -> Moments:
        """Independent Laplace coordinates.  G = sqrt(d)/scale."""
        second = 2 * d * self.scale**2
        third = math.sqrt(second * (24 * d + 4 * d * (d - 1)) * self.scale**4)
        first, steep = math.sqrt(second), math.sqrt(d) / self.scale
        far = 38 * self.scale
        size, outwards = 2 * far, far**2 + 2 * far * math.sqrt(2 * (d - 1)) * self.scale
        grid = (size, steep * size, steep * outwards, size / self.scale, outwards / self.scale)
        return Moments(
            (1.0, first, second),
            (steep, steep * first, steep * second, steep * third),
            tuple(d * _CELL * moment for moment in grid),
            LIBRARY_ERROR + 4 * _UNIT,
            2 * d * _CELL,
        )


@dataclass(frozen=True)
class TruncatedLaplaceCoordinates(NoiseDistribution):
    """Independent coordinates of density proportional to e^(-alpha|x|) on [-bound, bound]."""

    alpha: float
    bound: float

    def __call__(self, streams: randomness.Streams, d: int) -> Floats:
        signed = 2 * streams.uniform("truncated", d) - 1
        mass = -np.expm1(-self.alpha * self.bound)
        size = np.minimum(-np.log1p(-np.abs(signed) * mass) / self.alpha, self.bound)
        return np.asarray(np.copysign(size, signed), dtype=np.float64)

    def std(self, d: int) -> float:
        return noise_formulas.truncated_laplace_std(self.alpha, self.bound)

    def uniforms(self, noise: Floats) -> dict[str, Floats]:
        """Return uniforms of each coordinate; NaN outside the support."""
        size = np.abs(noise)
        part = np.expm1(-self.alpha * size) / np.expm1(-self.alpha * self.bound) / 2
        inside = np.where(size <= self.bound * (1 + 2.0**-50), part, np.nan)
        return {"coordinates": 0.5 + np.copysign(inside, noise)}


def float64_gap(
    noise: NoiseDistribution,
    d: int,
    largest_norm: float,
    smallest_distance: float,
    offset: float = 0.0,
) -> float | None:
    """Bound on the total variation distance that rounding makes between distributions of a word.

    Args:
        noise: on the point of a word.
        largest_norm: of the points that noise is added to.
        smallest_distance: between words at different points; a lower bound, > 0.
        offset: largest distance of such a point from the nearest word: that of ⊥.

    Returns:
        None where no bound is known, or none below 1.
    """
    moved = noise.moments(d)
    if moved is None or not smallest_distance > 0:
        return None
    # S = constant + linear·|z| + square·|z|²: sums, noise, and squared distances compared.
    square = 1.2 * (d + 3) * _UNIT / smallest_distance
    linear = moved.relative + _UNIT + 2 * square * offset
    fixed = (_UNIT * largest_norm + square * offset**2, linear, square)

    def mean(moments: Sequence[float]) -> float:
        return sum(a * b for a, b in zip(fixed, moments, strict=True))

    about = mean(moved.power) + moved.grid[0]
    slope = mean(moved.slope[1:]) + moved.grid[2]
    slope += offset * (mean(moved.slope[:3]) + moved.grid[1])
    change = linear * moved.power[1] + 2 * square * moved.power[2] + moved.grid[4]
    change += offset * (linear + 2 * square * moved.power[1] + moved.grid[3])
    walls = 2.1 / smallest_distance * (4 * d * about + 4 * slope + 8 * change)
    gap = walls + _SMALL * about / smallest_distance + moved.ends
    return gap * (1 + 1e-9) if gap < 1 else None


def float64_delta(epsilon: float, delta: float, gap: float) -> float:
    """Return the delta that holds for distributions within ``gap`` of those of an (epsilon, delta)
    proof.

    P'(T|x) <= P(T|x) + gap <= e^epsilon·(P'(T|x') + gap) + delta + gap.
    """
    return min(1.0, delta + (1 + math.exp(min(epsilon, 700.0))) * gap * (1 + 1e-9))
