"""What is special about laplace, exponential and knn-response, and their planted defects."""

import math

import numpy as np
import pytest
from scipy import stats
from support import fits, streams

from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.exponential import Exponential
from dpsan.mechanisms.knn_response import KnnResponse
from dpsan.mechanisms.laplace import Laplace
from dpsan.mechanisms.sampling.samplers import RowSampler
from dpsan.mechanisms.sampling.subset_response import SubsetResponseSampler, integer_weights
from dpsan.privacy.noise import multivariate_laplace, unit_directions


def test_laplace_radius_is_gamma_and_direction_on_the_sphere():
    noise = multivariate_laplace(streams(20_000), 3, 2.0)
    radius = np.linalg.norm(noise, axis=1)
    assert stats.kstest(radius, "gamma", args=(3, 0, 0.5)).pvalue > 1e-9
    assert stats.kstest(radius * 1.3, "gamma", args=(3, 0, 0.5)).pvalue < 1e-9
    directions = unit_directions(streams(20_000), 3)
    assert np.allclose(np.linalg.norm(directions, axis=1), 1)
    # On the sphere in three dimensions each coordinate is uniform (Archimedes); in the ball not.
    assert stats.kstest(directions[:, 0], "uniform", args=(-1, 2)).pvalue > 1e-9
    ball = directions * streams(20_000).uniform("ball") ** (1 / 3)
    assert stats.kstest(ball[:, 0], "uniform", args=(-1, 2)).pvalue < 1e-9


def test_laplace_golden_share_on_glove(glove):
    """Golden number: about .29 of words unchanged at epsilon 10."""
    _, space = glove
    ids = np.arange(space.n)
    out = Laplace(10.0).prepare(space).sample(ids, streams(space.n))
    assert 0.27 < (out == ids).mean() < 0.34
    halved = Laplace(20.0).prepare(space).sample(ids[:2000], streams(2000))
    assert (halved == ids[:2000]).mean() > 0.5  # half the noise is seen at once


def test_laplace_guarantee(space):
    guarantee = Laplace(3.0).guarantee(space)
    assert guarantee.epsilon_metric == 3
    assert guarantee.epsilon_ldp == pytest.approx(3 * space.diameter)


def test_exponential_law_by_hand(space):
    sampler = Exponential(1.5).prepare(space)
    distances = np.linalg.norm(space.vectors - space.vectors[4].astype(float), axis=1)
    law = np.exp(-0.75 * distances)
    assert np.allclose(sampler.probabilities(np.array([4]))[0], law / law.sum(), rtol=1e-5)


@pytest.mark.parametrize("factor", [2.0, 0.5])
def test_exponential_without_the_half_is_another_law(space, factor):
    sampler = Exponential(1.5).prepare(space)
    drawn = sampler.sample(np.full(30_000, 4), streams(30_000))
    observed = np.bincount(drawn, minlength=space.n)
    assert fits(observed, sampler.probabilities(np.array([4]))[0])
    wrong = Exponential(1.5 * factor).prepare(space).probabilities(np.array([4]))[0]
    assert not fits(observed, wrong)


def test_squared_distances_are_another_law(space):
    sampler = Exponential(1.5).prepare(space)
    drawn = sampler.sample(np.full(30_000, 4), streams(30_000))
    squared = np.exp(-0.75 * space.distances(np.array([4]))[0] ** 2)
    assert not fits(np.bincount(drawn, minlength=space.n), squared / squared.sum())


def test_integer_weights_of_rows_are_the_law(space):
    """Total weights beyond 64 bits, and scores beyond the cap."""
    flat = RowSampler(space, lambda ids: np.zeros((len(ids), space.n)))
    assert flat.weights(np.array([0])).sum(dtype=object) == space.n << 62
    drawn = flat.sample(np.zeros(30_000, dtype=np.int64), streams(30_000))
    assert fits(np.bincount(drawn, minlength=space.n), np.full(space.n, 1 / space.n))
    steep = RowSampler(space, lambda ids: np.tile(np.arange(space.n) * 50.0, (len(ids), 1)))
    weights = steep.weights(np.array([0]))[0]
    assert weights[0] == 1 << 62
    assert weights[1] == weights[-1] == math.floor(math.exp(-30) * 2**62)


