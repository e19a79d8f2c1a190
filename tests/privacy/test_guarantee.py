"""An epsilon is shown with the delta that belongs to it."""

import math

import numpy as np
import pytest
from support import make_embeddings

from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.description import numbers
from dpsan.privacy.guarantee import Guarantee, Loss, Status
from dpsan.space.metric_space import MetricSpace


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
def test_a_description_has_no_delta_of_another_epsilon(name):
    space = MetricSpace(make_embeddings(60, 40))
    mechanism = MECHANISMS[name].build(1.0, {})
    guarantee, found = mechanism.guarantee(space), numbers(mechanism, space)
    assert found["epsilon"] == guarantee.at_claim.epsilon == 1.0
    assert found["delta"] == guarantee.at_claim.delta
    assert found["true"]["epsilon_ldp"] == guarantee.epsilon_ldp
    assert found["true"]["delta"] == guarantee.delta
    assert np.all(guarantee.at_claim.delta > 0.5)
