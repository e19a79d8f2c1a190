"""tgumbel-paper, rantext-paper: exact laws, and false claims."""

import math

import numpy as np
import pytest
from line_laws import line_space, losses, off, space_of
from rantext_law import LaplaceNorm, law
from scipy import stats
from scipy.integrate import quad
from support import cases, fits, make_embeddings, marked, streams

from dpsan.errors import UsageError
from dpsan.mechanisms import tgumbel_paper as paper
from dpsan.mechanisms.published import RanTextPaper, divisor
from dpsan.mechanisms.tgumbel_paper import TGumbelPaper
from dpsan.privacy.certificate import infinite_loss, matrix_certificate
from dpsan.privacy.guarantee import Claim
from dpsan.privacy.rounding import LaplaceCoordinates
from dpsan.space.metric_space import MetricSpace


@pytest.fixture(scope="module")
def sampler(space):
    return TGumbelPaper(300.0).prepare(space)


@cases("n factor", (60, 0.96), (100, 1.33), pytest.param(200, 2.16, marks=pytest.mark.slow))
def test_golden_true_over_claimed(n, factor):
    """docs/proofs.md 3.3, 1 % above the domain's edge."""
    # n-1 words at distance sqrt 2 from each other, and an outlier at twice that from all.
    space = space_of(np.diag([1.0] * (n - 1) + [math.sqrt(7)]))
    mechanism = TGumbelPaper(1.01 * paper.least_epsilon(n, math.sqrt(2)))
    found = mechanism.certificate(space)
    assert found.epsilon_metric / mechanism.epsilon == pytest.approx(factor, abs=6e-3)
    assert (found.delta > 0.5) == (factor > 1)
    told = mechanism.guarantee(space)
    assert (told.epsilon_metric, told.epsilon_ldp) == (found.epsilon_metric, found.epsilon_ldp)
    assert told.claimed == Claim(mechanism.epsilon, metric="euclidean")


def test_two_words_by_hand():
    """n = 2, in closed form by a plain double sum over a fine grid."""
    space = line_space([0.0, 1.0])
    mechanism = TGumbelPaper(1.5 * paper.least_epsilon(2, 1.0))
    b, delta = mechanism.constants(space)
    law = mechanism.prepare(space).probabilities(np.array([0]))[0]
    quantiles = (np.arange(4000) + 0.5) / 4000
    low, high = (math.exp(-math.exp(-x / b)) for x in (-delta, delta))
    noise = -b * np.log(-np.log(low + quantiles * (high - low)))
    other = np.mean(1.0 + noise[:, None] < noise[None, :])
    one = math.log(2) * math.exp(-math.log(2))  # Poisson(ln 2) = 1: the word alone
    assert law[1] == pytest.approx((1 - one) * other, abs=1e-3)


def test_domain_golden():
    """docs/proofs.md 3.3: 120.3 and not the stated 106.7 for the paper's IMDB values.

    Both bounds together give Delta_0 = 3/(120.3 - 106.7) = .2206 and n.
    """
    smallest = 3 / (120.3 - 106.7)
    n = math.exp(106.7 * smallest / 2 - 1)
    assert 2 * (1 + math.log(n)) / smallest == pytest.approx(106.7)
    assert paper.least_epsilon(n, smallest) == pytest.approx(120.3)
    # Between the two the scale is negative; just above the real one it is large.
    assert paper.scale(118.0, n, smallest, 3.0) < 0
    assert paper.scale(120.4, n, smallest, 3.0) > 100


def test_outside_the_domain(space):
    least = paper.least_epsilon(space.n, space.nearest_distances()[0])
    with pytest.raises(UsageError, match=rf"epsilon > .* = {least:.6g} here"):
        TGumbelPaper(0.999 * least).guarantee(space)
    with pytest.raises(UsageError, match="Delta_0"):
        TGumbelPaper(1.0).prepare(space)
    TGumbelPaper(1.001 * least).prepare(space)
    with pytest.raises(UsageError, match="Delta_0 = 0"):
        TGumbelPaper(1e9).prepare(line_space([0.0, 1.0, 1.0]))


@pytest.mark.parametrize("factor", [1.01, 1e4])
@pytest.mark.parametrize("n", marked("slow", [5, 60], 60))
def test_the_bound_of_the_loss_holds(n, factor):
    """docs/proofs.md 3.3, against the loss of all pairs; a tenth of it would not."""
    space = MetricSpace(make_embeddings(n=n, d=5))
    mechanism = TGumbelPaper(factor * TGumbelPaper.least_epsilon(space))
    bound = mechanism.prepare(space).loss_bound()
    assert bound / 10 < mechanism.certificate(space).epsilon_ldp <= bound < math.inf


def test_large_vocabularies_are_not_audited_and_have_no_law():
    space = MetricSpace(make_embeddings(n=301, d=5))
    guarantee = TGumbelPaper(1.1 * TGumbelPaper.least_epsilon(space)).guarantee(space)
    assert guarantee.epsilon_ldp == pytest.approx(301 * math.log(2), rel=0.1)
    assert guarantee.epsilon_metric is None
    assert "no audit" in guarantee.why
    space = MetricSpace(make_embeddings(n=2001, d=3))
    sampler = paper.TruncatedGumbelSampler(space, 1.0, space.diameter)
    assert sampler.probabilities(np.array([0])) is None
    assert sampler.sample(np.arange(2002), streams(2002)).max() < 2001


