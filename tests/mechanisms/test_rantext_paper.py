"""rantext-paper: lists around the true word, and what they cost."""

import math

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad
from support import make_embeddings, streams

from dpsan.analysis.verify.verdict import Verdict, verify
from dpsan.embeddings.base import Embeddings
from dpsan.mechanisms.noise.vectors import independent_laplace
from dpsan.mechanisms.rantext_paper import RanTextPaper, divisor
from dpsan.privacy.laplace_norm import LaplaceNorm
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.metric_space import MetricSpace

TWO = Embeddings(["near", "far"], np.array([[0.0], [1.0]], dtype=np.float32), "two", "two-words")


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 1.9, 2.1, 6.0])
def test_two_words_by_quadrature(epsilon):
    """Proofs 3.7: R has the density k·e^(-k·r), k the divisor."""
    k, space = divisor(epsilon), MetricSpace(TWO)
    wanted = quad(lambda r: k * math.exp(-k * r) / (1 + math.exp(epsilon / (2 * r))), 1, 60)[0]
    mechanism = RanTextPaper(epsilon)
    law = mechanism.prepare(space).probabilities(np.arange(3))
    assert law[0, 1] == pytest.approx(wanted, rel=2e-4)
    assert law[1, 0] == pytest.approx(wanted, rel=2e-4)
    assert law[2].tolist() == [0.5, 0.5]
    loss = math.log((1 - wanted) / wanted)
    assert mechanism.guarantee(space).epsilon_ldp == pytest.approx(loss, abs=1e-4)
    assert loss > epsilon
    assert mechanism.prepare(space).excluded()[0] == pytest.approx(-math.expm1(-k), abs=1e-5)


def test_golden_numbers():
    found = RanTextPaper(1.0).guarantee(MetricSpace(TWO))
    assert found.epsilon_ldp == pytest.approx(1.6822, abs=2e-4)
    space = MetricSpace(make_embeddings(n=60, d=20))
    assert RanTextPaper(6.0).guarantee(space).epsilon_ldp == pytest.approx(19.26, abs=0.01)
    assert RanTextPaper(1.0).guarantee(space).epsilon_ldp == pytest.approx(0.187, abs=0.001)


def test_divisor():
    """The authors' constants: linear below 2, then a jump."""
    assert divisor(1.999) == 1.999
    assert divisor(2.0) == pytest.approx(9.12, abs=0.01)
    assert divisor(6.0) == pytest.approx(9.3839, abs=1e-3)


@pytest.mark.parametrize("d", [1, 2, 7, 100])
def test_length_of_noise(d):
    scales = np.linspace(0.5, 2.0, d)
    norm = LaplaceNorm(scales)
    m = 4000
    drawn = np.linalg.norm(independent_laplace(streams(m), d, 1.0) * scales, axis=1)
    assert stats.kstest(drawn, lambda r: 1 - norm.above(r)).pvalue > 1e-9
    assert stats.kstest(drawn, lambda r: 1 - norm.above(r * 1.3)).pvalue < 1e-9
    if d == 1:
        radii = np.linspace(0.1, 20, 50)
        assert norm.above(radii) == pytest.approx(np.exp(-radii / 0.5), rel=1e-9, abs=1e-10)
    if d == 2:  # two coordinates of any scale: one integral
        a, b = scales
        tail = quad(
            lambda x: math.exp(-x / a - math.sqrt(max(9 - x * x, 0)) / b) / a, 0, 3, epsabs=1e-12
        )[0] + math.exp(-3 / a)
        assert float(norm.above(np.array([3.0]))[0]) == pytest.approx(tail, abs=1e-7)


def test_bound_of_large_vocabularies():
    """A finite one, which the exact loss of a part of the vocabulary does not pass."""
    large = MetricSpace(make_embeddings(n=400, d=4))
    assert RanTextPaper(6.0).prepare(large).probabilities(np.arange(2)) is None
    bound = RanTextPaper(6.0).guarantee(large)
    assert RanTextPaper(6.0).certificate(large) is None
    small = RanTextPaper(6.0).guarantee(MetricSpace(make_embeddings(n=40, d=4)))
    assert small.epsilon_ldp < bound.epsilon_ldp < 60
    assert bound.infinite_loss_mass == small.infinite_loss_mass == 0


def test_all_words_at_one_point():
    space = MetricSpace(Embeddings(["a", "b"], np.ones((2, 3), dtype=np.float32), "", "one point"))
    law = RanTextPaper(1.0).prepare(space).probabilities(np.arange(3))
    assert law == pytest.approx(0.5)
    assert RanTextPaper(1.0).guarantee(space).epsilon_ldp == pytest.approx(0, abs=1e-9)


def test_verify_refutes_the_claim():
    options = {"embeddings": make_embeddings(n=40, d=4), "allow_unproved": True}
    found = verify(Sanitizer("rantext-paper", epsilon=6.0, **options), words=12, draws=5000)
    assert found.verdict is Verdict.VIOLATED
    assert found.certified == pytest.approx(15.41, abs=0.01)
    # Where its noise is so wide that the claim holds by chance, verify says so.
    found = verify(Sanitizer("rantext-paper", epsilon=1.0, **options), words=12, draws=5000)
    assert found.verdict is Verdict.KEPT
