"""clusant, custext, bucket-exponential: groups of words, and what their sizes give away."""

import math

import numpy as np
import pytest
from line_laws import line_space, space_of
from support import make_embeddings, streams

from dpsan.errors import UsageError
from dpsan.mechanisms.exponential import BucketExponential, Exponential
from dpsan.mechanisms.mechanism import certify
from dpsan.mechanisms.published import CluSanT, CusText
from dpsan.mechanisms.tables import orders as module
from dpsan.mechanisms.tables.orders import Clusters, groups
from dpsan.outcomes.calibrate import Draft, Target, calibrate
from dpsan.privacy.certificate import matrix_certificate, pairwise_losses
from dpsan.space.metric_space import MetricSpace

PLACES = np.array([0.0, 9.0, 10.0, 30.0, 39.0, 40.0])
LINE = line_space(PLACES)
SPACE = MetricSpace(make_embeddings(n=60, d=4))


def by_hand(epsilon, scale):
    """P(u|w) of the six words, and of ⊥, from the definition."""
    law, centroids = np.full((7, 6), 1 / 6), np.array([19 / 3, 109 / 3])
    for w in range(6):
        outer = np.exp(-0.5 * epsilon * scale * abs(centroids[w // 3] - centroids))
        apart = abs(PLACES.reshape(2, 3) - PLACES[w])
        share = (apart - apart.min(axis=1)[:, None]) / np.ptp(apart, axis=1)[:, None]
        inner = np.exp(-0.5 * epsilon * share)
        law[w] = ((outer / outer.sum() / inner.sum(axis=1))[:, None] * inner).ravel()
    return law


@pytest.mark.parametrize(("dp", "scale"), [("standard", 1 / 30), ("metric", 0.3)])
def test_clusant_by_hand(dp, scale):
    law = CluSanT(2.0, k=3, dp=dp, scale=scale).prepare(LINE).probabilities(np.arange(7))
    assert law == pytest.approx(by_hand(2.0, scale), rel=1e-5)


def test_golden_number_of_clusant():
    """Proofs 2.12: six words, epsilon 2: 2.247 where 2 is claimed."""
    for found in (CluSanT(2.0, k=3).certificate(LINE), matrix_certificate(by_hand(2.0, 1 / 30))):
        assert found.epsilon_ldp == pytest.approx(2.24749, abs=2e-5)


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 2.0, 8.0, 70.0, 300.0])
@pytest.mark.parametrize("k", [2, 7, 60])
def test_two_epsilon_of_clusant(epsilon, k):
    mechanism = CluSanT(epsilon, k=k)
    law = np.log(mechanism.prepare(SPACE).probabilities(np.arange(61)))
    found = mechanism.certificate(SPACE)
    loss = max(float((law[:, None] - law[None]).max()), 0)
    assert loss <= mechanism.guarantee(SPACE).epsilon_ldp <= 2 * epsilon + 1e-5
    assert found.epsilon_ldp == pytest.approx(loss, abs=2e-9)
    first, second = found.pair
    assert (law[first] - law[second]).max() == pytest.approx(loss, abs=2e-9)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_metric_of_clusant(epsilon):
    """Every pair: epsilon times (scaled distance of centroids + 1), and not epsilon·d."""
    mechanism, near = CluSanT(epsilon, k=7, dp="metric", scale=0.5), space_of(SPACE.vectors * 0.3)
    sampler, guarantee = mechanism.prepare(near), mechanism.guarantee(near)
    losses = pairwise_losses(sampler.probabilities(np.arange(61)))
    clusters = Clusters(near, mechanism.k)
    apart = np.linalg.norm(clusters.centroids[:, None] - clusters.centroids, axis=2)
    bound = 0.5 * apart[clusters.of[:60]][:, clusters.of[:60]] + 1 - np.eye(60)
    assert (losses[:60, :60] <= epsilon * bound + guarantee.slack).all()
    assert losses.max() <= guarantee.epsilon_ldp
    euclidean = np.linalg.norm(near.vectors[:, None] - near.vectors, axis=2)
    assert (losses[:60, :60] > 1.2 * epsilon * euclidean + 1e-6).any()  # the published claim


def test_out_of_vocabulary_is_uniform_over_clusters():
    mechanism = CluSanT(3.0, k=7)
    clusters = Clusters(SPACE, mechanism.k)
    law, sizes = mechanism.prepare(SPACE).probabilities(np.array([60]))[0], clusters.sizes
    assert law[clusters.order] == pytest.approx(np.repeat(1 / (9 * sizes), sizes))


def test_draws_of_a_vocabulary_too_large_to_hold(monkeypatch):
    """Its points are made when they are needed: the same words."""

    def drawn():
        sampler = CluSanT(2.0, k=7).prepare(MetricSpace(make_embeddings(n=60, d=4)))
        return sampler.sample(np.arange(61), streams(61)).tolist()

    held = drawn()
    monkeypatch.setattr("dpsan.space.arrays._HELD_BYTES", 0)
    monkeypatch.setattr("dpsan.mechanisms.tables.orders._BLOCK", 5)
    assert drawn() == held


def one_after_the_other(vectors, k):
    """The groups from the definition, each by squares in float32 of all words that are left."""
    left, out = np.arange(len(vectors)), []
    while len(left):
        apart = vectors[left] - vectors[left[0]]
        squares = np.einsum("nd,nd->n", apart, apart)
        squares[0] = -1
        out.append(left[np.argsort(squares, kind="stable")[:k]])
        left = np.setdiff1d(left, out[-1])
    return np.array([[*group, *[-1] * (k - len(group))] for group in out])


NORMAL = np.random.default_rng(3).normal(size=(300, 6))
VECTORS = {"random": NORMAL, "many equal distances": np.round(NORMAL)}
VECTORS |= {"eight points": np.sign(NORMAL[:, :3]), "one point": np.ones_like(NORMAL)}
VECTORS |= {"squares too small for float32": NORMAL * 1e-22, "far out": NORMAL + np.float32(300)}
VECTORS |= {"squares too large for float32": NORMAL * 1e19}


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("k", [2, 50, 300])
@pytest.mark.parametrize("kind", VECTORS)
def test_groups_are_those_of_one_after_the_other(monkeypatch, kind, k):
    """To the last tie, whatever was compared at once."""
    monkeypatch.setattr(module, "_ROWS", 37)
    vectors = VECTORS[kind].astype(np.float32)
    assert (groups(space_of(vectors), k) == one_after_the_other(vectors, k)).all()


@pytest.mark.parametrize("work", [2e3, 4e3, 5e3])
def test_too_many_words_for_groups(monkeypatch, work):
    """The number in the hint is one that is taken."""
    monkeypatch.setattr(module, "_WORK", work)
    with pytest.raises(UsageError, match=r"too many words .*vocab_size=\d+") as caught:
        groups(MetricSpace(make_embeddings(n=60, d=5)), 7)
    fewer = int(str(caught.value).rpartition("=")[2].rstrip(")"))
    groups(MetricSpace(make_embeddings(n=fewer, d=5)), 7)


def test_custext_by_hand(space):
    members = groups(space, 7)[0]
    word = int(members[3])
    law = CusText(3.0, k=7).prepare(space).probabilities(np.array([word]))[0]
    distances = np.linalg.norm(space.vectors[members] - space.vectors[word].astype(float), axis=1)
    weights = np.exp(-1.5 * distances / distances.max())  # the least distance is 0
    assert np.allclose(law[members], weights / weights.sum())
    assert law.sum() == pytest.approx(1)


def test_infinite_loss_of_custext(space):
    mechanism = CusText(3.0, k=7)
    guarantee, found = mechanism.guarantee(space), certify(mechanism, space)
    assert guarantee.epsilon_ldp == found.epsilon_ldp == math.inf
    law = mechanism.prepare(space).probabilities(np.arange(space.n + 1))
    exact = matrix_certificate(law, guarantee.claimed)
    assert guarantee.infinite_loss_mass == found.infinite_loss_mass == 1
    assert exact.infinite_loss_mass == pytest.approx(1)
    assert exact.delta == pytest.approx(found.delta)
    assert law[found.pair[0]] @ (law[found.pair[1]] > 0) == 0


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 12.0])
def test_within_a_group_epsilon_holds(space, epsilon):
    """One group of all words: the claim is true there, ⊥ included."""
    mechanism = CusText(epsilon, k=space.n)
    assert 0.3 * epsilon < certify(mechanism, space).epsilon_ldp <= epsilon
    assert epsilon <= mechanism.guarantee(space).epsilon_ldp <= epsilon + 1e-5  # of rounding


