"""``knn-response``: its two weights, its distribution by hand, and planted defects."""

import math

import numpy as np
import pytest
from line_laws import line_space, losses
from support import fits, streams

from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.knn_response import KnnResponse
from dpsan.mechanisms.samplers.subset_response import SubsetResponseSampler, integer_weights


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


def test_four_words_on_a_line():
    """K = 2 of n = 4: e^epsilon for a word and its nearest, 1 for the others."""
    space = line_space([0.0, 1.0, 3.0, 7.0])
    mechanism = KnnResponse(math.log(3), k=2, outputs="all")
    law = mechanism.prepare(space).probabilities(np.arange(5))
    near = np.array([[3, 3, 1, 1], [3, 3, 1, 1], [1, 3, 3, 1], [1, 1, 3, 3]]) / 8
    assert np.allclose(law[:4], near, rtol=1e-5)
    assert law[4] == pytest.approx([1 / 4] * 4)
    loss = mechanism.guarantee(space).epsilon_ldp
    assert losses(law).max() == pytest.approx(loss, abs=1e-9)
    assert math.log(3) - 1e-5 < loss <= math.log(3)
