"""What is printed holds for the integers and the true distances: far-out words, any epsilon."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from line_laws import space_of
from support import cases, make_embeddings

from dpsan.mechanisms.exponential import TEM, Exponential
from dpsan.mechanisms.laplace import ProjectedLaplace
from dpsan.mechanisms.mechanism import certify
from dpsan.mechanisms.published import SanTextPlus
from dpsan.mechanisms.randomized_response import KRR, KnnResponse, ZipfResponse, rank_weights
from dpsan.mechanisms.tables.dense import COARSE
from dpsan.mechanisms.tables.sparse import integer_increments
from dpsan.mechanisms.tldp import TLDP
from dpsan.sanitize.accountant import Accountant
from dpsan.sanitize.statement import Statement
from dpsan.space.metric_space import MetricSpace

LINE = [[1e-4, 0], [0.0101, 0], [0.0151, 0], [0.02, 0], [0.03, 0.01]]


def vocabulary(far, words=0):
    near = make_embeddings(words, 2).vectors * np.float32(0.01) if words else np.empty((0, 2))
    return space_of(np.concatenate([LINE, [[far, 0]], near, near[:3]]))


def exact_losses(weights):
    """ln max_u P(u|w)/P(u|w') of integer weights, in whole numbers up to the last logarithm."""
    rows = [[int(each) for each in row] for row in weights]
    out = np.empty((len(rows), len(rows)))
    for (i, first), (j, second) in itertools.product(enumerate(rows), repeat=2):
        ratio = max(Fraction(a, b) for a, b in zip(first, second, strict=True))
        ratio *= Fraction(sum(second), sum(first))
        out[i, j] = math.log(ratio.numerator) - math.log(ratio.denominator)
    return out


def true_distances(space):
    points = space.points(np.arange(space.n + 1))
    out = np.linalg.norm(points[:, None] - points, axis=2)
    out[-1], out[:, -1] = space.diameter / 2, space.diameter / 2  # ⊥ of a law over words
    np.fill_diagonal(out, 0)
    return out


@pytest.mark.parametrize("kind", [Exponential, TEM, lambda e: SanTextPlus(e, sensitive=1.0)])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 100.0, 3000.0])
@pytest.mark.parametrize(("far", "words"), [(1e-2, 0), (1.0, 20), (1e3, 20), (1e6, 0), (1e25, 9)])
def test_the_loss_of_the_integers_is_what_is_printed(kind, epsilon, far, words):
    space, mechanism = vocabulary(far, words), kind(epsilon)
    guarantee, certificate = mechanism.guarantee(space), certify(mechanism, space)
    losses = exact_losses(mechanism.prepare(space).weights(np.arange(space.n + 1)))
    apart = true_distances(space)
    assert losses.max() <= guarantee.epsilon_ldp
    assert losses.max() <= certificate.epsilon_ldp + 1e-12
    assert guarantee.slack <= COARSE
    allowed = np.array([[guarantee.epsilon(each) for each in row] for row in apart])
    if guarantee.epsilon_metric is not None:
        assert (losses <= allowed + 1e-12).all()
    if certificate.epsilon_metric is not None and certificate.method != "exact distribution matrix":
        bound = certificate.epsilon_metric * apart + certificate.slack
        assert (losses <= bound + 1e-12).all()
        assert certificate.epsilon_metric <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize("kind", [Exponential, TEM])
def test_no_epsilon_per_unit_where_distances_are_too_coarse(kind):
    """It said PROVED at 100 per unit where the loss is 239 per unit."""
    space, mechanism = vocabulary(1e6), kind(100.0)
    losses = exact_losses(mechanism.prepare(space).weights(np.arange(space.n)))
    apart = true_distances(space)[:-1, :-1]
    assert (losses[apart > 0] / apart[apart > 0]).max() > 230
    guarantee, certificate = mechanism.guarantee(space), certify(mechanism, space)
    assert guarantee.metric is guarantee.epsilon_metric is certificate.epsilon_metric is None
    assert "too coarse" in guarantee.why
    assert mechanism.guarantee(vocabulary(1.0)).epsilon_metric == 100.0


def test_the_slack_is_printed():
    mechanism, space = Exponential(0.1), vocabulary(1e6)
    guarantee = mechanism.guarantee(space)
    assert 0 < guarantee.slack < COARSE
    said = Statement(Accountant(guarantee, 0.1, draws=1), mechanism.name, 0.1)
    told = " ".join(said.lines(verbose=True))
    number = float(told.partition("(+ ")[2].partition(" nats of rounding)")[0])
    assert guarantee.slack <= number <= 1.12 * guarantee.slack


def projected(space, dimensions):
    """The guarantee, and losses and distances of all inputs, of a projection."""
    mechanism, inputs = ProjectedLaplace(100.0, dimensions), np.arange(space.n + 1)
    guarantee, inner = mechanism.guarantee(space), 100.0 / mechanism.factor(space)
    moved, points = mechanism.projected(space).points(inputs), space.points(inputs)
    losses = inner * np.linalg.norm(moved[:, None] - moved, axis=2)
    return guarantee, losses, np.linalg.norm(points[:, None] - points, axis=2)