def test_bucket_exponential_by_hand():
    """0, 1, 2, 10 on a line, 3 buckets: 0 has {0, 1, 2}, {}, {10}; 2 has {0, 1, 2}, {}, {10}."""
    law = BucketExponential(2.0, buckets=3).prepare(line_space([0, 1, 2, 10]))
    found = law.probabilities(np.arange(5))
    near, far = 1 / (1 + math.exp(-1)), math.exp(-1) / (1 + math.exp(-1))
    wanted = [[near / 3] * 3 + [far], [far / 3] * 3 + [near], [0.25] * 4]
    assert found[[0, 3, 4]] == pytest.approx(np.array(wanted))
    # Proofs 2.13: n words at one distance have the loss epsilon/2 + ln(n - 1).
    golden = certify(BucketExponential(1.0), space_of(np.eye(20)))
    assert golden.epsilon_ldp == pytest.approx(0.5 + math.log(19), abs=3e-9)


@pytest.mark.parametrize("epsilon", [1e-9, 0.5, 2.0, 8.0, 60.0, 500.0])
@pytest.mark.parametrize("buckets", [2, 7, 64])
def test_bound_and_certificate(epsilon, buckets):
    mechanism = BucketExponential(epsilon, buckets=buckets)
    law = np.log(mechanism.prepare(SPACE).probabilities(np.arange(61)))
    loss = float((law[:, None] - law[None]).max())
    assert loss <= mechanism.guarantee(SPACE).epsilon_ldp
    assert mechanism.certificate(SPACE).epsilon_ldp == pytest.approx(loss, abs=2e-9)
    assert loss > epsilon or epsilon > 2  # the published claim


