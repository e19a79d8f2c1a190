"""Noise on points as they are: laplace, vickrey, rank-softmax, mahalanobis, pte."""

import line_laws as laws
import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import pdist
from support import ALPHA, fits, make_embeddings, streams

from dpsan.errors import UsageError
from dpsan.mechanisms.laplace import Laplace
from dpsan.mechanisms.mahalanobis import Mahalanobis
from dpsan.mechanisms.pte import ProjectedLaplace, projection
from dpsan.mechanisms.rank_softmax import RankSoftmax, draw_ranks, words_of_rank
from dpsan.mechanisms.vickrey import Vickrey
from dpsan.space.metric_space import MetricSpace

LINE = [0.0, 0.4, -0.7, 1.9, 1.5]
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
    space = laws.line_space(LINE)
    law, skips = exact(space, 0.75), exact(space, 0.75, skip_input=True)
    others = [exact(space, 0.75, power=2), exact(space, 0.75, epsilon=2 * EPSILON)]
    for word in (0, 3, len(LINE)):
        laws.draws_follow(Vickrey(EPSILON), space, word, law, *others, *[skips] * (word < space.n))
    assert laws.metric_loss(space, law) <= EPSILON * (1 + 1e-6)
    assert np.isinf(laws.losses(skips)).any()


def test_ends_of_the_parameter():
    space = laws.line_space(LINE)
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
    monkeypatch.setattr("dpsan.mechanisms.rank_softmax._HELD", held)
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
