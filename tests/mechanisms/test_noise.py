"""Mechanisms that add noise: to clipped points, and to points as they are."""

import itertools
import math

import line_laws as laws
import numpy as np
import pytest
from scipy import integrate, optimize, stats
from scipy.spatial.distance import pdist
from scipy.special import ndtr
from support import ALPHA, cases, fits, make_embeddings, marked, streams

from dpsan.errors import UsageError
from dpsan.mechanisms.clipped_noise import (
    AnalyticGaussian,
    ClassicalGaussian,
    ClippedLaplace,
    ClippedLaplacePaper,
    GaussianPaper,
    TrLaplace,
    TrLaplacePaper,
)
from dpsan.mechanisms.laplace import (
    Laplace,
    Mahalanobis,
    ProjectedLaplace,
    RankSoftmax,
    Vickrey,
    draw_ranks,
    projection,
    words_of_rank,
)
from dpsan.privacy import noise_formulas as formulas
from dpsan.privacy.guarantee import Status
from dpsan.privacy.rounding import SphericalLaplace
from dpsan.space.metric_space import MetricSpace

LINE = [0.1, 0.4, -0.7, 1.9, 1.5]


@pytest.mark.parametrize(("clip", "diameter"), [("auto", 2.6), (1.6, 2.3)])
def test_clipped_laplace_on_a_line(clip, diameter):
    """Half the noise draws otherwise, and loses more than epsilon."""
    epsilon, space = 2.0, laws.line_space(LINE)
    mechanism = ClippedLaplace(epsilon, clip)
    sampler = mechanism.noise(space)
    assert sampler is not None
    moved = sampler.space
    law, half = laws.and_half(moved, lambda x: laws.laplace_cdf(x, diameter / epsilon))
    laws.draws_follow(mechanism, space, (0, 3, len(LINE)), law, half)
    assert laws.losses(law).max() <= epsilon * (1 + 1e-6)
    assert laws.losses(half).max() > epsilon
    assert mechanism.guarantee(space).epsilon_ldp == epsilon
    assert mechanism.noise_scale(space) == pytest.approx(np.sqrt(2) * diameter / epsilon, rel=1e-6)


@pytest.mark.parametrize(("d", "expected"), [(50, 20.0), (100, 28.28), (300, 48.99)])
def test_reference_noise_of_laplace(d, expected):
    """Words at ±C(1, ..., 1)/sqrt d: the L1 diameter is 2 sqrt(d) C."""
    corner = np.full(d, 1 / np.sqrt(d), dtype=np.float32)
    base = make_embeddings(4, d).vectors
    base *= 0.1 / np.linalg.norm(base, axis=1, keepdims=True)
    space = laws.space_of(np.vstack([corner, -corner, base]))
    found = [ClippedLaplace(epsilon).noise_scale(space) * epsilon for epsilon in (1.0, 10.0)]
    assert found == pytest.approx([expected] * 2, rel=1e-3)


@pytest.mark.parametrize(("epsilon", "sigma"), [(1.0, 8.45), (10.0, 1.08)])
def test_reference_sigma(epsilon, sigma):
    """C = 1, diameter 2, delta 1e-6: independent of the dimension."""
    mechanism = AnalyticGaussian(epsilon, 1e-6)
    assert mechanism.noise_scale(laws.line_space([1.0, -1.0])) == pytest.approx(sigma, abs=0.005)
    clipped = AnalyticGaussian(epsilon, 1e-6, clip=0.5).noise_scale(laws.line_space(LINE))
    assert clipped == pytest.approx(1 / formulas.gaussian_mu(epsilon, 1e-6), rel=1e-5)


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 1.0, 8.0, 50.0, 700.0, 1e4])
@pytest.mark.parametrize("delta", [0.5, 1e-3, 1e-6, 1e-12, 1e-100])
def test_calibration_is_tight_and_on_the_safe_side(epsilon, delta):
    mu = formulas.gaussian_mu(epsilon, delta)
    assert 0 < mu < math.inf
    assert formulas.gaussian_delta(epsilon, mu) <= delta
    assert formulas.gaussian_delta(epsilon, mu * (1 + 1e-6)) > delta


