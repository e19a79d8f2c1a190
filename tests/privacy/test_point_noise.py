"""The noise laws of point mechanisms, with the usual mistakes as twins."""

import numpy as np
import pytest
from support import streams

from dpsan.privacy.noise_formulas import truncated_laplace_std
from dpsan.privacy.rounding import (
    GaussianCoordinates,
    LaplaceCoordinates,
)

M = 30_000


@pytest.mark.parametrize("kind", [LaplaceCoordinates, GaussianCoordinates])
def test_independent_coordinates(kind):
    """The distribution of each coordinate is tested with that of every mechanism."""
    drawn = kind(1.5)(streams(M), 2)
    assert drawn.shape == (M, 2)
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.04
    assert drawn.std() == pytest.approx(kind(1.5).std(2), rel=0.03)


@pytest.mark.parametrize("reach", [9.99e-4, 1.01e-3, 5.0, 699.0, 701.0])
def test_truncated_std_is_continuous(reach):
    x = np.linspace(-1, 1, 200_001)
    density = np.exp(-np.abs(x) * reach)
    exact = np.sqrt((x**2 * density).sum() / density.sum())
    if reach > 100:
        exact = np.sqrt(2) / reach
    assert truncated_laplace_std(reach, 1.0) == pytest.approx(exact, rel=1e-5)
