"""tgumbel-paper: its exact law, its false claim, and what goes wrong with sloppy constants."""

import math

import numpy as np
import pytest
from support import fits, make_embeddings, streams

from dpsan.embeddings.base import Embeddings
from dpsan.errors import UsageError
from dpsan.mechanisms.tgumbel_paper import (
    TGumbelPaper,
    TruncatedGumbelSampler,
    least_epsilon,
    scale,
)
from dpsan.privacy.certificate import infinite_loss, matrix_certificate
from dpsan.privacy.guarantee import Claim
from dpsan.space.metric_space import MetricSpace


def simplex(n):
    """n-1 words at distance sqrt 2 from each other, and an outlier at twice that from all."""
    vectors = np.zeros((n, n), dtype=np.float32)
    vectors[np.arange(n - 1), np.arange(n - 1)] = 1
    vectors[n - 1, n - 1] = math.sqrt(7)
    return MetricSpace(Embeddings([str(i) for i in range(n)], vectors, "", f"simplex-{n}"))


def line(*places):
    vectors = np.array(places, dtype=np.float32)[:, None]
    return MetricSpace(Embeddings([str(i) for i in range(len(vectors))], vectors, "", "line"))


@pytest.fixture(scope="module")
def sampler(space):
    return TGumbelPaper(300.0).prepare(space)


@pytest.mark.parametrize(("n", "factor"), [(60, 0.96), (100, 1.33), (200, 2.16)])
def test_golden_true_over_claimed(n, factor):
    """docs/proofs.md 3.3, 1 % above the domain's edge."""
    space = simplex(n)
    mechanism = TGumbelPaper(1.01 * least_epsilon(n, math.sqrt(2)))
    found = mechanism.certificate(space)
    assert found.epsilon_metric / mechanism.epsilon == pytest.approx(factor, abs=6e-3)
    assert (found.delta > 0.5) == (factor > 1)
    guarantee = mechanism.guarantee(space)
    assert guarantee.epsilon_metric == found.epsilon_metric
    assert guarantee.epsilon_ldp == found.epsilon_ldp
    assert guarantee.claimed == Claim(mechanism.epsilon, metric="euclidean")
    law = mechanism.prepare(space).probabilities(np.arange(n))
    assert np.abs(law.sum(axis=1) - 1).max() < 1e-12


