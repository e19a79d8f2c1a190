import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import make_embeddings

from dpsan.embeddings.base import Embeddings
from dpsan.embeddings.cache.store import Store
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
