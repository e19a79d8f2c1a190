import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from support import make_embeddings

from dpsan.embeddings.base import Embeddings
from dpsan.embeddings.cache.store import Store
from dpsan.errors import UsageError
from dpsan.mechanisms.clipped_laplace import ClippedLaplace
from dpsan.mechanisms.gaussian import AnalyticGaussian
from dpsan.mechanisms.trlaplace import TrLaplace
from dpsan.space import diameters as sensitivity
from dpsan.space.arrays import largest_norm
from dpsan.space.exact_search import FlatIndex
from dpsan.space.metric_space import MetricSpace, diameter_bound


def brute(vectors, points):
    return np.linalg.norm(points[:, None, :] - vectors[None].astype(np.float64), axis=2)


@pytest.mark.parametrize("scale", [0.0, 0.5, 10.0, 1e4, 1e9])
@pytest.mark.parametrize("k", [1, 4, 300])
def test_search_is_exact_at_every_distance(scale, k):
    """Far points are where float32 alone goes wrong."""
    generator = np.random.default_rng(1)
    vectors = generator.normal(size=(300, 12)).astype(np.float32)
    vectors[17] = vectors[5]  # a tie, to be broken by row number
    points = vectors[:40].astype(np.float64) + scale * generator.normal(size=(40, 12))
    distances = brute(vectors, points)
    ids, near = FlatIndex(vectors).search(points, k)
    assert (ids == np.argsort(distances, axis=1, kind="stable")[:, :k]).all()
    assert np.allclose(near, np.sort(distances, axis=1)[:, :k], rtol=1e-12)


def test_distances_and_the_centroid_of_unknown_words(space):
    ids = np.array([0, 5, space.n])
    points = space.points(ids)
    assert np.allclose(points[2], space.vectors.mean(axis=0))
    expected = brute(space.vectors, points)
    assert np.abs(space.distances(ids) - expected).max() <= space.lattice.error
    assert space.distances(ids)[1, 5] == 0


@given(n=st.integers(1, 80), d=st.integers(1, 6), seed=st.integers(0, 1000), skew=st.floats(0.1, 3))
def test_diameter(n, d, seed, skew):
    generator = np.random.default_rng(seed)
    vectors = (generator.normal(size=(n, d)) * generator.gamma(skew, size=(n, 1))).astype("f4")
    bound, exact = diameter_bound(vectors)
    true = brute(vectors, vectors.astype(np.float64)).max()
    assert exact
    assert true <= bound <= true * (1 + 1e-6) + 1e-9


def test_diameter_bound_when_exact_is_too_dear(monkeypatch):
    monkeypatch.setattr("dpsan.space.metric_space._EAGER_FLOPS", 10)
    vectors = make_embeddings().vectors
    bound, exact = diameter_bound(vectors)
    assert not exact
    assert bound >= brute(vectors, vectors.astype(np.float64)).max()


def test_tables_are_built_once(embeddings, tmp_path, monkeypatch):
    built, get = [], Store.get

    def kept(self, kind, key, build):
        return get(self, kind, key, lambda: built.append(key) or build())

    monkeypatch.setattr(Store, "get", kept)
    for _ in range(2):
        space = MetricSpace(embeddings, Store(tmp_path), "key")
        assert space.diameter == space.diameter
        moved = space.transformed("half", embeddings.vectors * 0.5)
        assert moved.diameter == pytest.approx(space.diameter / 2)
    assert built == ["key/diameter", "key/half/diameter"]


def test_neighbors_put_the_word_itself_first():
    """Among equal vectors, for every k; and where only some words are outputs."""
    vectors = np.repeat(np.random.default_rng(3).normal(size=(10, 2)), 3, axis=0)[::-1]
    words = [str(row) for row in range(len(vectors))]
    space = MetricSpace(Embeddings(words, vectors.astype(np.float32), "", "made-up"))
    rows = ((vectors[:, None] - vectors) ** 2).sum(axis=2)
    np.fill_diagonal(rows, -1.0)
    ids = np.arange(space.n)
    for k in (1, 2, 3, 7, space.n):
        for outputs in {space.n, max(k, 20)}:
            order = np.argsort(rows[:, :outputs], axis=1, kind="stable")
            assert (space.neighbors(ids, k, outputs=outputs) == order[:, :k]).all()
        assert (space.neighbors(ids, k) == np.argsort(rows, axis=1, kind="stable")[:, :k]).all()


@pytest.mark.parametrize("d", [1, 3, 300, 10_000])
def test_the_hint_names_a_number_of_words_that_is_not_too_many(d):
    vectors = np.ones((3, d), dtype=np.float32)
    space = MetricSpace(Embeddings(["a", "b", "c"], vectors, "", "made-up"))
    most = int(space.fewer.shell.removeprefix("such as --vocab-size "))
    assert str(most) in space.fewer.python
    space.n = most
    assert space.eager(most)
    space.n = int(most * 1.1) + 1
    assert not space.eager(space.n)


# Clipping and diameters against all pairs.


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