@pytest.mark.parametrize(("epsilon", "mu"), [(0.5, 0.3), (1.0, 0.24), (3.0, 1.5), (20.0, 3.77)])
def test_delta_is_the_hockey_stick_integral(epsilon, mu):
    start = epsilon / mu + mu / 2

    def excess(x):
        return stats.norm.pdf(x, mu) - math.exp(epsilon) * stats.norm.pdf(x)

    exact = integrate.quad(excess, start, start + 40, epsabs=0, epsrel=1e-10)[0]
    assert formulas.gaussian_delta(epsilon, mu) == pytest.approx(exact, rel=1e-8)


def test_gaussian_on_a_line():
    space, epsilon, delta = laws.line_space(LINE), 2.0, 0.01
    sigma = 2.6 / formulas.gaussian_mu(epsilon, delta)
    law, half = laws.and_half(space, stats.norm(scale=sigma).cdf)
    laws.draws_follow(AnalyticGaussian(epsilon, delta), space, (0, 3, len(LINE)), law, half)
    assert laws.hockey_stick(law, epsilon) <= delta < laws.hockey_stick(half, epsilon)


def test_classical_holds_in_its_domain_with_more_noise_than_needed():
    space = laws.line_space([1.0, -1.0, 0.3])
    deltas = (0.5, 0.1, 1e-3, 1e-6, 1e-12)
    for epsilon, delta in itertools.product(np.linspace(0.01, 1, 12), deltas):
        mechanism = ClassicalGaussian(epsilon, delta)
        guarantee, sigma = mechanism.guarantee(space), mechanism.noise_scale(space)
        mu = epsilon / math.sqrt(2 * math.log(1.25 / delta))
        assert guarantee.delta == formulas.gaussian_delta(epsilon, mu) < 0.1 * delta
        assert guarantee.claimed.delta == delta
        assert sigma == pytest.approx(2 / mu, rel=1e-8)
        assert sigma > AnalyticGaussian(epsilon, delta).noise_scale(space)
    for call in ("guarantee", "prepare", "noise_scale"):
        with pytest.raises(UsageError, match="epsilon <= 1 only"):
            getattr(ClassicalGaussian(1.0001, 1e-6), call)(space)


EQUAL = [(at, delta, 1, 5e-3) for at, delta in ((8.42, 1e-5), (8.78, 1e-6), (9.62, 1e-9))]


@cases("epsilon delta ratio error", (20.0, 1e-6, 161.1, 0.1), *EQUAL)
def test_true_delta_of_the_paper_over_the_claim(epsilon, delta, ratio, error):
    guarantee = GaussianPaper(epsilon, delta).guarantee(laws.line_space(LINE))
    assert guarantee.claimed.delta == delta
    assert guarantee.delta / delta == pytest.approx(ratio, abs=error)
    below = GaussianPaper(0.5, 1e-6).guarantee(laws.line_space(LINE))
    assert below.delta < 1e-6
    assert "below the claim" in below.why


@pytest.mark.parametrize("epsilon", [1.0, 10.0, 20.0])
def test_noise_of_the_paper(epsilon):
    """In units of C at d = 300: 57.7/epsilon with delta = 4^-300, and 48.99/epsilon for Laplace."""
    vectors = np.eye(2, 300)
    vectors[1, 1] = 0.1  # the sensitivity is of the ball, not of these words
    space = laws.space_of(vectors)
    assert GaussianPaper(epsilon).noise_scale(space) * epsilon == pytest.approx(57.7, abs=0.05)
    assert ClippedLaplacePaper(epsilon).noise_scale(space) * epsilon == pytest.approx(48.99, 1e-4)
    assert GaussianPaper(epsilon).guarantee(space).claimed.delta == pytest.approx(4.0**-300)
    assert AnalyticGaussian(epsilon, 1e-6).noise_scale(space) < 0.2 * 57.7 / epsilon
    assert ClippedLaplace(epsilon).noise_scale(space) < 0.1 * 48.99 / epsilon


