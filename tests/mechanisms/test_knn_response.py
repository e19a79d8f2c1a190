"""``knn-response``: its distribution by hand, and the choice of k and outputs."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from line_laws import line_space, losses
from support import fits, make_embeddings, streams

from dpsan.errors import UsageError
from dpsan.mechanisms.knn_response import KnnResponse, mean_cosines
from dpsan.space.metric_space import MetricSpace


def test_knn_response_outside_draws_every_other_word(space):
    sampler = KnnResponse(0.5, k=5, outputs=30).prepare(space)
    drawn = sampler.sample(np.full(50_000, 40), streams(50_000))  # not itself an output
    observed = np.bincount(drawn, minlength=space.n)
    assert ((observed > 0) == (np.arange(space.n) < 30)).all()
    assert fits(observed, sampler.probabilities(np.array([40]))[0])


def test_knn_response_on_demand_is_the_same(space, monkeypatch):
    mechanism, ids = KnnResponse(2.0, k=5, outputs="all"), np.arange(space.n)
    eager = mechanism.prepare(space).sample(ids, streams(space.n))
    monkeypatch.setattr(type(space), "eager", lambda self, outputs: False)
    assert (eager == mechanism.prepare(space).sample(ids, streams(space.n))).all()


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


@pytest.fixture(scope="module")
def larger():
    return MetricSpace(make_embeddings(n=1500, d=6))


def weighted_cosine(mechanism, space):
    """The utility, from the law itself."""
    law = mechanism.prepare(space).probabilities(np.arange(space.n))
    unit = space.vectors / np.linalg.norm(space.vectors, axis=1, keepdims=True)
    shares = space.counts / space.counts.sum()
    return float(shares @ (law * (unit @ unit.T)).sum(axis=1))


@pytest.mark.parametrize("epsilon", [2.0, 8.0])
def test_auto_is_the_best_of_the_grid(larger, epsilon):
    chosen = KnnResponse(epsilon)
    pairs = list(itertools.product((5, 10, 20, 50), (1000, 1500)))
    grid = [weighted_cosine(KnnResponse(epsilon, k=k, outputs=m), larger) for k, m in pairs]
    assert chosen.sizes(larger) == pairs[np.argmax(grid)]
    assert weighted_cosine(chosen, larger) == pytest.approx(max(grid))
    assert chosen.guarantee(larger).epsilon_ldp == pytest.approx(epsilon)


def test_one_may_be_given(larger):
    assert KnnResponse(5.0, k=7).sizes(larger)[0] == 7
    for given, outputs in ((700, 700), ("all", larger.n)):
        assert KnnResponse(5.0, outputs=given).sizes(larger)[1] == outputs
    assert KnnResponse(5.0, k=20, outputs="all").sizes(larger) == (20, larger.n)
    assert KnnResponse.build(5.0, {"k": "auto", "outputs": "auto"}) == KnnResponse(5.0)
    with pytest.raises(UsageError, match="k must be < outputs"):
        KnnResponse(3.0, k=1500).sizes(larger)


@pytest.mark.parametrize("n", [2, 3, 5, 6, 40])
def test_small_vocabularies(n):
    space = MetricSpace(make_embeddings(n=n, d=3))
    k, m = KnnResponse(3.0).sizes(space)
    assert 1 <= k < m <= n
    assert k == min(k, 5) or n > 6


def test_without_counts_ranks_stand_in():
    bare = MetricSpace(dataclasses.replace(make_embeddings(n=600, d=4), counts=None))
    near, _ = mean_cosines(bare, (600,), (5,))
    unit = bare.vectors / np.linalg.norm(bare.vectors, axis=1, keepdims=True)
    ids = bare.neighbors(np.arange(600), 5)
    cosine = np.einsum("nkd,nd->n", unit[ids], unit) / 5
    zipf = 1 / (np.arange(600) + 2.7)
    assert near[0, 0] == pytest.approx(zipf @ cosine / zipf.sum(), abs=1e-6)
