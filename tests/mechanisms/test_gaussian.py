"""``gaussian``: golden sigmas, the exact delta by quadrature, the exact law on a line."""

import math

import numpy as np
import pytest
from line_laws import counts, hockey_stick, line_space, nearest_law, off
from scipy import integrate, stats
from support import fits

from dpsan.mechanisms.gaussian import AnalyticGaussian
from dpsan.privacy.noise_formulas import gaussian_delta, gaussian_mu

LINE = [0.1, 0.4, -0.7, 1.9, 1.5]


@pytest.mark.parametrize(("epsilon", "sigma"), [(1.0, 8.45), (10.0, 1.08)])
def test_reference_sigma(epsilon, sigma):
    """C = 1, diameter 2, delta 1e-6: independent of the dimension."""
    mechanism = AnalyticGaussian(epsilon, 1e-6)
    assert mechanism.noise_scale(line_space([1.0, -1.0])) == pytest.approx(sigma, abs=0.005)


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 1.0, 8.0, 50.0, 700.0, 1e4])
@pytest.mark.parametrize("delta", [0.5, 1e-3, 1e-6, 1e-12, 1e-100])
def test_calibration_is_tight_and_on_the_safe_side(epsilon, delta):
    mu = gaussian_mu(epsilon, delta)
    assert 0 < mu < math.inf
    assert gaussian_delta(epsilon, mu) <= delta
    assert gaussian_delta(epsilon, mu * (1 + 1e-6)) > delta


@pytest.mark.parametrize(("epsilon", "mu"), [(0.5, 0.3), (1.0, 0.24), (3.0, 1.5), (20.0, 3.77)])
def test_delta_is_the_hockey_stick_integral(epsilon, mu):
    start = epsilon / mu + mu / 2

    def excess(x):
        return stats.norm.pdf(x, mu) - math.exp(epsilon) * stats.norm.pdf(x)

    exact = integrate.quad(excess, start, start + 40, epsabs=0, epsrel=1e-10)[0]
    assert gaussian_delta(epsilon, mu) == pytest.approx(exact, rel=1e-8)


@pytest.mark.parametrize("word", [0, 3, len(LINE)])
def test_exact_law(word):
    space, epsilon, delta = line_space(LINE), 2.0, 0.01
    mechanism = AnalyticGaussian(epsilon, delta)
    sigma = 2.6 / gaussian_mu(epsilon, delta)
    law = nearest_law(space, lambda x: stats.norm.cdf(x, scale=sigma))
    observed = counts(mechanism, space, word)
    assert fits(observed, law[word])
    assert not fits(observed, off(law[word]))
    half = nearest_law(space, lambda x: stats.norm.cdf(x, scale=sigma / 2))
    assert not fits(observed, half[word])
    assert hockey_stick(law, epsilon) <= delta
    assert hockey_stick(half, epsilon) > delta


def test_clipping_lowers_the_noise():
    space = line_space(LINE)
    assert AnalyticGaussian(1.0, 1e-6, clip=0.5).noise_scale(space) == pytest.approx(
        1.0 / gaussian_mu(1.0, 1e-6), rel=1e-5
    )
    assert np.isclose(AnalyticGaussian(1.0, 1e-6).guarantee(space).delta, 1e-6)