@cases(
    "mechanism cdf",
    (GaussianPaper(3.0, 0.01, 1.0), lambda x: ndtr(x * 1.5 / math.sqrt(2 * math.log(125)))),
    (ClippedLaplacePaper(3.0, 1.0), lambda x: laws.laplace_cdf(x, 2 / 3)),
)
def test_the_nearest_unclipped_word(mechanism, cdf):
    """Words beyond C = 1 start at C, and are reached where they are."""
    space, moved, edges = laws.line_space(LINE), np.clip(LINE, -1, 1), np.sort(LINE)
    for word, start in ((0, moved[0]), (3, moved[3]), (len(LINE), moved.mean())):
        cuts = cdf((edges[1:] + edges[:-1]) / 2 - start)
        law = np.diff(np.concatenate([[0], cuts, [1]]))[np.argsort(np.argsort(LINE))]
        observed = laws.counts(mechanism, space, word)
        assert fits(observed, law)
        assert not fits(observed, laws.off(law))
        if word == 3:  # among clipped words the two at C are one point
            assert not fits(observed, laws.nearest_law(laws.line_space(moved), cdf)[word])


def test_a_far_dimension_has_a_positive_delta():
    """4^-600 is no float64: neither the claim nor the truth is printed as 0."""
    guarantee = GaussianPaper(1.0).guarantee(laws.space_of(np.eye(2, 600)))
    assert min(guarantee.delta, guarantee.claimed.delta) > 0


# ``trlaplace`` and ``trlaplace-paper``: the sound and the published truncation.


LINE_SPACE = laws.line_space([0.1, 0.4, -0.7, 1.9, 1.5])
EPSILONS = (0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 20.0)
TABLE = {
    50: {0.05: 0.8305, 0.1: 0.8262, 0.5: 0.7876, 1.0: 0.7267},
    100: {0.05: 0.9185, 0.1: 0.9164, 0.5: 0.8979, 1.0: 0.8687},
    300: dict(zip(EPSILONS, (0.9869, 0.9866, 0.9836, 0.9790, 0.8429, 0.3709, 0.1229), strict=True)),
}
MASSES = {0.05: 0.249, 1.0: 0.228, 20.0: 0.0096}
CELLS = [(d, epsilon, delta) for d, row in TABLE.items() for epsilon, delta in row.items()]


@pytest.mark.parametrize("d", [50, 100, 300])
@pytest.mark.parametrize("epsilon", EPSILONS[:-1])
def test_certified_delta(d, epsilon):
    assert 0.90e-6 <= TrLaplace(epsilon, 1e-6).true_delta(d) <= 1.0e-6


@pytest.mark.parametrize("d", [1, 2, 5, 50, 300])
@pytest.mark.parametrize("epsilon", [20.0, 100.0, 5000.0])
def test_certified_delta_at_any_epsilon(d, epsilon):
    mechanism = TrLaplace(epsilon, 1e-6)
    alpha, bound = mechanism.truncation(d, 1.0)
    # f is concave, then convex: at the maximum one coordinate is x and the others are equal.
    x = np.linspace(2 / np.sqrt(d), 2, 4001)
    rest = np.sqrt(np.maximum(4 - x**2, 0) / max(d - 1, 1))
    outside = formulas.escape(x, alpha, bound) + (d - 1) * formulas.escape(rest, alpha, bound)
    assert outside.max() <= 1e-6 * (1 + 1e-9)
    assert formulas.largest_escape(alpha, bound, d, 2.0) >= outside.max() * (1 - 1e-5)
    assert formulas.largest_escape(alpha, bound, d, 2.0) <= outside.max() * 1.02
    assert 0.4e-6 < mechanism.true_delta(d) <= 1e-6


