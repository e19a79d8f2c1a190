"""clusant: two steps, and what they cost together."""

import math

import numpy as np
import pytest
from support import make_embeddings, streams

from dpsan.analysis.verify.verdict import Verdict, verify
from dpsan.embeddings.base import Embeddings
from dpsan.mechanisms.clusant import CluSanT
from dpsan.privacy.certificate import matrix_certificate, pairwise_losses
from dpsan.privacy.column_losses import column_certificate
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.metric_space import MetricSpace

PLACES = np.array([0.0, 9.0, 10.0, 30.0, 39.0, 40.0])
LINE = Embeddings(
    [f"w{at}" for at in range(6)], PLACES[:, None].astype(np.float32), "line", "six-on-a-line"
)
SPACE = MetricSpace(make_embeddings(n=60, d=4))


def by_hand(epsilon, scale):
    """P(u|w) of the six words, and of ⊥, from the definition."""
    law = np.zeros((7, 6))
    law[6] = 1 / 6
    centroids = np.array([19 / 3, 109 / 3])
    for w in range(6):
        outer = np.exp(-0.5 * epsilon * scale * abs(centroids[w // 3] - centroids))
        outer /= outer.sum()
        for j in range(2):
            apart = abs(PLACES[3 * j : 3 * j + 3] - PLACES[w])
            share = (apart - apart.min()) / (apart.max() - apart.min())
            inner = np.exp(-0.5 * epsilon * share)
            law[w, 3 * j : 3 * j + 3] = outer[j] * inner / inner.sum()
    return law


@pytest.mark.parametrize(("dp", "scale"), [("standard", 1 / 30), ("metric", 0.3)])
def test_law_by_hand(dp, scale):
    space = MetricSpace(LINE)
    mechanism = CluSanT(2.0, k=3, dp=dp, scale=scale)
    law = mechanism.prepare(space).probabilities(np.arange(7))
    assert law == pytest.approx(by_hand(2.0, scale), rel=1e-5)


def test_golden_number_of_the_proof():
    """Proofs 2.12: six words, epsilon 2: 2.247 where 2 is claimed."""
    found = CluSanT(2.0, k=3).certificate(MetricSpace(LINE))
    assert found.epsilon_ldp == pytest.approx(2.24749, abs=2e-5)
    assert matrix_certificate(by_hand(2.0, 1 / 30)).epsilon_ldp == pytest.approx(2.24749, abs=2e-5)


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 2.0, 8.0, 70.0, 300.0])
@pytest.mark.parametrize("k", [2, 7, 60])
def test_two_epsilon(epsilon, k):
    mechanism = CluSanT(epsilon, k=k)
    law = mechanism.prepare(SPACE).log_pmf(np.arange(61))
    loss = max(float((law[:, None] - law[None]).max()), 0)
    promised = mechanism.guarantee(SPACE).epsilon_ldp
    assert loss <= promised
    assert promised <= 2 * epsilon + 1e-5
    found = mechanism.certificate(SPACE)
    assert found.epsilon_ldp == pytest.approx(loss, abs=2e-9)
    first, second = found.pair
    assert (law[first] - law[second]).max() == pytest.approx(loss, abs=2e-9)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_metric(epsilon):
    """Every pair: epsilon times (scaled distance of centroids + 1), and not epsilon·d."""
    mechanism, words = CluSanT(epsilon, k=7, dp="metric", scale=0.5), make_embeddings(n=60, d=4)
    near = MetricSpace(Embeddings(words.index_to_key, words.vectors * 0.3, "", "near"))
    sampler, guarantee = mechanism.prepare(near), mechanism.guarantee(near)
    losses = pairwise_losses(sampler.probabilities(np.arange(61)))
    clusters = sampler.clusters
    apart = np.linalg.norm(clusters.centroids[:, None] - clusters.centroids, axis=2)
    bound = 0.5 * apart[clusters.of[:60]][:, clusters.of[:60]] + 1 - np.eye(60)
    assert (losses[:60, :60] <= epsilon * bound + guarantee.slack).all()
    assert losses.max() <= guarantee.epsilon_ldp
    euclidean = np.linalg.norm(near.vectors[:, None] - near.vectors, axis=2)
    assert (losses[:60, :60] > 1.2 * epsilon * euclidean + 1e-6).any()  # the published claim


def test_sampled_are_the_weights_of_the_law():
    """One draw of each word into each cluster: the integers of the whole row, of one cluster."""
    sampler = CluSanT(3.0, k=7).prepare(SPACE)
    ids = np.arange(60)
    law = sampler.probabilities(ids)
    for cluster in range(sampler.clusters.n):
        weights, words = sampler.within(ids, np.full(60, cluster))
        real = weights > 0
        total = weights.sum(axis=1, keepdims=True).astype(float)
        part = np.take_along_axis(law, words, axis=1) * real
        part /= part.sum(axis=1, keepdims=True)
        assert part == pytest.approx(weights / total, rel=1e-12)


def test_out_of_vocabulary_is_uniform_over_clusters():
    sampler = CluSanT(3.0, k=7).prepare(SPACE)
    law = sampler.probabilities(np.array([60]))[0]
    sizes = sampler.clusters.sizes
    assert law[sampler.clusters.order] == pytest.approx(np.repeat(1 / (9 * sizes), sizes))
    assert len(set(sampler.sample(np.full(200, 60), streams(200)).tolist())) > 30


def test_verify():
    options = {"epsilon": 2.0, "embeddings": LINE, "parameters": {"k": 3}}
    found = verify(Sanitizer("clusant", **options), words=6, draws=5000)
    assert (found.verdict, found.claimed.epsilon) == (Verdict.KEPT, pytest.approx(4.0, abs=1e-4))
    assert found.certified == pytest.approx(2.24749, abs=2e-5)


def test_columns_see_what_supports_hide():
    """The power of the certificate: a 0 in one row is an infinite loss, a 0 column none."""
    law = np.array([[0.5, 0.5, 0.0], [0.25, 0.75, 0.0], [0.5, 0.5, 0.0], [0.5, 0.5, 0.0]])
    three = MetricSpace(make_embeddings(n=3))
    with np.errstate(divide="ignore"):
        found = column_certificate(three, lambda ids: np.log(law[ids]), "a")
        assert found.epsilon_ldp == pytest.approx(math.log(2), abs=2e-9)
        law[1] = (0.25, 0.74, 0.01)
        found = column_certificate(three, lambda ids: np.log(law[ids]), "b")
    assert math.isinf(found.epsilon_ldp)
    assert found.pair == (1, 0)


def test_draws_of_a_vocabulary_too_large_to_hold(monkeypatch):
    """Its members' points are made when they are drawn from: the same words."""
    embeddings, ids = make_embeddings(n=60, d=4), np.arange(61)
    held = CluSanT(2.0, k=7).prepare(MetricSpace(embeddings)).sample(ids, streams(61))
    monkeypatch.setattr("dpsan.space.lattice._HELD_BYTES", 0)
    monkeypatch.setattr("dpsan.mechanisms.samplers.cluster_response._BLOCK", 5)
    made = CluSanT(2.0, k=7).prepare(MetricSpace(embeddings)).sample(ids, streams(61))
    assert (made == held).all()