@pytest.mark.parametrize("places", [(3, 3, 3), (1,)])
def test_words_at_one_point_and_one_word(places):
    space, mechanism = line_space(places), BucketExponential(2.0)
    law = mechanism.prepare(space).probabilities(np.arange(space.n + 1))
    assert law == pytest.approx(1 / space.n)
    assert mechanism.guarantee(space).epsilon_ldp >= 0
    drawn = mechanism.prepare(space).sample(np.zeros(30, dtype=np.int64), streams(30))
    assert set(drawn.tolist()) == set(range(space.n))


def test_between_exponential_and_the_optimum():
    """At equal certified LDP epsilon it keeps more similar words than exponential does."""
    space = MetricSpace(make_embeddings(n=300, d=8))
    units = space.vectors / np.linalg.norm(space.vectors, axis=1, keepdims=True)
    cosines = units @ units.T
    means = {}
    for kind in (BucketExponential, Exponential):
        mechanism = calibrate(Draft(kind), space, Target.EPSILON_LDP, 8.0).mechanism
        assert certify(mechanism, space).epsilon_ldp <= 8.0
        law = mechanism.prepare(space).probabilities(np.arange(300))
        means[kind] = float((law * cosines).sum(axis=1).mean())
    assert means[BucketExponential] > 1.5 * means[Exponential]
    with pytest.raises(UsageError, match="out of reach"):  # sizes alone tell more
        calibrate(Draft(BucketExponential), space, Target.EPSILON_LDP, 3.0)