@pytest.mark.parametrize("mechanism", [*map(TrLaplacePaper, (0.05, 1, 5)), TrLaplace(2.0, 1e-3)])
@pytest.mark.parametrize("d", [2, 5, 7])
def test_no_shift_loses_more_than_the_true_delta(mechanism, d):
    """By search over shifts of length 2C; the equal shift is the paper's worst."""
    alpha, bound = mechanism.truncation(d, 1.0)

    def outside(s):
        return 1 - np.prod(1 - formulas.escape(np.abs(s) / np.linalg.norm(s) * 2, alpha, bound))

    true = mechanism.true_delta(d)
    for start in np.abs(make_embeddings(9, d).vectors.astype(float)) + 0.01:
        assert -optimize.minimize(lambda s: -outside(s), start).fun <= true * (1 + 1e-9)
    if isinstance(mechanism, TrLaplacePaper):
        assert outside(np.ones(d)) == pytest.approx(true, rel=2e-3)
    else:
        assert true <= 1e-3


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 7.0])
def test_one_dimension_is_geng(epsilon):
    """[Geng20]: A = (Delta/epsilon) ln(1 + (e^epsilon - 1)/(2 delta)), Delta = 2C."""
    _, bound = formulas.sound_truncation(epsilon, 1e-5, 1, 0.5)
    assert bound == pytest.approx(np.log1p(np.expm1(epsilon) / 2e-5) / epsilon, rel=1e-9)


@cases("d truncated spherical", (50, 20.0, 14.28), (100, 28.28, 20.10), (300, 49.0, 34.7))
@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_reference_noise(d, truncated, spherical, epsilon):
    """C = 1, delta 1e-6: truncation does not help once it is sound."""
    found = formulas.truncated_laplace_std(*formulas.sound_truncation(epsilon, 1e-6, d, 1.0))
    assert found * epsilon == pytest.approx(truncated, rel=2e-3)
    # laplace at LDP epsilon: epsilon/2 per unit of distance.
    assert SphericalLaplace(epsilon / 2).std(d) * epsilon == pytest.approx(spherical, rel=1e-3)
    paper = formulas.truncated_laplace_std(*TrLaplacePaper(epsilon).truncation(300, 1.0))
    assert paper == pytest.approx({1.0: 2.42, 10.0: 4.18}[epsilon], abs=0.005)


@pytest.mark.parametrize("mechanism", [TrLaplace(1.0, 0.01), *map(TrLaplacePaper, (0.3, 2.0))])
def test_exact_law(mechanism):
    alpha, bound = mechanism.truncation(1, 1.9)
    law, half = laws.and_half(LINE_SPACE, lambda x: laws.truncated_cdf(x, alpha, bound))
    laws.draws_follow(mechanism, LINE_SPACE, (0, 3, 5), law, half)
    assert laws.hockey_stick(law, mechanism.epsilon) <= mechanism.true_delta(1)
    if isinstance(mechanism, TrLaplace):
        assert laws.hockey_stick(law, 1.0) <= 0.01 < laws.hockey_stick(half, 1.0)
    scale = formulas.truncated_laplace_std(alpha, bound)
    assert mechanism.noise_scale(LINE_SPACE) == pytest.approx(scale, rel=1e-6)


def test_huge_epsilon_does_not_overflow():
    space = laws.line_space([0.1, 0.4, -0.7])
    mechanism = TrLaplace(1e5, 1e-6)
    assert np.isfinite(mechanism.noise_scale(space))
    assert laws.counts(mechanism, space, 1, 50).tolist() == [0, 50, 0]
    assert mechanism.guarantee(space).delta <= 1e-6


def test_true_delta_and_dummy_dimensions_of_the_paper():
    found = [TrLaplacePaper(epsilon).true_delta(d) for d, epsilon, _ in CELLS]
    assert found == pytest.approx([delta for *_, delta in CELLS], abs=5.1e-5)
    asked = [(300, 5), (300, 8.6), (300, 10), (300, 20), (100, 5), (50, 1)]
    padded = [TrLaplacePaper(epsilon).dimensions(d) for d, epsilon in asked]
    assert padded == [300, 300, 500, 1700, 200, 50]


