"""Clipping and diameters against all pairs."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from support import make_embeddings

from dpsan import sensitivity
from dpsan.space import MetricSpace


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("n", "d"), [(1, 3), (2, 1), (40, 2), (700, 6)])
def test_l1_diameter_is_exact(n, d, seed):
    space = MetricSpace(make_embeddings(n, d, seed))
    exact = pdist(space.vectors.astype(float), "cityblock").max(initial=0.0)
    found = sensitivity.l1_diameter(space, sensitivity.largest_norm(space.vectors))
    assert exact <= found <= exact * (1 + 1e-8) + 1e-30


def test_l1_diameter_falls_back_to_a_bound(monkeypatch):
    space = MetricSpace(make_embeddings(300, 4))
    exact = pdist(space.vectors.astype(float), "cityblock").max()
    monkeypatch.setattr(sensitivity, "_WORK", 0)
    bound = sensitivity.l1_diameter(space, sensitivity.largest_norm(space.vectors))
    assert exact < bound <= 2 * np.sqrt(4) * sensitivity.largest_norm(space.vectors) * (1 + 1e-8)


def test_the_centroid_is_covered():
    space = MetricSpace(make_embeddings(60, 5))
    radius = sensitivity.largest_norm(space.vectors)
    to_centroid = np.abs(space.vectors - space.centroid).sum(axis=1).max()
    assert to_centroid <= sensitivity.l1_diameter(space, radius)


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
