"""Tables by a formula: exponential, tem, santext-plus, krr, zipf-response, uniform."""

import math

import numpy as np
import pytest
from line_laws import line_space

from dpsan.mechanisms.base import certify
from dpsan.mechanisms.exponential import Exponential
from dpsan.mechanisms.krr import KRR
from dpsan.mechanisms.santext_plus import SanTextPlus
from dpsan.mechanisms.tem import TEM
from dpsan.mechanisms.uniform import Uniform
from dpsan.mechanisms.zipf_response import ZipfResponse


def test_exponential_on_three_words_of_a_line():
    """Distances 1 and 3: weights 1, e^-1 and e^-3 at epsilon 2; ⊥ gives a uniform word."""
    space = line_space([0.0, 1.0, 3.0])
    law = Exponential(2.0).prepare(space).probabilities(np.arange(4))
    weights = np.exp(-np.array([[0, 1, 3], [1, 0, 2], [3, 2, 0]], dtype=float))
    assert np.allclose(law[:3], weights / weights.sum(axis=1, keepdims=True), rtol=1e-5)
    assert law[3] == pytest.approx([1 / 3] * 3)


def test_golden_ldp_of_tem():
    """At n = 10^4 and beta .001, whatever epsilon is."""
    found = 2 * TEM(1.0).cut(10_000), 2 * TEM(5.0).cut(10_000)
    assert found == pytest.approx((32.2, 32.2), abs=0.05)


def test_published_form_of_tem_is_the_same_law(space):
    """Words within gamma, and one element that means a uniform word beyond gamma."""
    mechanism = TEM(6.0)
    gamma = 2 * mechanism.cut(space.n) / mechanism.epsilon
    law = mechanism.prepare(space).probabilities(np.arange(space.n))
    for w in range(0, space.n, 7):
        distances = np.linalg.norm(space.vectors - space.vectors[w].astype(float), axis=1)
        within = distances <= gamma
        beyond = (~within).sum()
        assert 0 < beyond < space.n - 1
        weights = np.where(within, np.exp(-3.0 * distances), 0)
        rest = math.exp(3.0 * (-gamma + 2 / 6.0 * math.log(beyond)))
        published = np.where(within, weights, rest / beyond) / (weights.sum() + rest)
        assert np.allclose(law[w], published, rtol=1e-5)


def test_santext_by_hand(space):
    mechanism = SanTextPlus(2.0, sensitive=0.5, p=0.25)
    first = mechanism.first(space.n)
    assert first == space.n // 2
    law = mechanism.prepare(space).probabilities(np.array([3, 40, space.n]))
    weights = np.exp(-space.distances(np.array([3, 40]))[:, first:])
    share = weights / weights.sum(axis=1, keepdims=True)
    assert law[0, 3] == law[0, :first].sum() == pytest.approx(0.75)
    assert np.allclose(law[:2, first:], [0.25 * share[0], share[1]], rtol=1e-5)
    assert (law[1, :first] == 0).all()
    assert np.allclose(law[2], 1 / space.n)


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize(("sensitive", "p"), [(0.9, 0.3), (0.5, 0.2), (0.2, 0.9), (0.3, 1.0)])
def test_infinite_loss_mass_is_exact(space, monkeypatch, sensitive, p, closed):
    if closed:
        monkeypatch.setattr("dpsan.mechanisms.santext_plus.MATRIX_WORDS", 0)
    mechanism = SanTextPlus(2.0, sensitive=sensitive, p=p)
    guarantee, found = mechanism.guarantee(space), certify(mechanism, space)
    assert guarantee.epsilon_ldp == found.epsilon_ldp == math.inf
    law, (i, j) = mechanism.prepare(space).probabilities(np.arange(space.n + 1)), found.pair
    masses = law[i, law[j] == 0].sum(), guarantee.infinite_loss_mass
    assert masses == pytest.approx((found.infinite_loss_mass,) * 2, abs=1e-12)


def test_all_sensitive_is_the_exponential_mechanism(space):
    ids = np.arange(space.n + 1)
    law = SanTextPlus(2.0, sensitive=1.0).prepare(space).probabilities(ids)
    assert np.allclose(law, Exponential(2.0).prepare(space).probabilities(ids), rtol=1e-12)


def test_far_words_keep_their_differences(space):
    """Scores count from the nearest sensitive word: the cap does not flatten a row."""
    law = SanTextPlus(200.0, sensitive=0.5, p=1.0).prepare(space).probabilities(np.array([3]))[0]
    assert np.argmax(law) == 30 + np.argmin(space.distances(np.array([3]))[0, 30:])
    assert law.max() > 0.5


def test_krr_by_hand(space, monkeypatch):
    """And no table is built."""
    monkeypatch.setattr(type(space), "table", lambda *_: pytest.fail("table"))
    law = KRR(3.0).prepare(space).probabilities(np.array([4, space.n]))
    own, other = np.array([math.exp(3), 1]) / (math.exp(3) + space.n - 1)
    assert law[0, [4, 5]] == pytest.approx([own, other], rel=1e-9)
    assert np.allclose(law[1], 1 / space.n)


def test_zipf_by_hand(space):
    law = ZipfResponse(4.0).prepare(space).probabilities(np.array([7]))[0]
    order = np.argsort(np.linalg.norm(space.vectors - space.vectors[7].astype(float), axis=1))
    expected = (1.0 + np.arange(space.n)) ** (-4.0 / math.log(space.n))
    assert np.allclose(law[order], expected / expected.sum(), rtol=1e-9)


@pytest.mark.parametrize("epsilon", [0, 0.0, 1, 700.0])
def test_uniform_has_true_epsilon_zero(space, epsilon):
    mechanism = Uniform(epsilon)
    guarantee, certificate = mechanism.guarantee(space), mechanism.certificate(space)
    assert guarantee.epsilon_ldp == guarantee.epsilon(np.inf) == certificate.epsilon_ldp == 0
    law = mechanism.prepare(space).probabilities(np.arange(space.n + 1))
    assert law == pytest.approx(1 / space.n)