@pytest.mark.parametrize("delta", [1e-6, 0.01, 0.3])
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_a_large_delta_has_an_upper_bound_too(delta, d, epsilon):
    """delta^(1/d) above 1/2: A < 2C, equal shifts need not be worst."""
    mechanism = TrLaplacePaper(epsilon, delta)
    alpha, bound = mechanism.truncation(d, 1.0)
    angles, true = make_embeddings(4000, d).vectors.astype(float), mechanism.true_delta(d)
    shifts = np.abs(angles) / np.linalg.norm(angles, axis=1, keepdims=True) * 2
    found = (1 - np.prod(1 - formulas.escape(shifts, alpha, bound), axis=1)).max()
    assert found <= true * (1 + 1e-9)
    assert true < found * 1.1 + 1e-12 or true >= 1


@pytest.mark.parametrize("epsilon", marked("slow", MASSES, 0.05, 20.0))
def test_three_words_on_a_line(epsilon):
    """A released word that one input excludes: drawn from the sampler, 300 dimensions."""
    mechanism = TrLaplacePaper(epsilon, clip=1.0)
    alpha, bound = mechanism.truncation(300, 1.0)
    vectors = np.zeros((3, 300))
    # A hair beyond 2A - 3C, so that float32 cannot move the boundary into reach of -C.
    vectors[:, 0] = 1.0, -1.0, (2 * bound - 3) * (1 + 1e-6)
    space, m, mass = laws.space_of(vectors), 20_000, MASSES[epsilon]
    far = laws.counts(mechanism, space, 0, m)[2] / m
    assert laws.counts(mechanism, space, 1, m)[2] == 0
    assert far == pytest.approx(mass, abs=6 * np.sqrt(mass / m) + 5e-4)
    assert float(formulas.escape(2.0, alpha, bound)) == pytest.approx(mass, abs=5.1e-4)
    assert far <= mechanism.guarantee(space).infinite_loss_mass + 0.02


def test_guarantee_of_the_paper_tells_the_truth():
    space = MetricSpace(make_embeddings(40, 50))
    guarantee = TrLaplacePaper(1.0).guarantee(space)
    assert guarantee.status is Status.REFUTED
    assert guarantee.delta == guarantee.infinite_loss_mass == pytest.approx(0.7267, abs=1e-4)
    assert guarantee.claimed.delta == pytest.approx(4.0**-50)
    assert "0.7267" in guarantee.why
    assert TrLaplacePaper(20.0).guarantee(space).claimed.delta > 0  # 4^-1700 underflows
    assert TrLaplacePaper(1.0, 1e-9).guarantee(space).claimed.delta == 1e-9


def test_retention_ceiling_refutes_the_claim():
    """docs/proofs.md 4.2: no (epsilon, delta)-LDP mechanism keeps more words than this."""
    space = MetricSpace(make_embeddings(2000, 50))
    ids = np.tile(np.arange(space.n), 30)
    out = TrLaplacePaper(0.05).prepare(space).sample(ids, streams(len(ids)))
    n, delta = space.n, 4.0**-50
    ceiling = (np.exp(0.05) + (n - 1) * delta) / (np.exp(0.05) + n - 1)
    assert ceiling < 6e-4
    kept = np.count_nonzero(out == ids)
    assert stats.binom.sf(kept, len(ids), ceiling) < ALPHA


# Noise on points as they are: laplace, vickrey, rank-softmax, mahalanobis, pte.


PLACES = [0.0, 0.4, -0.7, 1.9, 1.5]
EPSILON = 1.3


def test_laplace_on_a_line():
    """In one dimension the noise is Laplace's, and a word comes out with the mass of its cell."""
    space = laws.line_space([0.0, 0.4, -0.7, 1.9, -2.2])
    law = laws.nearest_law(space, lambda x: laws.laplace_cdf(x, 1 / EPSILON))
    assert law[0, 0] == pytest.approx(1 - (np.exp(-1.3 * 0.35) + np.exp(-1.3 * 0.2)) / 2)
    laws.draws_follow(Laplace(EPSILON), space, (0, 3, 5), law)
    assert laws.metric_loss(space, law) <= EPSILON * (1 + 1e-9)
    found = Laplace(EPSILON).guarantee(space)
    assert found.epsilon_metric == EPSILON
    assert found.epsilon_ldp == pytest.approx(EPSILON * space.diameter)
    assert Laplace(EPSILON).noise_scale(space) == pytest.approx(np.sqrt(2) / EPSILON)


