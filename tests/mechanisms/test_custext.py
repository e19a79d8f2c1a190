"""custext: disjoint groups."""

import math

import numpy as np
import pytest
from support import make_embeddings

from dpsan.embeddings.base import Embeddings
from dpsan.errors import UsageError
from dpsan.mechanisms.custext import CusText
from dpsan.mechanisms.tables import groups as module
from dpsan.mechanisms.tables.groups import groups
from dpsan.privacy.certificate import certify, matrix_certificate
from dpsan.space.metric_space import MetricSpace


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


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("k", [2, 9, 50, 700])
@pytest.mark.parametrize("firsts", [1, 5, 128])
@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda normal: normal, id="random"),
        pytest.param(np.round, id="many equal distances"),
        pytest.param(lambda normal: np.sign(normal[:, :3]), id="eight points"),
        pytest.param(np.ones_like, id="one point"),
        pytest.param(lambda normal: normal * 1e-22, id="squares too small for float32"),
        pytest.param(lambda normal: normal * 1e19, id="squares too large for float32"),
        pytest.param(lambda normal: normal + np.float32(300), id="far out"),
    ],
)
def test_groups_by_searches_are_those_of_one_after_the_other(monkeypatch, make, firsts, k):
    """To the last tie, whatever was searched at once."""
    monkeypatch.setattr(module, "_FIRSTS", firsts)
    normal = np.random.default_rng(3).normal(size=(700, 6))
    vectors = make(normal).astype(np.float32)
    words = [str(row) for row in range(700)]
    found = groups(MetricSpace(Embeddings(words, vectors, "", "made-up")), k)
    assert (found == one_after_the_other(vectors, k)).all()


@pytest.mark.parametrize("work", [2e3, 4e3, 5e3])
def test_too_many_words_for_groups(monkeypatch, work):
    """The number in the hint is one that is taken."""
    monkeypatch.setattr(module, "_WORK", work)
    with pytest.raises(UsageError, match=r"too many words .*vocab_size=\d+") as caught:
        groups(MetricSpace(make_embeddings(n=60, d=5)), 7)
    fewer = int(str(caught.value).rpartition("=")[2].rstrip(")"))
    groups(MetricSpace(make_embeddings(n=fewer, d=5)), 7)


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