@pytest.mark.parametrize("factor", [1.001, 1.3, 10.0])
@pytest.mark.parametrize("n", [2, 5, 60, 250])
def test_law_sums_to_one(n, factor):
    space = MetricSpace(make_embeddings(n=n, d=5))
    smallest = space.nearest_distances()[0]
    mechanism = TGumbelPaper(factor * least_epsilon(n, smallest))
    law = mechanism.prepare(space).probabilities(np.arange(0, n, max(1, n // 10)))
    assert np.abs(law.sum(axis=1) - 1).max() < 1e-12
    assert (law > 0).all()


def test_two_words_by_hand():
    """n = 2, in closed form by a plain double sum over a fine grid."""
    space = line(0.0, 1.0)
    mechanism = TGumbelPaper(1.5 * least_epsilon(2, 1.0))
    b, delta = mechanism.constants(space)
    law = mechanism.prepare(space).probabilities(np.array([0]))[0]
    quantiles = (np.arange(4000) + 0.5) / 4000
    low, high = (math.exp(-math.exp(-x / b)) for x in (-delta, delta))
    noise = -b * np.log(-np.log(low + quantiles * (high - low)))
    other = np.mean(1.0 + noise[:, None] < noise[None, :])
    one = math.log(2) * math.exp(-math.log(2))  # Poisson(ln 2) = 1: the word alone
    assert law[1] == pytest.approx((1 - one) * other, abs=1e-3)


def test_samples(space, sampler):
    for word in (0, 7):
        law = sampler.probabilities(np.array([word]))[0]
        drawn = sampler.sample(np.full(40_000, word), streams(40_000))
        observed = np.bincount(drawn, minlength=space.n)
        assert fits(observed, law)
        wrong = law * np.where(np.arange(space.n) % 2, 1.3, 0.7)
        assert not fits(observed, wrong / wrong.sum())


def test_many_candidates_have_a_stream_of_their_own(space, sampler, monkeypatch):
    """A vocabulary so large that k = n is drawn apart from the usual few candidates."""
    assert sampler.few < space.n
    law = sampler.probabilities(np.array([3]))[0]
    drawn = sampler.sample(np.full(80_000, 3), streams(80_000))
    far = np.argsort(space.distances(np.array([3]))[0])[sampler.few :]
    expected = law[far].sum() * 80_000
    assert expected > 100
    assert abs(np.isin(drawn, far).sum() - expected) < 6.5 * math.sqrt(expected)


def test_domain_golden():
    """docs/proofs.md 3.3: 120.3 and not the stated 106.7 for the paper's IMDB values.

    Both bounds together give Delta_0 = 3/(120.3 - 106.7) = .2206 and n.
    """
    smallest = 3 / (120.3 - 106.7)
    n = math.exp(106.7 * smallest / 2 - 1)
    assert 2 * (1 + math.log(n)) / smallest == pytest.approx(106.7)
    assert least_epsilon(n, smallest) == pytest.approx(120.3)
    # Between the two the scale is negative; just above the real one it is large.
    assert scale(118.0, n, smallest, 3.0) < 0
    assert scale(120.4, n, smallest, 3.0) > 100


def test_outside_the_domain(space):
    least = least_epsilon(space.n, space.nearest_distances()[0])
    with pytest.raises(UsageError, match=rf"epsilon > .* = {least:.6g} here"):
        TGumbelPaper(0.999 * least).guarantee(space)
    with pytest.raises(UsageError, match="Delta_0"):
        TGumbelPaper(1.0).prepare(space)
    TGumbelPaper(1.001 * least).prepare(space)
    with pytest.raises(UsageError, match="Delta_0 = 0"):
        TGumbelPaper(1e9).prepare(line(0.0, 1.0, 1.0))


def test_larger_vocabularies_are_not_audited():
    space = MetricSpace(make_embeddings(n=301, d=5))
    epsilon = 1.1 * least_epsilon(301, space.nearest_distances()[0])
    guarantee = TGumbelPaper(epsilon).guarantee(space)
    assert math.isinf(guarantee.epsilon_ldp)
    assert guarantee.epsilon_metric is None
    assert "audited" in guarantee.why


def test_no_law_above_2000_words():
    space = MetricSpace(make_embeddings(n=2001, d=3))
    sampler = TruncatedGumbelSampler(space, 1.0, space.diameter)
    assert sampler.probabilities(np.array([0])) is None
    assert sampler.sample(np.arange(2002), streams(2002)).max() < 2001


def test_planted_poisson_zero_keeps_the_word(space, sampler):
    """Planted: a draw of 0 returns the raw word instead of taking all n candidates."""
    planted = TruncatedGumbelSampler(space, sampler.b, sampler.delta)
    planted.sizes[0] += planted.sizes[-1]
    planted.sizes[-1] = 0.0
    ids = np.arange(space.n)
    wrong, right = planted.probabilities(ids), sampler.probabilities(ids)
    drawn = sampler.sample(np.full(80_000, 3), streams(80_000))
    observed = np.bincount(drawn, minlength=space.n)
    assert fits(observed, right[3])
    assert not fits(observed, wrong[3])
    mass, _ = infinite_loss(wrong)  # the farthest words are never candidates
    assert mass > 0 == infinite_loss(right)[0]
    assert math.isinf(matrix_certificate(wrong).epsilon_ldp)


def test_planted_delta_from_one_random_word():
    """Planted: Delta = largest distance from one word, here half the diameter."""
    space = line(0.0, 1.0, 2.0, 3.0, 4.0)
    smallest, sampled = 1.0, 2.0
    epsilon = 1.2 * least_epsilon(5, smallest)
    right = TGumbelPaper(epsilon).prepare(space)
    planted = TruncatedGumbelSampler(space, scale(epsilon, 5, smallest, sampled), sampled)
    assert right.delta == pytest.approx(4.0)
    ids = np.arange(5)
    assert infinite_loss(right.probabilities(ids))[0] == 0
    assert infinite_loss(planted.probabilities(ids))[0] > 0


def test_planted_squared_distances(space, sampler):
    """Planted: distances squared before the noise is added."""

    class Squared(TruncatedGumbelSampler):
        def _distances(self, word):
            return super()._distances(word) ** 2

    planted = Squared(space, sampler.b, sampler.delta)
    drawn = sampler.sample(np.full(40_000, 3), streams(40_000))
    law = planted.probabilities(np.array([3]))[0]
    assert not fits(np.bincount(drawn, minlength=space.n), law / law.sum())