def exact(space, t, power=1, skip_input=False, epsilon=EPSILON):
    """Quadrature over the noisy point."""
    inputs = space.points(np.arange(space.n + 1))[:, 0]
    places = space.vectors[:, 0].astype(float)
    y = np.linspace(-18, 18, 30_001) + 1.7e-5
    law = np.zeros((space.n + 1, space.n))
    for row, x in enumerate(inputs):
        density = np.exp(-epsilon * np.abs(y - x))
        distances = np.abs(places[:, None] - y)
        if skip_input and row < space.n:
            distances[row] = np.inf
        order = np.argsort(distances, axis=0)[:2]
        d1, d2 = np.take_along_axis(distances, order, axis=0) ** power
        first = (1 - t) * d2 / (t * d1 + (1 - t) * d2)
        for at, share in zip(order, (first, 1 - first), strict=True):
            law[row] += np.bincount(at, density * share, space.n)
    return law / law.sum(axis=1, keepdims=True)


def test_vickrey_on_a_line():
    """Against squared distances, half the noise, and skipping the input: an infinite loss."""
    space = laws.line_space(PLACES)
    law, skips = exact(space, 0.75), exact(space, 0.75, skip_input=True)
    others = [exact(space, 0.75, power=2), exact(space, 0.75, epsilon=2 * EPSILON)]
    for word in (0, 3, len(PLACES)):
        laws.draws_follow(Vickrey(EPSILON), space, word, law, *others, *[skips] * (word < space.n))
    assert laws.metric_loss(space, law) <= EPSILON * (1 + 1e-6)
    assert np.isinf(laws.losses(skips)).any()


def test_ends_of_the_parameter():
    space = laws.line_space(PLACES)
    first = laws.counts(Vickrey(EPSILON, t=0.0), space, 1, 2000)
    assert (first == laws.counts(Laplace(EPSILON), space, 1, 2000)).all()
    pair = laws.line_space([0.0, 1.0])
    second = laws.counts(Vickrey(EPSILON, t=1.0), pair, 0, 2000)
    assert (second == laws.counts(Laplace(EPSILON), pair, 0, 2000)[::-1]).all()
    assert laws.counts(Vickrey(EPSILON), laws.line_space([2.0]), 0, 10).tolist() == [10]


C = 0.3
EIGHT = [0.0, 0.4, -0.7, 1.9, 1.5, -2.2, 3.0, 0.9]


def softmax_of_ranks(space, rate):
    """Row p: law of the output given pivot p, by ranking the whole vocabulary."""
    distances = np.linalg.norm(space.vectors[:, None].astype(float) - space.vectors, axis=2)
    np.fill_diagonal(distances, -1)
    weights = np.exp(-rate * np.argsort(np.argsort(distances, kind="stable"), kind="stable"))
    return weights / weights.sum(axis=1, keepdims=True)


def ranked(space, epsilon, c):
    pivots = laws.nearest_law(space, lambda x: laws.laplace_cdf(x, 1 / epsilon))
    return pivots @ softmax_of_ranks(space, c * epsilon)


def test_law_and_guarantee_on_a_line():
    """Against half the noise, and against another rate of ranks."""
    space = laws.line_space(EIGHT)
    law = ranked(space, EPSILON, C)
    others = [ranked(space, 2 * EPSILON, C / 2), ranked(space, EPSILON, 0.7 * C)]
    laws.draws_follow(RankSoftmax(EPSILON, C), space, (0, 5, len(EIGHT)), law, *others)
    assert laws.metric_loss(space, law) <= EPSILON * (1 + 1e-9)
    guarantee = RankSoftmax(EPSILON, C).guarantee(space)
    assert guarantee.epsilon_metric == EPSILON
    assert guarantee.epsilon_ldp == pytest.approx(EPSILON * 5.2, rel=1e-6)


