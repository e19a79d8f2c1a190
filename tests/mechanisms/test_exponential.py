"""``exponential``: its distribution by hand, what it is not, and what is guaranteed."""

import numpy as np
import pytest
from line_laws import line_space, losses
from support import fits, streams

from dpsan.mechanisms.exponential import Exponential


def test_exponential_law_by_hand(space):
    sampler = Exponential(1.5).prepare(space)
    distances = np.linalg.norm(space.vectors - space.vectors[4].astype(float), axis=1)
    law = np.exp(-0.75 * distances)
    assert np.allclose(sampler.probabilities(np.array([4]))[0], law / law.sum(), rtol=1e-5)


@pytest.mark.parametrize("factor", [2.0, 0.5])
def test_exponential_without_the_half_is_another_law(space, factor):
    sampler = Exponential(1.5).prepare(space)
    drawn = sampler.sample(np.full(30_000, 4), streams(30_000))
    observed = np.bincount(drawn, minlength=space.n)
    assert fits(observed, sampler.probabilities(np.array([4]))[0])
    wrong = Exponential(1.5 * factor).prepare(space).probabilities(np.array([4]))[0]
    assert not fits(observed, wrong)


def test_squared_distances_are_another_law(space):
    sampler = Exponential(1.5).prepare(space)
    drawn = sampler.sample(np.full(30_000, 4), streams(30_000))
    squared = np.exp(-0.75 * space.distances(np.array([4]))[0] ** 2)
    assert not fits(np.bincount(drawn, minlength=space.n), squared / squared.sum())


def test_three_words_on_a_line():
    """Distances 1 and 3: weights 1, e^-1 and e^-3 at epsilon 2; ⊥ gives a uniform word."""
    space = line_space([0.0, 1.0, 3.0])
    law = Exponential(2.0).prepare(space).probabilities(np.arange(4))
    weights = np.exp(-np.array([[0, 1, 3], [1, 0, 2], [3, 2, 0]], dtype=float))
    assert np.allclose(law[:3], weights / weights.sum(axis=1, keepdims=True), rtol=1e-5)
    assert law[3] == pytest.approx([1 / 3] * 3)


def test_the_guarantee_holds_for_the_exact_distribution():
    space = line_space([0.0, 1.0, 3.0, -0.5])
    mechanism = Exponential(2.0)
    law = mechanism.prepare(space).probabilities(np.arange(space.n + 1))
    guarantee, certificate = mechanism.guarantee(space), mechanism.certificate(space)
    assert guarantee.epsilon_metric == 2.0
    words = losses(law[: space.n])
    assert (words <= 2.0 * space.distances(np.arange(space.n)) + guarantee.slack).all()
    assert losses(law).max() <= certificate.epsilon_ldp <= guarantee.epsilon_ldp
    assert losses(law).max() >= certificate.epsilon_ldp - certificate.slack - 1e-9
    assert guarantee.epsilon_ldp == pytest.approx(2 * space.diameter, rel=1e-4)
