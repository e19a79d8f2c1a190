"""santext-plus: who is kept, and what that costs."""

import math

import numpy as np
import pytest
from support import streams

from dpsan.mechanisms.exponential import Exponential
from dpsan.mechanisms.santext_plus import SanTextPlus
from dpsan.privacy.certificate import certify


def test_law_by_hand(space):
    mechanism = SanTextPlus(2.0, sensitive=0.5, p=0.25)
    first = mechanism.first(space.n)
    assert first == space.n // 2
    law = mechanism.prepare(space).probabilities(np.array([3, 40, space.n]))
    weights = np.exp(-space.distances(np.array([3, 40]))[:, first:])
    share = weights / weights.sum(axis=1, keepdims=True)
    assert law[0, 3] == pytest.approx(0.75)
    assert np.allclose(law[0, first:], 0.25 * share[0], rtol=1e-5)
    assert law[0, :first].sum() == pytest.approx(0.75)
    assert np.allclose(law[1, first:], share[1], rtol=1e-5)
    assert (law[1, :first] == 0).all()
    assert np.allclose(law[2], 1 / space.n)


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize(("sensitive", "p"), [(0.9, 0.3), (0.5, 0.2), (0.2, 0.9), (0.3, 1.0)])
def test_infinite_loss_mass_is_exact(space, monkeypatch, sensitive, p, closed):
    if closed:
        monkeypatch.setattr("dpsan.mechanisms.santext_plus.MATRIX_WORDS", 0)
    mechanism = SanTextPlus(2.0, sensitive=sensitive, p=p)
    guarantee = mechanism.guarantee(space)
    found = certify(mechanism, space)
    assert math.isinf(guarantee.epsilon_ldp)
    assert math.isinf(found.epsilon_ldp)
    law = mechanism.prepare(space).probabilities(np.arange(space.n + 1))
    i, j = found.pair
    assert law[i, law[j] == 0].sum() == pytest.approx(found.infinite_loss_mass, abs=1e-12)
    assert guarantee.infinite_loss_mass == pytest.approx(found.infinite_loss_mass, abs=1e-12)


def test_all_sensitive_is_the_exponential_mechanism(space):
    ids = np.arange(space.n + 1)
    law = SanTextPlus(2.0, sensitive=1.0).prepare(space).probabilities(ids)
    assert np.allclose(law, Exponential(2.0).prepare(space).probabilities(ids), rtol=1e-12)


def test_far_words_keep_their_differences(space):
    """Scores count from the nearest sensitive word: the cap does not flatten a row."""
    law = SanTextPlus(200.0, sensitive=0.5, p=1.0).prepare(space).probabilities(np.array([3]))[0]
    nearest = 30 + np.argmin(space.distances(np.array([3]))[0, 30:])
    assert np.argmax(law) == nearest
    assert law.max() > 0.5


def test_share_kept(space):
    sampler = SanTextPlus(2.0, sensitive=0.5, p=0.25).prepare(space)
    drawn = sampler.sample(np.full(20_000, 3), streams(20_000))
    assert abs((drawn == 3).mean() - 0.75) < 6 * math.sqrt(0.75 * 0.25 / 20_000)
    assert (drawn[drawn != 3] >= 30).all()
