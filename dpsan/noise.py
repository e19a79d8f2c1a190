"""Noise in d dimensions, one vector for each word.

Knows distributions.  Must not know words or vocabularies.  All draws come from keyed streams.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dpsan.rng import Streams

__all__ = ["multivariate_laplace", "unit_directions"]


def unit_directions(streams: Streams, d: int) -> NDArray[np.float64]:
    """Points uniform on the unit sphere (not the ball), shape (m, d)."""
    normal = streams.normal("direction", d)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    return normal


def multivariate_laplace(streams: Streams, d: int, epsilon: float) -> NDArray[np.float64]:
    """Noise with density proportional to exp(-epsilon·|z|), shape (m, d).

    |z| has the Gamma(d, 1/epsilon) law, the direction is uniform on the sphere.

    Args:
        epsilon: per unit of distance, > 0.
    """
    from scipy.special import gammaincinv  # heavy import

    radius = gammaincinv(float(d), streams.uniform("radius")) / epsilon
    return np.asarray(unit_directions(streams, d) * radius, dtype=np.float64)
