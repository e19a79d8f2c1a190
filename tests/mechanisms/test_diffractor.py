"""diffractor: exact integers, orders, limits; diffractor-paper: what copying words costs."""

import itertools
import math

import numpy as np
import pytest
from planted import line_space
from support import make_embeddings, streams

from dpsan.analysis.verify.verdict import Verdict, _allowed, claim_of, verify
from dpsan.errors import UsageError
from dpsan.mechanisms.diffractor import Diffractor, DiffractorPaper
from dpsan.mechanisms.mechanism import certify
from dpsan.mechanisms.tables import orders
from dpsan.mechanisms.tables.orders import RankNoise, word_order
from dpsan.privacy.certificate import matrix_certificate
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.metric_space import MetricSpace

LINE = MetricSpace(line_space())
SPACE = MetricSpace(make_embeddings(n=40, d=4))


@pytest.mark.parametrize("epsilon", [1e-12, 1e-9, 1e-3, 0.1, 0.5, 1.0, 3.0, 20.0, 50.0, 800.0])
@pytest.mark.parametrize("n", [2, 3, 12, 3000])
def test_the_integers_keep_the_ratios(epsilon, n):
    """Proofs 2.11, in whole numbers: no weight and no tail exceeds e^epsilon times the next."""
    noise = RankNoise(epsilon, n)
    growth = 1 + epsilon if epsilon < 1e-6 else math.exp(min(epsilon, 700))
    for each in (noise.weights, noise.tails):
        for first, second in itertools.pairwise(map(int, each)):
            assert second <= first <= second * growth * (1 + 1e-12)
    assert 0 < noise.total == 2 * int(noise.tails[0]) - int(noise.cumulative[0]) < 2**63
    assert int(noise.tails[0]) == int(noise.cumulative[-1])
    whole, step = noise.losses
    assert step <= epsilon * (1 + 1e-12)
    assert whole <= (n - 1) * epsilon * (1 + 1e-12)
    with pytest.raises(UsageError, match="must be >= 1e-12"):  # integers cannot tell it from 0
        RankNoise(1e-13, 5)


def test_golden_numbers():
    """Places 0 ... 4, epsilon = ln 2: thirds and their halves, the ends with the tails."""
    noise = RankNoise(math.log(2), 5)
    law = noise.rows(np.arange(5)) * (48 / noise.total)
    wanted = np.array([[32, 8, 4, 2, 2], [16, 16, 8, 4, 4], [8, 8, 16, 8, 8]])
    assert law == pytest.approx(np.concatenate([wanted, wanted[1::-1, ::-1]]), rel=1e-12)


def test_certificate_is_the_matrix():
    mechanism = Diffractor(0.4)
    sampler, guarantee = mechanism.table(SPACE), mechanism.guarantee(SPACE)
    law = sampler.probabilities(np.arange(SPACE.n + 1))
    apart = np.abs(sampler.indices[:, None] - sampler.indices).astype(float)
    found = matrix_certificate(law, guarantee.claimed, apart)
    own = mechanism.certificate(SPACE)
    assert own.epsilon_ldp == pytest.approx(found.epsilon_ldp, abs=1e-9)
    assert 0.4 >= own.epsilon_metric == pytest.approx(found.epsilon_metric, rel=1e-9)
    assert (found.epsilon_metric, guarantee.epsilon_ldp) == pytest.approx((0.4, 0.4 * 39))


def test_order():
    assert word_order(LINE).tolist() == list(range(12))
    assert sorted(word_order(SPACE).tolist()) == list(range(40))
    # By hand: each word is the nearest of those that have no place yet.
    order, vectors = word_order(SPACE), SPACE.vectors
    for place, word in enumerate(order[:-1], 1):
        apart = np.linalg.norm(vectors[order[place:]] - vectors[word], axis=1)
        assert np.argmin(apart) == 0


def test_greedy_looks_at_all_words_that_are_left(monkeypatch):
    """More words than the listed neighbours, and often cleared: the same order."""

    def order():
        return word_order(MetricSpace(make_embeddings(n=300, d=3))).tolist()

    wanted = order()
    monkeypatch.setattr(orders, "_NEAR", 300)
    assert order() == wanted
    monkeypatch.setattr(orders, "_NEAR", 2)
    monkeypatch.setattr(orders, "_COMPACT", 5)
    assert order() == wanted
    monkeypatch.setattr(MetricSpace, "eager", lambda self, outputs: False)
    with pytest.raises(UsageError, match="the order needs the neighbours"):
        Diffractor(1.0).prepare(MetricSpace(make_embeddings(n=30)))


def test_one_word():
    one = MetricSpace(make_embeddings(n=1))
    for kind in (Diffractor, DiffractorPaper):
        sampler = kind(1.0).prepare(one)
        assert sampler.sample(np.array([0, 1]), streams(2)).tolist() == [0, 0]
        assert sampler.probabilities(np.array([0, 1])).tolist() == [[1.0], [1.0]]
        assert kind(1.0).guarantee(one).epsilon_ldp == 0


def test_paper_copies():
    mechanism = DiffractorPaper(1.0, kept=0.1)
    sampler = mechanism.prepare(SPACE)
    law = sampler.probabilities(np.arange(41))
    assert law[:4, :4].tolist() == np.eye(4).tolist()
    drawn = sampler.sample(np.arange(5).repeat(2), streams(10))
    assert drawn[:8].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert mechanism.guarantee(SPACE).infinite_loss_mass == 1
    assert np.isinf(certify(mechanism, SPACE).epsilon_ldp)
    # Words that are drawn have the distribution of diffractor.
    others = Diffractor(1.0).prepare(SPACE).probabilities(np.arange(4, 41))
    assert law[4:] == pytest.approx(others, abs=0)
    mechanism = DiffractorPaper(0.05)  # copies one word
    law = mechanism.prepare(SPACE).probabilities(np.arange(41))
    found = matrix_certificate(law)
    assert mechanism.guarantee(SPACE).infinite_loss_mass == pytest.approx(found.infinite_loss_mass)
    assert mechanism.certificate(SPACE).pair == found.pair


def test_verify_finds_the_copies():
    common = {"epsilon": 0.5, "embeddings": line_space(), "allow_unproved": True}
    paper = Sanitizer("diffractor-paper", parameters={"kept": 0.3}, **common)
    found = verify(paper, words=12, draws=2000)
    assert (found.verdict, found.empirical.violated) == (Verdict.VIOLATED, True)
    # Between words that are drawn nothing is refuted: the claim is per place, not for a pair.
    paper = Sanitizer("diffractor-paper", **common)
    allowed = _allowed(paper, claim_of(paper.guarantee), np.array([3, 8, 12]))
    assert (allowed(0, 1), allowed(0, 2)) == (2.5, 0.5 * abs(3 - 5))
