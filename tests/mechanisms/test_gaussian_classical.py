"""``gaussian-classical``: where the formula holds, where it first fails, and the refusal."""

import math

import numpy as np
import pytest
from line_laws import line_space
from scipy import optimize

from dpsan.errors import UsageError
from dpsan.mechanisms.gaussian import AnalyticGaussian
from dpsan.mechanisms.gaussian_classical import ClassicalGaussian
from dpsan.privacy.noise_formulas import gaussian_delta

SPACE = line_space([1.0, -1.0, 0.3])


def classical_delta(epsilon, delta):
    return gaussian_delta(epsilon, epsilon / math.sqrt(2 * math.log(1.25 / delta)))


@pytest.mark.parametrize(("delta", "expected"), [(1e-5, 8.42), (1e-6, 8.78), (1e-9, 9.62)])
def test_where_the_formula_first_fails(delta, expected):
    found = optimize.brentq(lambda e: classical_delta(e, delta) / delta - 1, 1, 20)
    assert found == pytest.approx(expected, abs=0.005)


def test_true_delta_at_epsilon_20():
    """161.1 times the claim, by closed form and quadrature."""
    assert classical_delta(20, 1e-6) / 1e-6 == pytest.approx(161.1, abs=0.1)


@pytest.mark.parametrize("epsilon", [1.0001, 2, 8, 100])
def test_refused_above_one(epsilon):
    for call in ("guarantee", "prepare", "noise_scale"):
        with pytest.raises(UsageError, match="epsilon <= 1 only"):
            getattr(ClassicalGaussian(epsilon, 1e-6), call)(SPACE)


def test_it_holds_in_its_domain_with_more_noise_than_needed():
    for epsilon in np.linspace(0.01, 1, 12):
        for delta in (0.5, 0.1, 1e-3, 1e-6, 1e-12):
            mechanism = ClassicalGaussian(epsilon, delta)
            guarantee = mechanism.guarantee(SPACE)
            assert guarantee.delta == classical_delta(epsilon, delta)
            assert guarantee.delta < 0.1 * delta
            assert guarantee.claimed.delta == delta
            assert mechanism.noise_scale(SPACE) > AnalyticGaussian(epsilon, delta).noise_scale(
                SPACE
            )


def test_sigma():
    assert ClassicalGaussian(1.0, 1e-5).noise_scale(SPACE) == pytest.approx(
        2 * math.sqrt(2 * math.log(1.25e5)), rel=1e-8
    )
