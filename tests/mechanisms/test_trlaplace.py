"""``trlaplace``: certified delta of the sound calibration, its noise, its exact law."""

import numpy as np
import pytest
from line_laws import counts, hockey_stick, line_space, nearest_law, off, truncated_cdf
from scipy import optimize
from support import fits

from dpsan.mechanisms.trlaplace import TrLaplace
from dpsan.privacy.noise_formulas import (
    escape,
    largest_escape,
    radial_std,
    sound_truncation,
    truncated_laplace_std,
)


@pytest.mark.parametrize("d", [50, 100, 300])
@pytest.mark.parametrize("epsilon", [0.05, 0.1, 0.5, 1.0, 5.0, 10.0])
def test_certified_delta(d, epsilon):
    assert 0.90e-6 <= TrLaplace(epsilon, 1e-6).true_delta(d) <= 1.0e-6


@pytest.mark.parametrize("d", [1, 2, 5, 50, 300])
@pytest.mark.parametrize("epsilon", [20.0, 100.0, 5000.0])
def test_certified_delta_at_any_epsilon(d, epsilon):
    mechanism = TrLaplace(epsilon, 1e-6)
    alpha, bound = mechanism.truncation(d, 1.0)
    # f is concave, then convex: at the maximum one coordinate is x and the others are equal.
    x = np.linspace(2 / np.sqrt(d), 2, 4001)
    rest = np.sqrt(np.maximum(4 - x**2, 0) / max(d - 1, 1))
    outside = escape(x, alpha, bound) + (d - 1) * escape(rest, alpha, bound)
    assert outside.max() <= 1e-6 * (1 + 1e-9)
    assert largest_escape(alpha, bound, d, 2.0) >= outside.max() * (1 - 1e-5)
    assert largest_escape(alpha, bound, d, 2.0) <= outside.max() * 1.02
    assert 0.4e-6 < mechanism.true_delta(d) <= 1e-6


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 6.0])
@pytest.mark.parametrize("d", [2, 5])
def test_no_shift_loses_more_than_delta(d, epsilon):
    alpha, bound = TrLaplace(epsilon, 1e-3).truncation(d, 1.0)

    def outside(s):
        return 1 - np.prod(1 - escape(np.abs(s) / np.linalg.norm(s) * 2, alpha, bound))

    for seed in range(6):
        start = np.abs(np.random.default_rng(seed).normal(size=d)) + 0.01
        assert -optimize.minimize(lambda s: -outside(s), start).fun <= 1e-3


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 7.0])
def test_one_dimension_is_geng(epsilon):
    """[Geng20]: A = (Delta/epsilon) ln(1 + (e^epsilon - 1)/(2 delta)), Delta = 2C."""
    _, bound = sound_truncation(epsilon, 1e-5, 1, 0.5)
    assert bound == pytest.approx(np.log1p(np.expm1(epsilon) / 2e-5) / epsilon, rel=1e-9)


REFERENCE = [(50, 20.0, 14.28), (100, 28.28, 20.10), (300, 49.0, 34.7)]


@pytest.mark.parametrize(("d", "truncated", "spherical"), REFERENCE)
def test_reference_noise(d, truncated, spherical):
    """C = 1, delta 1e-6: truncation does not help once it is sound."""
    for epsilon in (1.0, 10.0):
        found = truncated_laplace_std(*sound_truncation(epsilon, 1e-6, d, 1.0))
        assert found * epsilon == pytest.approx(truncated, rel=2e-3)
        # laplace at LDP epsilon: epsilon/2 per unit of distance.
        assert radial_std(d, epsilon / 2) * epsilon == pytest.approx(spherical, rel=1e-3)


@pytest.mark.parametrize("word", [0, 3, 5])
def test_exact_law(word):
    space, epsilon, delta = line_space([0.1, 0.4, -0.7, 1.9, 1.5]), 1.0, 0.01
    mechanism = TrLaplace(epsilon, delta)
    alpha, bound = mechanism.truncation(1, 1.9)
    law = nearest_law(space, lambda x: truncated_cdf(x, alpha, bound))
    observed = counts(mechanism, space, word)
    assert fits(observed, law[word])
    assert not fits(observed, off(law[word]))
    assert hockey_stick(law, epsilon) <= delta
    half = nearest_law(space, lambda x: truncated_cdf(2 * x, alpha, bound))
    assert not fits(observed, half[word])
    assert hockey_stick(half, epsilon) > delta


def test_huge_epsilon_does_not_overflow():
    space = line_space([0.1, 0.4, -0.7])
    mechanism = TrLaplace(1e5, 1e-6)
    assert np.isfinite(mechanism.noise_scale(space))
    assert counts(mechanism, space, 1, 50).tolist() == [0, 50, 0]
    assert mechanism.guarantee(space).delta <= 1e-6
