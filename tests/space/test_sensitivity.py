"""Clipping and diameters against all pairs."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from support import make_embeddings

from dpsan.embeddings.base import Embeddings
from dpsan.errors import UsageError
from dpsan.mechanisms.clipped_laplace import ClippedLaplace
from dpsan.mechanisms.gaussian import AnalyticGaussian
from dpsan.mechanisms.trlaplace import TrLaplace
from dpsan.space import diameters as sensitivity
from dpsan.space.arrays import largest_norm
from dpsan.space.metric_space import MetricSpace


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("n", "d"), [(1, 3), (2, 1), (40, 2), (700, 6)])
def test_l1_diameter_is_exact_or_a_bound(monkeypatch, n, d, seed):
    """Among the words and their centroid."""
    space = MetricSpace(make_embeddings(n, d, seed))
    exact = pdist(space.vectors.astype(float), "cityblock").max(initial=0.0)
    radius = largest_norm(space.vectors)
    found = sensitivity.l1_diameter(space, radius)
    assert exact <= found <= exact * (1 + 1e-8) + 1e-30
    assert n == 1 or np.abs(space.vectors - space.centroid).sum(axis=1).max() <= found
    monkeypatch.setattr("dpsan.space.metric_space._EAGER_FLOPS", 0)
    bound = sensitivity.l1_diameter(MetricSpace(make_embeddings(n, d, seed)), radius)
    assert n == 1 or exact < bound
    assert bound <= 2 * np.sqrt(d) * radius * (1 + 1e-8)


def test_clipping():
    space = MetricSpace(make_embeddings(200, 5))
    same, radius = sensitivity.clipped(space, "auto")
    assert same is space
    norms = np.linalg.norm(space.vectors.astype(float), axis=1)
    assert norms.max() <= radius <= norms.max() * (1 + 1e-8)
    moved, radius = sensitivity.clipped(space, 1.5)
    after = np.linalg.norm(moved.vectors.astype(float), axis=1)
    assert radius == 1.5
    assert after.max() <= 1.5
    assert np.allclose(after, np.minimum(norms, 1.5), rtol=1e-6)
    inside = norms < 1.5
    assert (moved.vectors[inside] == space.vectors[inside]).all()
    before, new = pdist(space.vectors.astype(float)), pdist(moved.vectors.astype(float))
    assert (new <= before * (1 + 1e-6)).all()
    assert sensitivity.l2_diameter(moved, radius) <= 3.0
    assert sensitivity.clipped(space, 100.0)[1] == 100.0


@pytest.mark.parametrize("scale", [1e-41, 1e-36, 1e-30, 1e-20, 1.0, 1e15, 1e30])
@pytest.mark.parametrize("clip", [1e-44, 3e-42, 1e-39, 1e-31, 1e-29, 1e-20, 1e-3, 1e10])
def test_no_clipped_vector_lies_beyond_the_radius(scale, clip):
    """In the denormal numbers of float32 a factor rounds up by a third: refused, or exact."""
    made = make_embeddings(200, 5)
    vectors = (made.vectors * scale).astype(np.float32)
    vectors[1] *= np.float32(1e-3)
    space = MetricSpace(Embeddings(made.index_to_key, vectors, "made-up", f"scaled {scale}"))
    largest = largest_norm(vectors)
    if clip < min(largest, 2.0**-100 * max(largest, 1)):  # what needs no clipping is taken
        with pytest.raises(UsageError, match=r"32 bits .*\(got "):
            sensitivity.clipped(space, clip)
        return
    moved, radius = sensitivity.clipped(space, clip)
    after = largest_norm(moved.vectors)
    assert after <= radius * (1 + 1e-8)
    assert after <= clip * (1 + 1e-8)
    assert pdist(moved.vectors.astype(float)).max() <= 2 * radius
    # The clipped words keep their directions.
    longest = int(np.argmax(np.linalg.norm(vectors.astype(float), axis=1)))
    before, new = vectors[longest].astype(float), moved.vectors[longest].astype(float)
    ratio = new / before
    assert np.allclose(ratio, ratio[0], rtol=1e-5)


def test_gaussian_noise_in_the_denormals_is_refused():
    """Its delta was 4.1e-6 where 1e-6 was printed."""
    space = MetricSpace(make_embeddings(50, 5))
    gaussians = AnalyticGaussian(1.0, 1e-6, 1e-44), TrLaplace(1.0, 1e-6, 1e-44)
    for mechanism in (*gaussians, ClippedLaplace(1.0, 1e-44)):
        with pytest.raises(UsageError, match="32 bits"):
            mechanism.prepare(space)
