"""zipf-response: ranks, integer weights, the word of a rank."""

import math

import numpy as np
import pytest
from support import fits, streams

from dpsan.mechanisms.samplers.rank_response import RankResponseSampler
from dpsan.mechanisms.zipf_response import ZipfResponse, rank_weights


@pytest.mark.parametrize("epsilon", [0.01, 1, 5, 12, 30, 60, 300])
@pytest.mark.parametrize("n", [1, 2, 60, 9910, 400_000])
def test_integer_weights(epsilon, n):
    weights = rank_weights(epsilon, n)
    assert weights.shape == (n,)
    assert (np.diff(weights.astype(np.float64)) <= 0).all()
    assert int(weights.sum(dtype=object)) < 1 << 63
    assert weights[-1] >= 1
    loss = math.log(int(weights[0]) / int(weights[-1]))
    assert loss <= epsilon
    if n > 1 and epsilon <= 30:
        assert loss == pytest.approx(epsilon, abs=1e-3)


def test_law_by_hand(space):
    law = ZipfResponse(4.0).prepare(space).probabilities(np.array([7]))[0]
    order = np.argsort(np.linalg.norm(space.vectors - space.vectors[7].astype(float), axis=1))
    expected = (1.0 + np.arange(space.n)) ** (-4.0 / math.log(space.n))
    assert np.allclose(law[order], expected / expected.sum(), rtol=1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 8.0])
@pytest.mark.parametrize("kept", [0, 1 << 20])
def test_samples(space, epsilon, kept):
    """By the kept orders, and by rows made for the batch."""
    weights = rank_weights(epsilon, space.n)
    sampler = RankResponseSampler(space, weights, order_bytes=kept, near_bytes=kept)
    drawn = sampler.sample(np.full(20_000, 7), streams(20_000))
    observed = np.bincount(drawn, minlength=space.n)
    law = sampler.probabilities(np.array([7]))[0]
    assert fits(observed, law)
    wrong = law * np.where(np.arange(space.n) % 2, 1.3, 0.7)
    assert not fits(observed, wrong / wrong.sum())


def test_equal_vectors_keep_the_word_first(space):
    from support import make_embeddings

    from dpsan.space.metric_space import MetricSpace

    embeddings = make_embeddings()
    embeddings.vectors[[4, 9, 30]] = embeddings.vectors[4]
    twins = MetricSpace(embeddings)
    order = ZipfResponse(2.0).prepare(twins).order(np.array([4, 9, 30]))
    assert order[:, 0].tolist() == [4, 9, 30]
    assert all(sorted(row) == list(range(twins.n)) for row in order.tolist())
