"""What draws cost together; an epsilon is shown with the delta that belongs to it."""

import math

import pytest
from support import make_embeddings

from dpsan.mechanisms import MECHANISMS
from dpsan.privacy.guarantee import Guarantee, Loss, Status, compose_basic
from dpsan.space.metric_space import MetricSpace


def guarantee(epsilon, delta=0.0):
    return Guarantee(Status.PROVED, epsilon, delta, why="test", source="test")


def test_basic():
    composed = compose_basic(guarantee(2.0, 1e-6), 10)
    assert (composed.epsilon, composed.delta) == (20.0, pytest.approx(1e-5))
    assert compose_basic(guarantee(math.inf), 0).epsilon == 0


def test_the_pair_at_an_epsilon():
    plain = Guarantee(Status.PROVED, 2.0, 1e-6)
    assert plain.at(2.0) == Loss(2.0, 1e-6)
    assert plain.at(3.0) == Loss(3.0, 1e-6)  # weaker, and true
    assert plain.at(1.0) == Loss(2.0, 1e-6)  # nothing is known at 1
    both = Guarantee(Status.REFUTED, 300.0, 1e-129, at_claim=Loss(1.0, 0.9))
    assert both.at(1.0) == Loss(1.0, 0.9)
    assert both.at(299.0) == Loss(299.0, 0.9)
    assert both.at(300.0) == Loss(300.0, 1e-129)
    assert both.at(0.5) == Loss(300.0, 1e-129)
    assert Guarantee(Status.NONE, math.inf, 1.0).at(5.0) == Loss(math.inf, 1.0)


@pytest.mark.parametrize("name", [n for n in MECHANISMS if n.startswith("tldp-paper")])
def test_the_delta_of_a_claim_is_that_of_its_epsilon(name):
    space = MetricSpace(make_embeddings(60, 40))
    own = MECHANISMS[name].build(1.0, {}).guarantee(space)
    assert own.at_claim.epsilon == 1.0
    assert own.at(1.0).delta == own.at_claim.delta > 0.5
