"""One word far out makes distances coarse: what is printed holds for the true distances."""

import math
from fractions import Fraction

import numpy as np
import pytest
from support import make_embeddings

from dpsan.embeddings.base import Embeddings
from dpsan.mechanisms.distance_weights import COARSE
from dpsan.mechanisms.exponential import Exponential
from dpsan.mechanisms.pte import ProjectedLaplace
from dpsan.mechanisms.santext_plus import SanTextPlus
from dpsan.mechanisms.tem import TEM
from dpsan.privacy.certificate import certify
from dpsan.sanitize.accountant import Accountant
from dpsan.sanitize.statement import Statement
from dpsan.space.metric_space import MetricSpace

LINE = [[1e-4, 0], [0.0101, 0], [0.0151, 0], [0.02, 0], [0.03, 0.01]]
SCORES = [Exponential, TEM, lambda e: SanTextPlus(e, sensitive=1.0)]


def vocabulary(far: float, words: int = 0) -> MetricSpace:
    vectors = np.array([*LINE, [far, 0]], dtype=np.float32)
    if words:
        near = make_embeddings(words, 2).vectors * np.float32(0.01)
        vectors = np.concatenate([vectors, near, near[:3]])
    names = [f"w{row}" for row in range(len(vectors))]
    return MetricSpace(Embeddings(names, vectors, "made-up", f"far {far} {words}"))


def exact_losses(weights) -> np.ndarray:
    """ln max_u P(u|w)/P(u|w') of integer weights, in whole numbers up to the last logarithm."""
    rows = [[int(each) for each in row] for row in weights]
    totals = [sum(row) for row in rows]
    out = np.empty((len(rows), len(rows)))
    for i, first in enumerate(rows):
        for j, second in enumerate(rows):
            ratio = max(Fraction(a, b) for a, b in zip(first, second, strict=True))
            ratio *= Fraction(totals[j], totals[i])
            out[i, j] = math.log(ratio.numerator) - math.log(ratio.denominator)
    return out


def true_distances(space) -> np.ndarray:
    points = space.points(np.arange(space.n + 1))
    out = np.linalg.norm(points[:, None] - points, axis=2)
    out[-1], out[:, -1] = space.diameter / 2, space.diameter / 2  # ⊥ of a law over words
    np.fill_diagonal(out, 0)
    return out


@pytest.mark.parametrize("kind", SCORES)
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 100.0, 3000.0])
@pytest.mark.parametrize(("far", "words"), [(1e-2, 0), (1.0, 20), (1e3, 20), (1e6, 0), (1e25, 9)])
def test_the_loss_of_the_integers_is_what_is_printed(kind, epsilon, far, words):
    space = vocabulary(far, words)
    mechanism = kind(epsilon)
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
    space = vocabulary(1e6)
    mechanism = kind(100.0)
    losses = exact_losses(mechanism.prepare(space).weights(np.arange(space.n)))
    apart = true_distances(space)[:-1, :-1]
    assert (losses[apart > 0] / apart[apart > 0]).max() > 230
    guarantee, certificate = mechanism.guarantee(space), certify(mechanism, space)
    assert guarantee.metric is guarantee.epsilon_metric is certificate.epsilon_metric is None
    assert "too coarse" in guarantee.why
    fine = kind(100.0).guarantee(vocabulary(1.0))
    assert fine.epsilon_metric == 100.0


def test_the_slack_is_printed():
    mechanism, space = Exponential(0.1), vocabulary(1e6)
    guarantee = mechanism.guarantee(space)
    assert 0 < guarantee.slack < COARSE
    said = Statement(Accountant(guarantee, 0.1, draws=1), mechanism.name, 0.1)
    told = " ".join(said.lines(verbose=True))
    number = float(told.partition("(+ ")[2].partition(" nats of rounding)")[0])
    assert guarantee.slack <= number <= 1.12 * guarantee.slack


@pytest.mark.parametrize("far", [1e-2, 1.0, 1e3, 1e6, 1e25])
@pytest.mark.parametrize("words", [0, 40])
@pytest.mark.parametrize("dimensions", [1, 2])
def test_the_projection_is_measured_as_it_is_used(far, words, dimensions):
    space = vocabulary(far, words)
    mechanism = ProjectedLaplace(100.0, dimensions)
    guarantee, inner = mechanism.guarantee(space), 100.0 / mechanism.factor(space)
    inputs = np.arange(space.n + 1)
    moved, points = mechanism.projected(space).points(inputs), space.points(inputs)
    losses = inner * np.linalg.norm(moved[:, None] - moved, axis=2)
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    assert guarantee.slack == 0
    assert (losses <= 100.0 * apart * (1 + 1e-9)).all()
    assert losses.max() <= guarantee.epsilon_ldp * (1 + 1e-9)


def test_the_singular_value_comes_with_its_rounding(monkeypatch):
    space = vocabulary(1e6, 40)
    monkeypatch.setattr(MetricSpace, "eager", lambda *_: False)
    mechanism = ProjectedLaplace(100.0, 1)
    guarantee, inner = mechanism.guarantee(space), 100.0 / mechanism.factor(space)
    inputs = np.arange(space.n + 1)
    moved, points = mechanism.projected(space).points(inputs), space.points(inputs)
    losses = inner * np.linalg.norm(moved[:, None] - moved, axis=2)
    apart = np.linalg.norm(points[:, None] - points, axis=2)
    assert guarantee.slack > 1
    assert (losses <= 100.0 * apart + guarantee.slack).all()
    assert "nats of rounding" in guarantee.rounding