def test_rows_are_bounded_by_bytes(space):
    sampler = RowSampler(space, lambda ids: np.zeros((len(ids), space.n)), cache_bytes=1)
    sampler.sample(np.arange(space.n), streams(space.n))
    assert len(sampler._rows) <= 32


@pytest.mark.parametrize("epsilon", [0.01, 1, 5, 8, 12, 30, 60, 700])
@pytest.mark.parametrize(("k", "m"), [(1, 2), (20, 30_000), (50, 400_000)])
def test_two_weights_never_exceed_epsilon(epsilon, k, m):
    inside, outside = integer_weights(epsilon, k, m)
    assert inside >= outside >= 1
    assert k * inside + (m - k) * outside <= 1 << 56
    assert math.log(inside) - math.log(outside) <= epsilon
    if epsilon <= 20:
        assert math.log(inside / outside) == pytest.approx(epsilon, abs=1e-6)


def test_knn_response_golden_shares_on_glove(glove):
    """Issue 3: .8577 inside S_w and .0429 unchanged at epsilon 8, K = 20, four standard errors."""
    _, space = glove
    mechanism = KnnResponse(8.0, k=20, outputs="all")
    sampler = mechanism.prepare(space)
    m = 200_000
    ids = np.arange(m) % space.n
    out = sampler.sample(ids, streams(m))
    inside = (sampler.sets(ids) == out[:, None]).any(axis=1).mean()
    expected = 1 / (1 + (space.n - 20) / (20 * math.exp(8)))
    assert expected == pytest.approx(0.8577, abs=1e-4)
    assert abs(inside - expected) < 4 * math.sqrt(expected * (1 - expected) / m)
    unchanged = (out == ids).mean()
    assert abs(unchanged - expected / 20) < 4 * math.sqrt(expected / 20 / m)


def test_knn_response_outside_draws_every_other_word(space):
    sampler = SubsetResponseSampler(space, 0.5, 5, 30)
    drawn = sampler.sample(np.full(50_000, 40), streams(50_000))  # not itself an output
    observed = np.bincount(drawn, minlength=space.n)
    assert (observed[:30] > 0).all()
    assert (observed[30:] == 0).all()
    assert fits(observed, sampler.probabilities(np.array([40]))[0])


def test_knn_response_on_demand_is_the_same(space, monkeypatch):
    eager = SubsetResponseSampler(space, 2.0, 5, space.n)
    monkeypatch.setattr(type(space), "eager", lambda self, outputs: False)
    lazy = SubsetResponseSampler(space, 2.0, 5, space.n)
    ids = np.arange(space.n)
    assert (eager.sample(ids, streams(space.n)) == lazy.sample(ids, streams(space.n))).all()


def test_top_k_support_would_be_caught(space):
    """A law without mass outside S_w has supports that differ."""
    sampler = KnnResponse(4.0, k=5, outputs="all").prepare(space)
    law = sampler.probabilities(np.arange(space.n))
    assert (law > 0).all()
    top = np.where(law == law.max(), law, 0)
    assert ((top > 0).sum(axis=1) == 5).all()


def test_knn_response_domain(space):
    with pytest.raises(UsageError, match="k must be"):
        KnnResponse.build(4.0, {"k": "0"})
    with pytest.raises(UsageError, match=r"k must be < outputs"):
        KnnResponse(4.0, k=60, outputs="all").prepare(space)
    with pytest.raises(UsageError, match="did you mean 'outputs'"):
        KnnResponse.build(4.0, {"output": "3"})
    with pytest.raises(UsageError, match="k must be a whole number"):
        KnnResponse.build(4.0, {"k": "2.5"})


def test_default():
    from dpsan.cli import options
    from dpsan.mechanisms import DEFAULT_MECHANISM

    assert options.DEFAULT_MECHANISM == DEFAULT_MECHANISM
    assert DEFAULT_MECHANISM in MECHANISMS
