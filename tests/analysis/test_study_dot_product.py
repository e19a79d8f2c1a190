"""``dot-product``: closed forms against quadrature and draws; bounds that are never exceeded."""

import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from dpsan.analysis.study import study
from dpsan.analysis.study.dot_product import (
    angular_bound,
    angular_density,
    angular_tail,
    noisy_bound,
    noisy_density,
    noisy_tail,
)
from dpsan.errors import UsageError
from dpsan.space.metric_space import MetricSpace

DIMENSIONS = (2, 3, 10, 50, 100, 300, 1000)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_angular_law(d):
    def moment(k):
        return integrate.quad(
            lambda t: t**k * float(angular_density(np.array(t), d)), -1, 1, points=[0], limit=200
        )[0]

    total, mean, variance = map(moment, range(3))
    assert total == pytest.approx(1, abs=1e-6)
    assert mean == pytest.approx(0, abs=1e-9)
    assert variance == pytest.approx(1 / d, rel=1e-5)
    for s in (0.0, 0.5 / math.sqrt(d), 2 / math.sqrt(d)):
        if s < 1:
            density = lambda t: float(angular_density(np.array(t), d))  # noqa: E731
            tail = integrate.quad(density, s, 1, limit=200, points=[min(1, s + 5 / math.sqrt(d))])
            assert float(angular_tail(np.array(s), d)) == pytest.approx(tail[0], rel=1e-5)


@pytest.mark.parametrize("d", DIMENSIONS)
def test_sub_gaussian_bound_is_never_exceeded(d):
    """Exact tails by the incomplete beta function."""
    s = np.linspace(0, 1, 5001)
    exact = special.betainc((d - 1) / 2, 0.5, 1 - s**2) / 2
    assert angular_tail(s, d) == pytest.approx(exact, rel=1e-9)
    assert (exact <= angular_bound(s, d)).all()
    # Power: the bound of a fourth of the variance is exceeded.
    assert (exact > np.exp(-4 * d * s**2 / 2)).any()


@pytest.mark.parametrize("d", [2, 3, 50, 100, 300])
def test_noisy_law(d):
    x = np.linspace(0.5, 6 * math.sqrt(d + 1), 60)
    order = d / 2  # a Bessel function: the marginal of exp(-|z|) in d dimensions
    logs = (order * np.log(x / 2) + np.log(special.kve(order, x)) - x) - special.gammaln(
        order + 0.5
    )
    bessel = np.exp(logs) / math.sqrt(math.pi)
    good = np.isfinite(bessel)
    assert good.sum() > 50
    # Far tails of the quadrature are the least exact; none is used for a guarantee.
    near = good & (x < 4 * math.sqrt(d + 1))
    assert noisy_density(x, d)[near] == pytest.approx(bessel[near], rel=2e-3)
    wide = np.linspace(-60 - 12 * math.sqrt(d), 60 + 12 * math.sqrt(d), 20_001)
    density = noisy_density(wide, d)
    step = wide[1] - wide[0]
    assert density.sum() * step == pytest.approx(1, abs=1e-4)
    assert (wide**2 * density).sum() * step == pytest.approx(d + 1, rel=1e-2)
    s = np.linspace(0, 8 * math.sqrt(d + 1), 400)
    assert (noisy_tail(s, d) <= noisy_bound(s, d)).all()
    assert noisy_tail(np.zeros(1), d)[0] == pytest.approx(0.5)


def test_moments_of_the_draws():
    """E = 0, Var of the angular part 1/d, Var of the noisy product (d+1)/epsilon²."""
    result = study("dot-product", parameters={"d": "5,50"}, draws=20_000, epsilons=(1.0, 4.0))
    rows = {(row["d"], row["quantity"]): row for row in result.rows}
    for d in (5, 50):
        for quantity, exact in (
            ("E <u, e>", 0),
            ("Var <u, e>", 1 / d),
            ("E <z, e> at epsilon 4", 0),
            ("Var <z, e> at epsilon 4", (d + 1) / 16),
            ("Var <z, e> at epsilon 1", d + 1),
            ("E |z| at epsilon 4", d / 4),
        ):
            row = rows[d, quantity]
            assert row["closed_form"] == exact
            width = (row["high"] - row["low"]) / 2 / 2.576
            assert abs(row["monte_carlo"] - exact) < 6.1 * width
            if quantity.startswith(("Var", "E |")):  # power: 30 % off would be seen
                assert abs(row["monte_carlo"] - 1.3 * exact) > 6.1 * width
        for name in ("u", "z"):
            for sigmas in (1, 2, 3, 4):
                row = rows[d, f"P(<{name}, e> >= {sigmas} sd)"]
                assert row["closed_form"] <= row["bound"]
                hits = round(row["monte_carlo"] * 20_000)
                likely = stats.binomtest(hits, 20_000, min(row["closed_form"], 1)).pvalue
                assert likely > 1e-9


def test_figure_4_is_the_length():
    """The density of a Gamma(d) number: it sums to 1, and its points are of the draws."""
    result = study("dot-product", parameters={"d": "5"}, draws=2000)
    curve, points = result.panels[-1].series
    assert integrate.trapezoid(curve.y, curve.x) == pytest.approx(1, abs=5e-3)
    assert curve.x[int(np.argmax(curve.y))] == pytest.approx(4, abs=0.2)
    width = points.x[1] - points.x[0]
    assert sum(points.y) * width == pytest.approx(1, abs=5e-3)
    assert "Figure 4" in result.source


def test_dimension_and_draws(space):
    assert study("dot-product", space, draws=50).parameters["d"] == [space.d]
    assert isinstance(space, MetricSpace)
    told = []
    first, second = (
        study("dot-product", parameters={"d": "4"}, draws=50, seed=seed, progress=told.append)
        for seed in "ab"
    )
    assert first.rows != second.rows
    assert told[-1] == 1
    with pytest.raises(UsageError, match="--draws"):
        study("dot-product", draws=1)
