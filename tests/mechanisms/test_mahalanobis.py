"""``mahalanobis``: the law of the stretched noise, both metrics, and re-normalised noise."""

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import pdist
from support import ALPHA, make_embeddings, streams

from dpsan.embeddings.base import Embeddings
from dpsan.errors import UsageError
from dpsan.mechanisms.mahalanobis import Mahalanobis
from dpsan.space.metric_space import MetricSpace


def stretched_space(n=400, d=4):
    vectors = make_embeddings(n, d).vectors * np.array([4, 1, 0.5, 0.1], dtype=np.float32)
    rotation = np.linalg.qr(make_embeddings(d, d, seed=3).vectors)[0]
    vectors = np.ascontiguousarray(vectors @ rotation, dtype=np.float32)
    return MetricSpace(Embeddings([f"w{i}" for i in range(n)], vectors, "made-up", "stretched"))


def matrix(space, lam):
    centred = space.vectors - space.centroid
    sigma = centred.T @ centred / space.n
    return lam * sigma * space.d / np.trace(sigma) + (1 - lam) * np.eye(space.d)


@pytest.mark.parametrize("lam", [0.0, 0.2, 0.9, 1.0])
def test_noise_law(lam):
    space, epsilon = stretched_space(), 1.7
    sampler = Mahalanobis(epsilon, lam).prepare(space)
    noise = sampler.noise(streams(30_000), space.d)
    s = matrix(space, lam)
    radius = np.sqrt(np.einsum("md,de,me->m", noise, np.linalg.inv(s), noise))
    gamma = ("gamma", (space.d, 0, 1 / epsilon))
    assert stats.kstest(radius, gamma[0], gamma[1]).pvalue > ALPHA
    assert stats.kstest(radius / 2, gamma[0], gamma[1]).pvalue < ALPHA  # half the noise
    covariance = (space.d + 1) / epsilon**2 * s
    assert np.allclose(np.cov(noise.T), covariance, atol=0.06 * np.abs(covariance).max())
    assert noise.std(axis=0).max() > 0
    assert np.sqrt((noise**2).mean()) == pytest.approx(
        Mahalanobis(epsilon, lam).noise_scale(space), rel=0.03
    )
    if lam >= 0.9:  # the field's defect 10: directions re-normalised after the root
        length = np.linalg.norm(noise, axis=1, keepdims=True)
        plain = np.linalg.norm(noise @ np.linalg.inv(_root(s)), axis=1, keepdims=True)
        renormalised = noise / length * plain
        wrong = np.sqrt(np.einsum("md,de,me->m", renormalised, np.linalg.inv(s), renormalised))
        assert stats.kstest(wrong, gamma[0], gamma[1]).pvalue < ALPHA


def _root(s):
    values, vectors = np.linalg.eigh(s)
    return (vectors * np.sqrt(values)) @ vectors.T


@pytest.mark.parametrize("lam", [0.0, 0.2, 0.9])
def test_both_metrics_by_brute_force(lam):
    space, epsilon = stretched_space(150), 1.7
    mechanism = Mahalanobis(epsilon, lam)
    guarantee = mechanism.guarantee(space)
    inverse = np.linalg.inv(_root(matrix(space, lam)))
    points = space.points(np.arange(space.n + 1))
    mahalanobis, euclidean = pdist(points @ inverse), pdist(points)
    assert guarantee.epsilon_ldp == pytest.approx(epsilon * mahalanobis.max(), rel=1e-5)
    assert guarantee.epsilon_ldp >= epsilon * mahalanobis.max()
    assert guarantee.epsilon_metric >= epsilon * (mahalanobis / euclidean).max()
    assert guarantee.also == (("mahalanobis", epsilon),)


@pytest.mark.parametrize(("lam", "bound"), [(0.2, 1.118), (0.5, 1.4142), (0.9, 3.1623)])
def test_factor_is_bounded(lam, bound):
    factor = Mahalanobis(1.0, lam).factor(stretched_space())
    assert 1 < factor <= 1 / np.sqrt(1 - lam) * (1 + 2e-9)
    assert factor < bound * 1.001
    flat = MetricSpace(make_embeddings(50, 5))  # all eigenvalues about 1: hardly a factor
    assert Mahalanobis(1.0, lam).factor(flat) < factor


def test_a_rank_deficient_vocabulary_reaches_the_bound():
    vectors = np.pad(make_embeddings(50, 3).vectors, ((0, 0), (0, 2)))
    space = MetricSpace(Embeddings([f"w{i}" for i in range(50)], vectors, "made-up", "flat"))
    assert Mahalanobis(1.0, 0.9).factor(space) == pytest.approx(3.1623, abs=1e-4)
    with pytest.raises(UsageError, match="singular"):
        Mahalanobis(1.0, 1.0).guarantee(space)


def test_real_vectors(glove):
    words = [str(row) for row in range(3000)]
    vectors = np.ascontiguousarray(glove[1].vectors[:3000])
    space = MetricSpace(Embeddings(words, vectors, "glove", "glove-3000"))
    guarantee = Mahalanobis(5.0).guarantee(space)
    assert 5.0 < guarantee.epsilon_metric < 5 * 1.118
    assert guarantee.epsilon_ldp <= guarantee.epsilon_metric * space.diameter
