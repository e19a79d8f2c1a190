"""The float32 search: the same rows however the work is shared out, and never fewer."""

import faiss
import numpy as np
import pytest

from dpsan.space import exact_search as flat_search
from dpsan.space.exact_search import FlatIndex, least_values


@pytest.fixture
def threads(request):
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(request.param)
    yield request.param
    faiss.omp_set_num_threads(before)


def made(n, m, d=6):
    generator = np.random.default_rng(4)
    return (generator.normal(size=(size, d)).astype(np.float32) for size in (n, m))


SIZES = [(50, 1, 1), (50, 3, 5), (50, 4, 50), (50, 5, 5), (50, 7, 50), (2, 40, 2), (60, 1023, 5)]


@pytest.mark.parametrize("threads", [1, 2, 3], indirect=True)
@pytest.mark.parametrize("rows", [4, 1 << 14])
@pytest.mark.parametrize(("n", "m", "width"), [*SIZES, (60, 3077, 5)])
def test_the_least_values_whoever_finds_them(monkeypatch, threads, rows, n, m, width):
    """Few points (rows are shared), many (points are), more threads than rows, tiny parts."""
    monkeypatch.setattr(flat_search, "_ONE_THREAD_FLOPS", 1.0)
    monkeypatch.setattr(flat_search, "_ROWS", rows)
    vectors, points = made(n, m)
    found, values = least_values(vectors, points, width)
    exact = ((points.astype(np.float64)[:, None] - vectors) ** 2).sum(axis=2)
    assert found.shape == values.shape == (m, width)
    assert (np.diff(values) >= 0).all()
    assert np.allclose(values, np.sort(exact, axis=1)[:, :width], rtol=1e-4, atol=1e-5)
    assert np.allclose(values, np.take_along_axis(exact, found, axis=1), rtol=1e-4, atol=1e-5)
    assert (np.diff(np.sort(found, axis=1)) > 0).all()  # no row twice
    assert faiss.omp_get_max_threads() == threads


@pytest.mark.parametrize("threads", [2], indirect=True)
def test_answers_depend_on_neither_threads_nor_batch(monkeypatch, threads):
    """With ties and near ties, which float32 orders at will."""
    vectors, points = made(200, 1500)
    vectors = np.concatenate([vectors, vectors, vectors + np.float32(1e-7)])
    index = FlatIndex(vectors)
    alone = index.search(points.astype(np.float64), 5)
    nearest = index.nearest(points.astype(np.float64))
    monkeypatch.setattr(flat_search, "_ONE_THREAD_FLOPS", 1.0)
    monkeypatch.setattr(flat_search, "_ROWS", 64)
    for at in (slice(None), slice(3, 200), *(slice(at, at + 1 + at % 6) for at in range(40))):
        shared = index.search(points[at].astype(np.float64), 5)
        assert (shared[0] == alone[0][at]).all()
        assert (shared[1] == alone[1][at]).all()
        assert (index.nearest(points[at].astype(np.float64)) == nearest[at]).all()


@pytest.mark.parametrize("scale", [1e-30, 1e-24, 1e-21, 1e-18, 1.0, 1e17, 1e18, 1e19, 1e30])
@pytest.mark.parametrize("far", [1.0, 1e3])
def test_where_float32_ends(scale, far):
    """Products that vanish or overflow: the answer is still that of float64, in any batch."""
    vectors, points = made(300, 24)
    vectors[200:] = vectors[:100] + np.float32(1e-7)
    with np.errstate(over="ignore", invalid="ignore"):
        vectors = (vectors * np.float64(scale)).astype(np.float32)
        points = points.astype(np.float64) * scale * far
        index = FlatIndex(vectors)
        exact = [index._all(point, 3)[0].tolist() for point in points]
        for size in (1, 3, 24):
            for at in range(0, 24, size):
                part = points[at : at + size]
                assert index.search(part, 3)[0].tolist() == exact[at : at + size]
                assert index.nearest(part).tolist() == [row[0] for row in exact[at : at + size]]


@pytest.mark.parametrize("scale", [1e19, 1e25, 1e38])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 9])
def test_long_vectors_of_few_words(scale, n):
    """FAISS gives no row where all values overflow; the answers are still whole and right."""
    vectors = np.random.default_rng(n).normal(size=(n, 3)) * scale
    vectors = np.clip(vectors, -3e38, 3e38).astype(np.float32)
    index, own = FlatIndex(vectors), vectors.astype(np.float64)
    points = np.concatenate([own, 0.9 * own + 0.1 * own[::-1], [[1e39, 0.0, 0.0]]])
    exact = ((points[:, None] - own) ** 2).sum(axis=2)
    order = np.argsort(exact, axis=1, kind="stable")
    assert (index.nearest(points) == order[:, 0]).all()
    for k in range(1, n + 1):
        found, distances = index.search(points, k)
        assert (found == order[:, :k]).all()
        assert np.allclose(distances**2, np.take_along_axis(exact, found, axis=1))
