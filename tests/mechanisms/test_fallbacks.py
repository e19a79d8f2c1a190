"""No table mechanism prints an epsilon that its integers do not respect, at any epsilon.

Near every bound where a weight is cut, floored or falls back, and far beyond all of them: the loss
of the integers, as exact fractions, against what is printed.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import make_embeddings

from dpsan.mechanisms.knn_response import KnnResponse
from dpsan.mechanisms.krr import KRR
from dpsan.mechanisms.samplers.subset_response import integer_weights
from dpsan.mechanisms.tldp import TLDP
from dpsan.mechanisms.zipf_response import ZipfResponse, rank_weights
from dpsan.privacy.grid import grid_table
from dpsan.space.metric_space import MetricSpace

EDGES = [37.9, 38.0, 38.1, 38.12, 38.2, 38.5, 38.8, 38.81, 38.816, 38.82, 38.9, 39, 40, 41, 60]
FAR = [1e-300, 1e-17, 1e-9, 0.5, 8, 30, 36, 42, 43, 44, 45, 46, 700, 744, 746, 1e4, 1e300]


def below(ratio: Fraction, epsilon: float) -> bool:
    """Whether ln(ratio) <= epsilon, by bounds of e^epsilon that are exact enough to decide."""
    from decimal import Decimal, localcontext

    if epsilon > 1000:
        return ratio < 1 << 1000
    with localcontext() as context:
        context.prec = 60
        limit = Decimal(epsilon).exp()
    return ratio <= Fraction(limit) * (1 + Fraction(1, 10**50))


@given(
    epsilon=st.one_of(st.sampled_from(EDGES + FAR), st.floats(1e-6, 60)),
    k=st.integers(1, 60),
    more=st.one_of(st.integers(1, 100), st.integers(1, 10**7)),
)
@settings(max_examples=400, deadline=None)
def test_two_weights(epsilon, k, more):
    inside, outside = integer_weights(epsilon, k, k + more)
    assert inside >= outside >= 1
    assert k * inside + more * outside <= 1 << 56
    assert below(Fraction(inside, outside), epsilon)


@pytest.mark.parametrize("epsilon", EDGES + FAR)
@pytest.mark.parametrize("n", [2, 60, 400_000])
def test_rank_weights(epsilon, n):
    weights = rank_weights(epsilon, n)
    assert int(weights[-1]) >= 1
    assert int(weights.sum(dtype=object)) < 1 << 63
    assert below(Fraction(int(weights[0]), int(weights[-1])), epsilon)


@pytest.mark.parametrize("epsilon", [e for e in EDGES + FAR if e > 1e-17])
@pytest.mark.parametrize("levels", [2, 8])
def test_grid_tables(epsilon, levels):
    table = grid_table(epsilon, levels)
    assert int(table.min()) >= 1
    worst = max(Fraction(max(column), min(column)) for column in table.T.tolist())
    assert below(worst, epsilon)


def losses(mechanism, space) -> Fraction:
    """The largest ratio of two probabilities of one output, exact, ⊥ included."""
    sampler = mechanism.prepare(space)
    if hasattr(sampler, "inside"):
        return Fraction(sampler.inside, sampler.outside)
    return Fraction(int(sampler.weights[0]), int(sampler.weights[-1]))


@pytest.mark.parametrize("epsilon", EDGES + FAR)
@pytest.mark.parametrize(
    "kind", [KRR, ZipfResponse, lambda e: KnnResponse(e, k=1), lambda e: KnnResponse(e, k=2)]
)
def test_printed_epsilon_is_that_of_the_integers(epsilon, kind):
    space = MetricSpace(make_embeddings(60, 5))
    mechanism = kind(epsilon)
    guarantee = mechanism.guarantee(space)
    assert guarantee.epsilon_ldp <= epsilon
    assert below(losses(mechanism, space), guarantee.epsilon_ldp)
    certificate = mechanism.certificate(space)
    assert certificate.epsilon_ldp <= guarantee.epsilon_ldp
    assert certificate.delta == 0
    law = mechanism.prepare(space).probabilities(np.arange(space.n + 1))
    # And the law that is shown is that of the integers.
    worst = math.log((law.max(axis=0) / law.min(axis=0)).max())
    assert worst == pytest.approx(certificate.epsilon_ldp, abs=1e-9)


@pytest.mark.parametrize("epsilon", [e for e in EDGES + FAR if e > 1e-17])
def test_grid_mechanism(epsilon):
    space = MetricSpace(make_embeddings(60, 5))
    mechanism = TLDP(epsilon, dimensions=3, levels=4)
    sampler = mechanism.prepare(space)
    worst = Fraction(1)
    for table in sampler.tables(1):
        worst *= max(Fraction(max(column), min(column)) for column in table.T.tolist())
    guarantee = mechanism.guarantee(space)
    assert guarantee.epsilon_ldp <= epsilon
    assert below(worst, guarantee.epsilon_ldp)
