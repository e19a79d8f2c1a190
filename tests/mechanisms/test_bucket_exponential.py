"""bucket-exponential: buckets of equal width, and what their sizes give away."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from support import fits, make_embeddings, streams

from dpsan.analysis.verify.verdict import Verdict, verify
from dpsan.embeddings.base import Embeddings
from dpsan.errors import UsageError
from dpsan.mechanisms.bucket_exponential import BucketExponential
from dpsan.mechanisms.exponential import Exponential
from dpsan.mechanisms.samplers.bucket_response import bucket_weights
from dpsan.outcomes.calibrate import Draft, epsilon_for_ldp
from dpsan.privacy.certificate import certify
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.metric_space import MetricSpace

SPACE = MetricSpace(make_embeddings(n=60, d=4))


def on_a_line(*places):
    points = np.array(places, dtype=np.float32)[:, None]
    return MetricSpace(Embeddings([f"w{at}" for at in places], points, "line", str(places)))


def test_law_by_hand():
    """0, 1, 2, 10 on a line, 3 buckets: 0 has {0, 1, 2}, {}, {10}; 2 has {0, 1, 2}, {}, {10}."""
    law = BucketExponential(2.0, buckets=3).prepare(on_a_line(0, 1, 2, 10))
    found = law.probabilities(np.arange(5))
    near, far = 1 / (1 + math.exp(-1)), math.exp(-1) / (1 + math.exp(-1))
    assert found[0] == pytest.approx([near / 3, near / 3, near / 3, far])
    assert found[3] == pytest.approx([far / 3, far / 3, far / 3, near])
    assert found[4] == pytest.approx([0.25] * 4)


def test_golden_number_of_the_proof():
    """Proofs 2.13: n words at one distance have the loss epsilon/2 + ln(n - 1)."""
    corners = Embeddings([str(at) for at in range(20)], np.eye(20, dtype=np.float32), "", "corners")
    found = certify(BucketExponential(1.0), MetricSpace(corners))
    assert found.epsilon_ldp == pytest.approx(0.5 + math.log(19), abs=3e-9)


@pytest.mark.parametrize("epsilon", [1e-9, 0.5, 2.0, 8.0, 60.0, 500.0])
@pytest.mark.parametrize("buckets", [2, 7, 64])
def test_bound_and_certificate(epsilon, buckets):
    mechanism = BucketExponential(epsilon, buckets=buckets)
    law = mechanism.prepare(SPACE).log_pmf(np.arange(61))
    loss = float((law[:, None] - law[None]).max())
    assert loss <= mechanism.guarantee(SPACE).epsilon_ldp
    assert mechanism.certificate(SPACE).epsilon_ldp == pytest.approx(loss, abs=2e-9)
    assert loss > epsilon or epsilon > 2  # the published claim


def test_words_at_one_point_and_one_word():
    for space in (on_a_line(3, 3, 3), on_a_line(1)):
        mechanism = BucketExponential(2.0)
        law = mechanism.prepare(space).probabilities(np.arange(space.n + 1))
        assert law == pytest.approx(1 / space.n)
        assert mechanism.guarantee(space).epsilon_ldp >= 0
        drawn = mechanism.prepare(space).sample(np.zeros(30, dtype=np.int64), streams(30))
        assert set(drawn.tolist()) == set(range(space.n))


def test_weights():
    weights = [int(each) for each in bucket_weights(2.0, 5)]
    assert weights[0] == 1 << 56
    assert weights == pytest.approx([2.0**56 * math.exp(-b / 4) for b in range(5)])
    with localcontext() as context:
        context.prec = 50
        exact = [Decimal(-b / 4).exp() * 2**56 for b in range(5)]
    assert [0 <= each - true < 1 for each, true in zip(weights, exact, strict=True)] == [True] * 5
    assert int(bucket_weights(1e4, 64)[-1]) == 1
    assert sum(int(each) for each in bucket_weights(1e-9, 64)) <= 1 << 62


def test_repeated_words_draw_independently():
    """Words of one batch that are the same word: their draws fit the distribution together."""
    sampler = BucketExponential(3.0, buckets=6).prepare(SPACE)
    ids = np.tile([5, 9, 60, 5], 5000)
    drawn = sampler.sample(ids, streams(20_000))
    law = sampler.probabilities(np.array([5, 9, 60]))
    for word, row in zip((5, 9, 60), law, strict=True):
        assert fits(np.bincount(drawn[ids == word], minlength=60), row)
        if word < 60:
            assert not fits(np.bincount(drawn[ids == word], minlength=60), np.roll(row, 1))


def test_between_exponential_and_the_optimum():
    """At equal certified LDP epsilon it keeps more similar words than exponential does."""
    space = MetricSpace(make_embeddings(n=300, d=8))
    units = space.vectors / np.linalg.norm(space.vectors, axis=1, keepdims=True)
    cosines = units @ units.T
    means = {}
    for kind in (BucketExponential, Exponential):
        mechanism = kind(epsilon_for_ldp(Draft(kind), space, 8.0))
        assert certify(mechanism, space).epsilon_ldp <= 8.0
        law = mechanism.prepare(space).probabilities(np.arange(300))
        means[kind] = float((law * cosines).sum(axis=1).mean())
    assert means[BucketExponential] > 1.5 * means[Exponential]
    with pytest.raises(UsageError, match="out of reach"):  # sizes alone tell more
        epsilon_for_ldp(Draft(BucketExponential), space, 3.0)


def test_verify():
    embeddings = make_embeddings(n=60, d=4)
    found = verify(Sanitizer("bucket-exponential", epsilon=1.0, embeddings=embeddings), draws=5000)
    assert found.verdict is Verdict.KEPT
    assert 2.5 < found.certified < found.claimed.epsilon


def test_buckets_have_a_domain():
    for wrong in (1, 65):
        with pytest.raises(UsageError, match="buckets must be"):
            BucketExponential(1.0, buckets=wrong)