@pytest.mark.parametrize("rate", [1e-12, 0.003, 0.4, 50.0])
def test_ranks_are_a_truncated_geometric(rate):
    n = 30
    ranks = draw_ranks(streams(40_000).uniform("rank")[:, 0], rate, n)
    law = np.exp(-rate * np.arange(n))
    assert fits(np.bincount(ranks, minlength=n), law / law.sum())
    # At the ends of the uniform grid.
    edge = draw_ranks(np.array([2.0**-53, 1 - 2.0**-53]), rate, n)
    assert edge[0] == 0 <= edge[1] <= n - 1


def test_ranks_from_the_true_word_are_caught():
    """Two words 0.002 apart between two groups: their rankings put different groups first."""
    left, right = -1 - np.arange(60) / 1e4, 1 + np.arange(60) / 1e4
    space = laws.line_space([-0.001, 0.001, *left, *right])
    epsilon, c = 1.0, 0.04
    assert laws.metric_loss(space, ranked(space, epsilon, c)) <= epsilon * (1 + 1e-9)
    planted = softmax_of_ranks(space, c * epsilon)  # ranks of w itself
    planted = np.vstack([planted, planted.mean(axis=0)])
    assert laws.metric_loss(space, planted) > 85.7 * epsilon


@pytest.mark.parametrize("held", [1, 7, 1 << 22])
def test_words_of_ranks_are_those_of_whole_rankings(monkeypatch, held):
    """Few pivots and many, ranks of every size, and little room."""
    monkeypatch.setattr("dpsan.mechanisms.laplace._HELD", held)
    space, generator = MetricSpace(make_embeddings(300, 3)), np.random.default_rng(2)
    ranking = space.neighbors(np.arange(300), 300)
    for size in (1, 5, 400, 400, 50):
        pivots = generator.integers(0, 300, size)
        ranks = np.minimum(generator.zipf(1.3, size) - 1, 299)
        assert (words_of_rank(space, pivots, ranks) == ranking[pivots, ranks]).all()


def stretched_space(n=400, d=4):
    vectors = make_embeddings(n, d).vectors * np.array([4, 1, 0.5, 0.1], dtype=np.float32)
    return laws.space_of(vectors @ np.linalg.qr(make_embeddings(d, d, seed=3).vectors)[0])


def matrix(space, lam):
    centred = space.vectors - space.centroid
    sigma = centred.T @ centred / space.n
    return lam * sigma * space.d / np.trace(sigma) + (1 - lam) * np.eye(space.d)


@pytest.mark.parametrize("lam", [0.0, 0.2, 0.9, 1.0])
def test_noise_of_mahalanobis(lam):
    space, epsilon = stretched_space(), 1.7
    sampler = Mahalanobis(epsilon, lam).noise(space)
    assert sampler is not None
    noise = sampler.noise(streams(30_000), space.d)
    s = matrix(space, lam)
    radius = np.sqrt(np.einsum("md,de,me->m", noise, np.linalg.inv(s), noise))
    gamma = stats.gamma(space.d, 0, 1 / epsilon).cdf
    assert stats.kstest(radius, gamma).pvalue > ALPHA
    assert stats.kstest(radius / 2, gamma).pvalue < ALPHA  # half the noise
    covariance = (space.d + 1) / epsilon**2 * s
    assert np.allclose(np.cov(noise.T), covariance, atol=0.06 * np.abs(covariance).max())
    scale = Mahalanobis(epsilon, lam).noise_scale(space)
    assert np.sqrt((noise**2).mean()) == pytest.approx(scale, rel=0.03)
    if lam >= 0.9:  # the field's defect 10: directions re-normalised after the root
        length = np.linalg.norm(noise, axis=1)
        # The length before the root is the radius; the wrong one is re-normalised to it.
        assert stats.kstest(radius / length * radius, gamma).pvalue < ALPHA


