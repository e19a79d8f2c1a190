"""``pte``: the factor is sound on every pair, the noise is what it says."""

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import pdist
from support import ALPHA, make_embeddings, streams

from dpsan.embeddings.base import Embeddings
from dpsan.mechanisms.pte import ProjectedLaplace, projection
from dpsan.space.diameters import largest_stretch
from dpsan.space.metric_space import MetricSpace


def test_projection_is_public_and_fixed():
    phi = projection(50, 8)
    assert (phi == projection(50, 8)).all()
    assert stats.kstest(phi.ravel() * np.sqrt(8), "norm").pvalue > ALPHA
    # A mechanism's meaning never changes, and neither does its public matrix.
    assert phi[0, 0] == pytest.approx(-0.4773417367824018, rel=1e-12)
    assert phi[-1, -1] == pytest.approx(-0.04318312679763129, rel=1e-12)


@pytest.mark.parametrize("m", [1, 3, 8, 20])
def test_factor_is_the_maximum_over_all_inputs(m):
    space = MetricSpace(make_embeddings(700, 20))
    factor = ProjectedLaplace(1.0, m).factor(space)
    points = space.points(np.arange(space.n + 1))
    exact = (pdist(points @ projection(20, m)) / pdist(points)).max()
    assert exact <= factor <= exact * (1 + 1e-5)
    assert factor <= np.linalg.norm(projection(20, m), 2) * (1 + 1e-5)


def test_near_and_equal_pairs():
    points = make_embeddings(50, 6).vectors.astype(float)
    points[1] = points[0]
    phi = projection(6, 2)
    s = np.linalg.svd(phi.T)[2][0]  # the direction of largest stretch
    points[3] = points[2] + 1e-7 * s
    largest = np.linalg.norm(phi, 2)
    assert largest_stretch(points, points @ phi) == pytest.approx(largest, rel=1e-5)


def test_metric_bound_with_the_rounded_points():
    """epsilon'·distance(projected) <= epsilon·distance + slack for every pair of inputs."""
    space = MetricSpace(make_embeddings(300, 20))
    mechanism = ProjectedLaplace(3.0, 4)
    guarantee, inner = mechanism.guarantee(space), 3.0 / mechanism.factor(space)
    inputs = np.arange(space.n + 1)
    projected = pdist(mechanism.projected(space).points(inputs))
    assert (inner * projected <= 3.0 * pdist(space.points(inputs)) + guarantee.slack).all()
    assert inner * projected.max() <= guarantee.epsilon_ldp
    assert guarantee.slack < 1e-4


def test_noise():
    space = MetricSpace(make_embeddings(300, 20))
    mechanism = ProjectedLaplace(3.0, 4)
    sampler = mechanism.prepare(space)
    radius = np.linalg.norm(sampler.noise(streams(20_000), 4), axis=1)
    law = (4, 0, mechanism.factor(space) / 3.0)
    assert stats.kstest(radius, "gamma", law).pvalue > ALPHA
    assert stats.kstest(radius / 2, "gamma", law).pvalue < ALPHA
    unscaled = (4, 0, 1 / 3.0)  # epsilon not divided by the factor
    assert stats.kstest(radius, "gamma", unscaled).pvalue < ALPHA


def test_more_dimensions_than_the_vectors_have():
    space = MetricSpace(make_embeddings(30, 3))
    assert ProjectedLaplace(1.0).projected(space).d == 3


def test_duplicate_words_only():
    vectors = np.ones((4, 3), dtype=np.float32)
    space = MetricSpace(Embeddings(list("abcd"), vectors, "made-up", "ones"))
    out = ProjectedLaplace(1.0).prepare(space).sample(np.arange(4), streams(4))
    assert (out == 0).all()
