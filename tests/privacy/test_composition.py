import math

import pytest
from support import need_extra

from dpsan.privacy.composition import compose_basic, compose_optimal
from dpsan.privacy.guarantee import Guarantee, Status
from dpsan.privacy.noise_formulas import gaussian_delta, gaussian_mu


def guarantee(epsilon, delta=0.0, mu=None):
    return Guarantee(Status.PROVED, epsilon, delta, gaussian_mu=mu, why="test", source="test")


def test_basic():
    composed = compose_basic(guarantee(2.0, 1e-6), 10)
    assert (composed.epsilon, composed.delta) == (20.0, pytest.approx(1e-5))
    assert compose_basic(guarantee(math.inf), 0).epsilon == 0


def test_gaussian_is_exact():
    """mu_total = sqrt(k)·mu: the composed pair lies on the curve of that mu."""
    mu = gaussian_mu(1.0, 1e-6)
    composed = compose_optimal(guarantee(1.0, 1e-6, mu), 16)
    assert gaussian_delta(composed.epsilon, 4 * mu) == pytest.approx(1e-6, rel=1e-6)
    assert composed.epsilon < 16
    assert composed.delta == 1e-6
    # The twin: a linear mu would be far off.
    assert gaussian_delta(composed.epsilon, 16 * mu) > 0.5


def test_pure_guarantees_add_up():
    assert compose_optimal(guarantee(1.0), 10) is None


def test_black_box():
    need_extra("accounting")
    composed = compose_optimal(guarantee(0.1, 1e-6), 100)
    assert composed.epsilon < 0.6 * compose_basic(guarantee(0.1, 1e-6), 100).epsilon
    assert composed.delta == pytest.approx(2e-4)
    # Against the closed form of optimal composition (Kairouz, Oh and Viswanath), pure part.
    k, epsilon, slack = 100, 0.1, 1e-4

    def delta_of(i):
        return (
            sum(
                math.comb(k, low)
                * (math.exp((k - low) * epsilon) - math.exp((k - 2 * i + low) * epsilon))
                for low in range(i)
            )
            / (1 + math.exp(epsilon)) ** k
        )

    best = min((k - 2 * i) * epsilon for i in range(k // 2 + 1) if delta_of(i) <= slack)
    assert composed.epsilon <= best + 0.05


@pytest.mark.parametrize("delta", [4e-60, 1e-12, 1e-6])
@pytest.mark.parametrize("epsilon", [0.1, 8.0])
def test_never_worse_than_the_sum(epsilon, delta):
    """It said inf for a delta of 4e-60, beside a sum of 3."""
    need_extra("accounting")
    basic = compose_basic(guarantee(epsilon, delta), 30)
    found = compose_optimal(guarantee(epsilon, delta), 30)
    assert found is None or found.epsilon < basic.epsilon < math.inf