@pytest.mark.parametrize("far", [1e-2, 1.0, 1e3, 1e6, 1e25])
@pytest.mark.parametrize("words", [0, 40])
@pytest.mark.parametrize("dimensions", [1, 2])
def test_the_projection_is_measured_as_it_is_used(far, words, dimensions):
    guarantee, losses, apart = projected(vocabulary(far, words), dimensions)
    assert guarantee.slack == 0
    assert (losses <= 100.0 * apart * (1 + 1e-9)).all()
    assert losses.max() <= guarantee.epsilon_ldp * (1 + 1e-9)


def test_the_singular_value_comes_with_its_rounding(monkeypatch):
    monkeypatch.setattr(MetricSpace, "eager", lambda *_: False)
    guarantee, losses, apart = projected(vocabulary(1e6, 40), 1)
    assert guarantee.slack > 1
    assert (losses <= 100.0 * apart + guarantee.slack).all()
    assert "nats of rounding" in guarantee.rounding


EDGES = [37.9, 38.0, 38.1, 38.12, 38.2, 38.5, 38.8, 38.81, 38.816, 38.82, 38.9, 39, 40, 41, 60]
FAR = [1e-300, 1e-17, 1e-9, 0.5, 8, 30, 36, 42, 43, 44, 45, 46, 700, 744, 746, 1e4, 1e300]


def below(ratio, epsilon):
    """Whether ln(ratio) <= epsilon, by bounds of e^epsilon that are exact enough to decide."""
    if epsilon > 1000:
        return ratio < 1 << 1000
    with localcontext(prec=60):
        return ratio <= Fraction(Decimal(epsilon).exp()) * (1 + Fraction(1, 10**50))


@given(
    epsilon=st.one_of(st.sampled_from(EDGES + FAR), st.floats(1e-6, 60)),
    k=st.integers(1, 60),
    more=st.one_of(st.integers(1, 100), st.integers(1, 10**7)),
)
@settings(max_examples=200, deadline=None)
def test_two_weights(epsilon, k, more):
    increment, outside = integer_increments(epsilon, k + more, k)
    inside = outside + increment
    assert inside >= outside >= 1
    assert k * inside + more * outside < 1 << 62
    assert below(Fraction(inside, outside), epsilon)
    if 0.01 <= epsilon <= 20 and k + more <= 400_000:
        assert math.log(inside / outside) == pytest.approx(epsilon, abs=1e-6)


@pytest.mark.parametrize("epsilon", EDGES + FAR)
@pytest.mark.parametrize("n", [1, 2, 60, 400_000])
def test_rank_weights(epsilon, n):
    weights = rank_weights(epsilon, n)
    first, last = int(weights[0]), int(weights[-1])
    assert last >= 1
    assert int(weights.sum(dtype=object)) < 1 << 63
    assert below(Fraction(first, last), epsilon)
    assert weights.shape == (n,)
    assert (np.diff(weights.astype(np.float64)) <= 0).all()
    if n > 1 and 0.01 <= epsilon <= 30:
        assert math.log(first / last) == pytest.approx(epsilon, abs=1e-3)


@pytest.mark.parametrize("epsilon", EDGES + FAR)
@cases("kind", KRR, ZipfResponse, lambda e: KnnResponse(e, k=1), lambda e: KnnResponse(e, k=2))
def test_printed_epsilon_is_that_of_the_integers(epsilon, kind):
    space, mechanism = MetricSpace(make_embeddings(60, 5)), kind(epsilon)
    sampler, certificate = mechanism.prepare(space), mechanism.certificate(space)
    # The largest ratio of two probabilities of one output, exact, ⊥ included.
    weights = sampler.weights(np.zeros(1, dtype=np.int64))[0]
    ratio = Fraction(int(weights.max()), int(weights.min()))
    stated = mechanism.guarantee(space).epsilon_ldp
    assert certificate.epsilon_ldp <= stated <= epsilon
    assert below(ratio, stated)
    assert certificate.delta == 0
    law = sampler.probabilities(np.arange(space.n + 1))
    # And the law that is shown is that of the integers.
    worst = math.log((law.max(axis=0) / law.min(axis=0)).max())
    assert worst == pytest.approx(certificate.epsilon_ldp, abs=1e-9)


@pytest.mark.parametrize("epsilon", [e for e in EDGES + FAR if e > 1e-17])
@pytest.mark.parametrize("levels", [2, 8])
def test_grid_mechanism(epsilon, levels):
    space = MetricSpace(make_embeddings(60, 5))
    mechanism = TLDP(epsilon, dimensions=3, levels=levels)
    sampler = mechanism.prepare(space)
    assert int(sampler.table.min()) >= 1
    columns = sampler.table.T.tolist()
    worst = max(Fraction(max(column), min(column)) for column in columns) ** sampler.space.d
    stated = mechanism.guarantee(space).epsilon_ldp
    assert stated <= epsilon
    assert stated > 0.999 * epsilon or not 0.01 < epsilon < 20  # nothing is wasted
    assert below(worst, stated)