@pytest.mark.slow
def test_planted_poisson_zero_keeps_the_word(space, sampler):
    """Instead of taking all n candidates. Also planted: distances squared before the noise."""
    planted, other = (
        paper.TruncatedGumbelSampler(space, sampler.b, sampler.delta) for _ in range(2)
    )
    plain = other._nearest
    other._nearest = lambda words, k: [part**power for power, part in enumerate(plain(words, k), 1)]
    squared = other.probabilities(np.array([3]))[0]
    planted.sizes[0] += planted.sizes[-1]
    planted.sizes[-1] = 0.0
    ids = np.arange(space.n)
    wrong, right = planted.probabilities(ids), sampler.probabilities(ids)
    drawn = sampler.sample(np.full(80_000, 3), streams(80_000))
    observed = np.bincount(drawn, minlength=space.n)
    assert sampler.few < space.n  # k = n is drawn apart from the usual few candidates
    assert fits(observed, right[3])
    assert not fits(observed, wrong[3])
    assert not fits(observed, squared / squared.sum())
    mass, _ = infinite_loss(wrong)  # the farthest words are never candidates
    assert mass > 0 == infinite_loss(right)[0]
    assert math.isinf(matrix_certificate(wrong).epsilon_ldp)


def test_planted_delta_from_one_random_word():
    """Planted: Delta = largest distance from one word, here half the diameter."""
    space = line_space([0.0, 1.0, 2.0, 3.0, 4.0])
    epsilon = 1.2 * paper.least_epsilon(5, 1.0)
    right = TGumbelPaper(epsilon).prepare(space)
    planted = paper.TruncatedGumbelSampler(space, paper.scale(epsilon, 5, 1.0, 2.0), 2.0)
    assert right.delta == pytest.approx(4.0)
    ids = np.arange(5)
    assert infinite_loss(right.probabilities(ids))[0] == 0
    assert infinite_loss(planted.probabilities(ids))[0] > 0


TWO = line_space([0.0, 1.0])


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 1.9, 2.1, 6.0])
def test_two_words_by_quadrature(epsilon):
    """Proofs 3.7: R has the density k·e^(-k·r), k the divisor."""
    k, mechanism = divisor(epsilon), RanTextPaper(epsilon)
    wanted = quad(lambda r: k * math.exp(-k * r) / (1 + math.exp(epsilon / (2 * r))), 1, 60)[0]
    rows = law(mechanism.prepare(TWO))
    assert [rows[0, 1], rows[1, 0]] == pytest.approx([wanted] * 2, rel=2e-4)
    assert rows[2].tolist() == [0.5, 0.5]
    loss = math.log((1 - wanted) / wanted)
    assert epsilon < loss == pytest.approx(losses(rows).max(), abs=1e-4)
    assert loss < mechanism.guarantee(TWO).epsilon_ldp


def test_golden_numbers():
    many = MetricSpace(make_embeddings(n=60, d=20))
    golden = [(1.0, TWO, 1.6822, 2e-4), (6.0, many, 19.26, 0.01), (1.0, many, 0.187, 0.001)]
    for epsilon, space, wanted, error in golden:
        mechanism = RanTextPaper(epsilon)
        loss = losses(law(mechanism.prepare(space))).max()
        assert loss == pytest.approx(wanted, abs=error)
        assert loss < mechanism.guarantee(space).epsilon_ldp
    # The authors' constants: linear below 2, then a jump.
    assert divisor(1.999) == 1.999
    assert divisor(2.0) == pytest.approx(9.12, abs=0.01)
    assert divisor(6.0) == pytest.approx(9.3839, abs=1e-3)


@pytest.mark.parametrize("d", [1, 2, 30])
def test_length_of_noise(d):
    scales = np.linspace(0.5, 2.0, d)
    norm = LaplaceNorm(scales)
    drawn = np.linalg.norm(LaplaceCoordinates(1.0)(streams(4000), d) * scales, axis=1)
    assert stats.kstest(drawn, lambda r: 1 - norm.above(r)).pvalue > 1e-9
    assert stats.kstest(drawn, lambda r: 1 - norm.above(r * 1.3)).pvalue < 1e-9
    if d == 1:
        radii = np.linspace(0.1, 20, 50)
        assert norm.above(radii) == pytest.approx(np.exp(-radii / 0.5), rel=1e-9, abs=1e-10)
    if d == 2:  # two coordinates of any scale: one integral
        a, b = scales

        def density(x):
            return math.exp(-x / a - math.sqrt(max(9 - x * x, 0)) / b) / a

        tail = quad(density, 0, 3, epsabs=1e-12)[0] + math.exp(-3 / a)
        assert float(norm.above(np.array([3.0]))[0]) == pytest.approx(tail, abs=1e-7)


def test_draws_follow_the_law(space):
    sampler = RanTextPaper(2.5).prepare(space)
    rows = law(sampler)
    for word in (3, space.n):
        drawn = sampler.sample(np.full(40_000, word), streams(40_000))
        observed = np.bincount(drawn, minlength=space.n)
        assert fits(observed, rows[word])
        assert not fits(observed, off(rows[word]))


def test_bound_of_large_vocabularies():
    """A finite one, which the exact loss of a part of the vocabulary does not pass."""
    large, part = (MetricSpace(make_embeddings(n=n, d=4)) for n in (400, 40))
    mechanism = RanTextPaper(6.0)
    assert mechanism.prepare(large).probabilities(np.arange(2)) is None
    bound = mechanism.guarantee(large)
    exact = losses(law(mechanism.prepare(part))).max()
    assert exact == pytest.approx(15.41, abs=0.01)
    assert exact < mechanism.guarantee(part).epsilon_ldp < bound.epsilon_ldp < 60
    assert bound.infinite_loss_mass == 0


def test_all_words_at_one_point():
    space, mechanism = space_of(np.ones((2, 3))), RanTextPaper(1.0)
    assert law(mechanism.prepare(space)) == pytest.approx(0.5)
    assert mechanism.guarantee(space).epsilon_ldp == pytest.approx(0.5 + math.log(2))
