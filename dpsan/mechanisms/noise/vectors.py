"""Noise in d dimensions, one vector for each word.

All draws come from keyed streams.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from dpsan.privacy.randomness import Streams
from dpsan.space.arrays import Floats

_ROWS: Final = 64


def unit_directions(streams: Streams, d: int) -> Floats:
    """Points uniform on the unit sphere (not the ball), shape (m, d)."""
    normal = streams.normal("direction", d)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    return normal


def multivariate_laplace(streams: Streams, d: int, epsilon: float) -> Floats:
    """Noise with density proportional to exp(-epsilon·|z|), shape (m, d).

    |z| has the Gamma(d, 1/epsilon) distribution, the direction is uniform on the sphere.

    Args:
        epsilon: per unit of distance, > 0.
    """
    from scipy.special import gammaincinv  # heavy import

    radius = gammaincinv(float(d), streams.uniform("radius")) / epsilon
    noise = unit_directions(streams, d)
    noise *= radius
    return noise


def elliptical_laplace(streams: Streams, d: int, epsilon: float, root: Floats) -> Floats:
    """Multivariate Laplace noise mapped through a matrix, not re-normalised, shape (m, d).

    Args:
        root: symmetric square root of the matrix whose Mahalanobis norm the density decays in.
    """
    noise = multivariate_laplace(streams, d, epsilon)
    # A matrix product may differ in its last bit with the number of rows: always the same number.
    padded = np.zeros((-(-len(noise) // _ROWS), _ROWS, d))
    padded.reshape(-1, d)[: len(noise)] = noise
    return np.asarray((padded @ root).reshape(-1, d)[: len(noise)], dtype=np.float64)


def gaussian(streams: Streams, d: int, sigma: float) -> Floats:
    """Independent normal noise of standard deviation ``sigma``, shape (m, d)."""
    noise = streams.normal("gaussian", d)
    noise *= sigma
    return noise


def independent_laplace(streams: Streams, d: int, scale: float) -> Floats:
    """Independent Laplace noise with density exp(-|x|/scale)/(2 scale), shape (m, d)."""
    signed = 2 * streams.uniform("independent", d) - 1  # exact, never 0
    return np.asarray(np.copysign(np.log1p(-np.abs(signed)) * scale, signed), dtype=np.float64)


def truncated_laplace(streams: Streams, d: int, alpha: float, bound: float) -> Floats:
    """Independent noise with density proportional to e^(-alpha|x|) on [-bound, bound], (m, d)."""
    signed = 2 * streams.uniform("truncated", d) - 1
    mass = -np.expm1(-alpha * bound)
    size = np.minimum(-np.log1p(-np.abs(signed) * mass) / alpha, bound)
    return np.asarray(np.copysign(size, signed), dtype=np.float64)
