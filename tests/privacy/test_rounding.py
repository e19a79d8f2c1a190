"""The bound on what float64 changes, against rounding made visible on purpose."""

import math

import numpy as np
import pytest
from scipy.special import gammaincinv, ndtri
from support import cases, make_embeddings

from dpsan.embeddings.base import Embeddings
from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.privacy import rounding
from dpsan.privacy.guarantee import Arithmetic, Status
from dpsan.privacy.rounding import (
    LIBRARY_ERROR,
    GaussianCoordinates,
    LaplaceCoordinates,
    SphericalLaplace,
    TruncatedLaplaceCoordinates,
    float64_delta,
    float64_gap,
)
from dpsan.space.diameters import smallest_distance
from dpsan.space.metric_space import MetricSpace


def noise_of(kind, m, d, generator):
    match kind:
        case GaussianCoordinates(sigma):
            return generator.normal(0, sigma, (m, d))
        case LaplaceCoordinates(scale):
            return generator.laplace(0, scale, (m, d))
        case SphericalLaplace(epsilon):
            direction = generator.normal(size=(m, d))
            direction /= np.linalg.norm(direction, axis=1, keepdims=True)
            return direction * generator.gamma(d, 1 / epsilon, (m, 1))


@cases("kind", GaussianCoordinates(0.8), LaplaceCoordinates(0.5), SphericalLaplace(3.0))
@pytest.mark.parametrize(("d", "offset"), [(1, 0.0), (5, 0.0), (2, 0.4)])
def test_rounding_made_a_billion_times_larger_stays_below_the_bound(kind, d, offset, monkeypatch):
    """Every coordinate errs by a relative 2^-20: some words change, and no more than the bound."""
    error, m = 2.0**-20, 50_000
    monkeypatch.setattr(rounding, "LIBRARY_ERROR", error)
    generator = np.random.default_rng(3)
    grid = np.stack(np.meshgrid(*[np.arange(3.0)] * min(d, 2)), -1).reshape(-1, min(d, 2))
    words = np.pad(grid, ((0, 0), (0, d - grid.shape[1])))
    start = words[0] + offset
    near = float(np.linalg.norm(words - start, axis=1).min())
    gap = float64_gap(kind, d, float(np.linalg.norm(words, axis=1).max()), 1.0, near)
    noise = noise_of(kind, m, d, generator)

    def changed(factor):
        moved = noise * (1 + factor * error * generator.choice([-1, 1], noise.shape))
        nearest = [((start + each)[:, None] - words) ** 2 for each in (noise, moved)]
        return np.not_equal(*[each.sum(axis=2).argmin(axis=1) for each in nearest]).mean()

    assert changed(1) <= gap
    # The twin: with 300 times the error that the bound is told of, it is passed.
    assert changed(2.0**8 * 300) > gap


def test_the_library_is_better_than_the_bound_grants():
    mp = pytest.importorskip("mpmath")
    mp.mp.dps = 40
    cells = np.array([0, 1, 5, 1000, 10**9, 2**50, 2**51, 2**52 - 10**9, 2**52 - 2, 2**52 - 1])
    for u in ((cells + 0.5) * 2.0**-52).tolist():
        x, small = mp.mpf(float(ndtri(u))), u < 0.5
        tail = mp.mpf(u) if small else 1 - mp.mpf(u)
        wrong = mp.erfc(abs(x) / mp.sqrt(2)) / 2 - tail
        assert abs(wrong / mp.npdf(x) / x) < LIBRARY_ERROR / 10
        for d in (1, 2, 100):
            x = mp.mpf(float(gammaincinv(float(d), u)))
            ends = (0, x) if small else (x, mp.inf)
            wrong = mp.gammainc(d, *ends, regularized=True) - tail
            density = mp.exp(-x + (d - 1) * mp.log(x) - mp.loggamma(d))
            assert abs(wrong / density / x) < LIBRARY_ERROR / 10


def test_what_has_no_bound_has_none():
    assert float64_gap(TruncatedLaplaceCoordinates(1.0, 3.0), 3, 1.0, 1.0) is None
    assert float64_gap(SphericalLaplace(1.0, np.eye(3)), 3, 1.0, 1.0) is None
    assert float64_gap(SphericalLaplace(1.0), 100, 1.0, 1e-13) is None  # not below 1
    small, large = (float64_gap(SphericalLaplace(8.0), 100, 10.0, each) for each in (0.5, 0.1))
    assert 0 < small < large < 1
    # And the delta that the program has with it.
    assert float64_delta(0.0, 1e-6, 1e-9) == pytest.approx(1e-6 + 2e-9, rel=1e-6)
    assert float64_delta(8.0, 0.0, 1e-9) == pytest.approx((1 + math.e**8) * 1e-9, rel=1e-6)
    assert float64_delta(1e4, 0.0, 1e-9) == 1.0


def test_smallest_distance_is_that_of_different_points():
    vectors = np.array([[0, 0], [-0.0, 0], [3, 4], [3, 4], [3, 4.5]], dtype=np.float32)
    space = MetricSpace(Embeddings(list("abcde"), vectors, "few", "few"))
    assert smallest_distance(space) == pytest.approx(0.5, rel=1e-8)
    assert smallest_distance(space) <= 0.5
    same = MetricSpace(Embeddings(list("ab"), vectors[:2], "one", "one"))
    assert smallest_distance(same) is None


def test_every_proved_mechanism_says_in_which_numbers():
    space = MetricSpace(make_embeddings(n=30, d=3))
    for kind in MECHANISMS.values():
        if kind.status is not Status.PROVED:
            continue
        given = {"delta": 1e-6} if "delta" in kind.parameters() else {}
        try:
            mechanism = kind.build(0.5, given)
            guarantee = mechanism.guarantee(space)
        except UsageError:
            continue
        assert guarantee.arithmetic is kind.arithmetic
        assert guarantee.grade == f"PROVED {kind.arithmetic}"
        gap = mechanism.float64_gap(space)
        if kind.arithmetic is Arithmetic.INTEGERS:
            assert gap == 0
            # No noise, and (but for levels that are mixed) every integer can be listed.
            assert mechanism.noise_distribution(space) is None
        else:
            assert gap is None if kind.arithmetic is Arithmetic.REALS else 0 < gap < 1e-6
