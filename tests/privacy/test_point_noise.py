"""The noise laws of point mechanisms, with the usual mistakes as twins."""

import numpy as np
import pytest
from mechanisms.line_laws import truncated_cdf
from scipy import stats
from support import ALPHA, streams

from dpsan.privacy.noise_formulas import radial_std, truncated_laplace_std
from dpsan.privacy.rounding import (
    GaussianCoordinates,
    LaplaceCoordinates,
    SphericalLaplace,
    TruncatedLaplaceCoordinates,
)

M = 30_000


def good(sample, law, *args):
    cdf = getattr(stats, law)(*args).cdf if isinstance(law, str) else law
    return stats.kstest(sample, cdf).pvalue > ALPHA


@pytest.mark.parametrize(
    ("kind", "law"), [(LaplaceCoordinates, "laplace"), (GaussianCoordinates, "norm")]
)
def test_independent_coordinates(kind, law):
    drawn = kind(1.5)(streams(M), 2)
    assert drawn.shape == (M, 2)
    for column in drawn.T:
        assert good(column, law, 0, 1.5)
        assert not good(column, law, 0, 1.5 * 1.3)
        assert not good(column / 2, law, 0, 1.5)  # half the noise
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 0.04


@pytest.mark.parametrize(("alpha", "bound"), [(1.0, 0.05), (1.0, 1.0), (2.0, 3.0), (1.0, 800.0)])
def test_truncated_laplace(alpha, bound):
    drawn = TruncatedLaplaceCoordinates(alpha, bound)(streams(M), 1)[:, 0]
    assert np.abs(drawn).max() <= bound
    assert good(drawn, lambda x: truncated_cdf(x, alpha, bound))
    assert not good(drawn * 1.3, lambda x: truncated_cdf(x, alpha, bound))
    assert not good(drawn / 2, lambda x: truncated_cdf(x, alpha, bound))
    assert drawn.std() == pytest.approx(truncated_laplace_std(alpha, bound), rel=0.03)


@pytest.mark.parametrize("reach", [9.99e-4, 1.01e-3, 5.0, 699.0, 701.0])
def test_truncated_std_is_continuous(reach):
    x = np.linspace(-1, 1, 200_001)
    density = np.exp(-np.abs(x) * reach)
    exact = np.sqrt((x**2 * density).sum() / density.sum())
    if reach > 100:
        exact = np.sqrt(2) / reach
    assert truncated_laplace_std(reach, 1.0) == pytest.approx(exact, rel=1e-5)


def test_elliptical_laplace_is_the_stretched_noise_row_by_row():
    root = np.array([[2.0, 0.5], [0.5, 1.0]])
    stretched = SphericalLaplace(3.0, root)
    drawn, plain = stretched(streams(1000), 2), SphericalLaplace(3.0)(streams(1000), 2)
    drawn_6 = SphericalLaplace(2.0)(streams(M), 6)
    assert drawn_6.std() == pytest.approx(radial_std(6, 2.0), rel=0.02)
    assert np.allclose(drawn, plain @ root)
    alone = stretched(streams(10), 2)
    assert (alone == drawn[:10]).all()
    assert stretched(streams(0), 2).shape == (0, 2)
