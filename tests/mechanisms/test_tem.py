"""tem: a cut metric has two guarantees at once."""

import math

import numpy as np
import pytest

from dpsan.errors import UsageError
from dpsan.mechanisms.tem import TEM


def test_golden_ldp():
    """Golden number: 32.2 at n = 10^4 and beta .001, whatever epsilon is."""
    assert 2 * TEM(1.0).cut(10_000) == pytest.approx(32.2, abs=0.05)
    assert 5.0 * TEM(5.0).gamma(10_000) == pytest.approx(32.2, abs=0.05)


def test_published_form_is_the_same_law(space):
    """Words within gamma, and one element that means a uniform word beyond gamma."""
    mechanism = TEM(6.0)
    gamma = mechanism.gamma(space.n)
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


def test_mass_beyond_gamma_is_at_most_beta(space):
    mechanism = TEM(6.0, beta=0.1)
    law = mechanism.prepare(space).probabilities(np.arange(space.n))
    beyond = space.distances(np.arange(space.n)) > mechanism.gamma(space.n)
    assert np.where(beyond, law, 0).sum(axis=1).max() <= 0.1


def test_ldp_does_not_grow_with_epsilon(space):
    small, large = (TEM(epsilon).guarantee(space).epsilon_ldp for epsilon in (20.0, 2000.0))
    assert small == pytest.approx(large, rel=1e-2)
    assert small == pytest.approx(2 * TEM(20.0).cut(space.n), rel=1e-3)


def test_golden_unchanged_on_glove(glove):
    """Golden number: 99.8 % unchanged at epsilon 5."""
    _, space = glove
    ids = np.arange(0, space.n, 20)
    law = TEM(5.0).prepare(space).probabilities(ids)
    assert law[np.arange(len(ids)), ids].mean() == pytest.approx(0.998, abs=1.5e-3)


@pytest.mark.parametrize("beta", ["0", "0.6", "-1"])
def test_domain(beta):
    with pytest.raises(UsageError, match="beta must be"):
        TEM.build(1.0, {"beta": beta})