@pytest.mark.parametrize("lam", [0.0, 0.2, 0.9])
def test_both_metrics_by_brute_force(lam):
    space, epsilon = stretched_space(150), 1.7
    mechanism = Mahalanobis(epsilon, lam)
    guarantee = mechanism.guarantee(space)
    points = space.points(np.arange(space.n + 1))
    euclidean = pdist(points)
    mahalanobis = pdist(points, "mahalanobis", VI=np.linalg.inv(matrix(space, lam)))
    largest = epsilon * mahalanobis.max()
    assert largest <= guarantee.epsilon_ldp <= largest * (1 + 1e-5)
    assert guarantee.epsilon_metric >= epsilon * (mahalanobis / euclidean).max()
    assert guarantee.also == (("mahalanobis", epsilon),)


@pytest.mark.parametrize(("lam", "bound"), [(0.2, 1.118), (0.5, 1.4142), (0.9, 3.1623)])
def test_factor_of_mahalanobis_is_bounded(lam, bound):
    factor = Mahalanobis(1.0, lam).factor(stretched_space())
    assert 1 < factor <= 1 / np.sqrt(1 - lam) * (1 + 2e-9)
    assert factor < bound * 1.001
    flat = MetricSpace(make_embeddings(50, 5))  # all eigenvalues about 1: hardly a factor
    assert Mahalanobis(1.0, lam).factor(flat) < factor


def test_a_rank_deficient_vocabulary_reaches_the_bound():
    space = laws.space_of(np.pad(make_embeddings(50, 3).vectors, ((0, 0), (0, 2))))
    assert Mahalanobis(1.0, 0.9).factor(space) == pytest.approx(3.1623, abs=1e-4)
    with pytest.raises(UsageError, match="singular"):
        Mahalanobis(1.0, 1.0).guarantee(space)


def test_projection_is_public_and_fixed():
    phi = projection(50, 8)
    assert (phi == projection(50, 8)).all()
    assert stats.kstest(phi.ravel() * np.sqrt(8), "norm").pvalue > ALPHA
    # A mechanism's meaning never changes, and neither does its public matrix.
    ends = (-0.4773417367824018, -0.04318312679763129)
    assert (phi[0, 0], phi[-1, -1]) == pytest.approx(ends, rel=1e-12)


@pytest.mark.parametrize("m", [1, 3, 8, 20])
def test_factor_of_the_projection_is_the_maximum_over_all_inputs(m):
    space = MetricSpace(make_embeddings(700, 20))
    factor = ProjectedLaplace(1.0, m).factor(space)
    points = space.points(np.arange(space.n + 1))
    exact = (pdist(points @ projection(20, m)) / pdist(points)).max()
    assert exact <= factor <= exact * (1 + 1e-5)
    assert factor <= np.linalg.norm(projection(20, m), 2) * (1 + 1e-5)


def test_noise_of_the_projection():
    space, mechanism = MetricSpace(make_embeddings(300, 20)), ProjectedLaplace(3.0, 4)
    sampler = mechanism.noise(space)
    assert sampler is not None
    radius = np.linalg.norm(sampler.noise(streams(20_000), 4), axis=1)
    law = (4, 0, mechanism.factor(space) / 3.0)
    assert stats.kstest(radius, "gamma", law).pvalue > ALPHA
    assert stats.kstest(radius / 2, "gamma", law).pvalue < ALPHA
    # Epsilon not divided by the factor.
    assert stats.kstest(radius, "gamma", (4, 0, 1 / 3.0)).pvalue < ALPHA


def test_few_dimensions_and_equal_words():
    mechanism = ProjectedLaplace(1.0)
    assert mechanism.projected(MetricSpace(make_embeddings(30, 3))).d == 3
    sampler = mechanism.prepare(laws.space_of(np.ones((4, 3))))
    assert (sampler.sample(np.arange(4), streams(4)) == 0).all()
