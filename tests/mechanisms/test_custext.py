"""custext: disjoint groups."""

import math

import numpy as np
import pytest

from dpsan.mechanisms.custext import CusText
from dpsan.mechanisms.sampling.groups import groups
from dpsan.privacy.certificate import certify, matrix_certificate


@pytest.mark.parametrize("k", [2, 7, 20, 60])
def test_groups_by_definition(space, k):
    found = groups(space, k)
    members = found[found >= 0]
    assert sorted(members.tolist()) == list(range(space.n))
    free = set(range(space.n))
    for row in found.tolist():
        first = min(free)
        apart = np.linalg.norm(space.vectors - space.vectors[first].astype(float), axis=1)
        nearest = sorted(free, key=lambda u: (apart[u], u))[:k]
        assert [u for u in row if u >= 0] == nearest
        free -= set(nearest)


def test_law_by_hand(space):
    members = groups(space, 7)[0]
    word = int(members[3])
    law = CusText(3.0, k=7).prepare(space).probabilities(np.array([word]))[0]
    distances = np.linalg.norm(space.vectors[members] - space.vectors[word].astype(float), axis=1)
    weights = np.exp(-1.5 * distances / distances.max())  # the least distance is 0
    assert np.allclose(law[members], weights / weights.sum())
    assert law.sum() == pytest.approx(1)


def test_infinite_loss(space):
    mechanism = CusText(3.0, k=7)
    guarantee = mechanism.guarantee(space)
    found = certify(mechanism, space)
    assert math.isinf(guarantee.epsilon_ldp)
    assert math.isinf(found.epsilon_ldp)
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
    found = certify(mechanism, space)
    assert 0.3 * epsilon < found.epsilon_ldp <= epsilon
    assert mechanism.guarantee(space).epsilon_ldp == epsilon
