"""The search by small integers: the answers are those of the float32 search, and of float64."""

import sys

import faiss
import numpy as np
import pytest
from support import cases, need_extra

from dpsan.space import exact_search, int8_product, int8_search
from dpsan.space.exact_search import FlatIndex
from dpsan.space.int8_search import SmallIntegers


class Exact:
    """What the kernel has to compute, by numpy."""

    def __init__(self, points, level, rows):
        assert np.abs(points).max() <= 127
        self.points = points.T.astype(np.int32)
        self.zero = level + 1

    @staticmethod
    def rows(small):
        return small

    def __call__(self, rows):
        assert rows.min() >= 1
        assert rows.max() <= 2 * self.zero - 1
        return (rows.astype(np.int32) - self.zero) @ self.points


class Saturating(Exact):
    """A processor without VNNI: two products are added in 16 bits."""

    def __call__(self, rows):
        out = -self.zero * np.broadcast_to(self.points.sum(axis=0), (len(rows), len(self.points.T)))
        rows = rows.astype(np.int32)
        for at in range(0, len(self.points), 2):
            out = out + (rows[:, at : at + 2] @ self.points[at : at + 2]).clip(-(2**15), 2**15 - 1)
        return out


@pytest.fixture(autouse=True)
def forget():
    """Nothing is remembered of kernels of other tests."""
    known = (int8_product._session, int8_product.levels)
    for each in known:
        each.cache_clear()
    yield
    for each in known:
        each.cache_clear()


@pytest.fixture(params=["numpy", "onnxruntime"])
def at_once(request, monkeypatch):
    """Searches go by integers from the first, whether or not that is faster."""
    if request.param == "numpy":
        monkeypatch.setattr(int8_search, "Product", Exact)
        monkeypatch.setattr(int8_search, "levels", lambda: 127)
    else:
        need_extra("fast")
        assert int8_product.levels() in (63, 127)
    monkeypatch.setattr(exact_search, "threads", lambda: 1)  # else FAISS has some of the points
    monkeypatch.setattr(exact_search, "_WORTH", 0.0)
    monkeypatch.setattr(exact_search, "_POINTS_WORTH", 0)


def made(n=2600, m=300, d=9, spread=0.3, noise=1.0):
    """Vectors, half of them twice, of different lengths; points near them."""
    generator = np.random.default_rng(n + d)
    vectors = generator.normal(size=(n, d)) * np.exp(spread * generator.normal(size=(n, 1)))
    vectors[n // 2 : n // 2 + 500] = vectors[:500]
    points = vectors[generator.integers(0, n, m)] + noise * generator.normal(size=(m, d))
    return vectors.astype(np.float32), points


def plain(vectors):
    index = FlatIndex(vectors)
    index.integers = False
    return index


@pytest.mark.parametrize("noise", [0.0, 3.0, 1e6])
@pytest.mark.parametrize(("n", "d"), [(2049, 3), (2600, 9)])
def test_the_same_rows_and_distances(at_once, n, d, noise):
    vectors, points = made(n, 300, d, noise=noise)
    index, other = FlatIndex(vectors), plain(vectors)
    for k in (1, 2, 4, 8, 9):
        for size in (64, 300):
            before = FlatIndex.by_integers
            found, distances = index.search(points[:size], k)
            assert FlatIndex.by_integers == before + (k <= 8) * size
            expected = other.search(points[:size], k)
            assert (found == expected[0]).all()
            assert (distances == expected[1]).all()
    assert (index.nearest(points) == other.nearest(points)).all()
    whole = [index._all(point, 4)[0].tolist() for point in points[:40]]
    assert index.search(points[:64], 4)[0][:40].tolist() == whole


FEW = [(k, level, {"d": 40}) for k in (1, 2, 4, 7, 8) for level in (63, 127)]
LENGTHS = [(1, 63, {"n": 5000, "d": 20, "spread": spread}) for spread in (0.6, 2.0)]


@cases("k level of", *FEW, *LENGTHS)
def test_few_rows_are_left_and_the_nearest_among_them(monkeypatch, k, level, of):
    """Twin of the next test."""
    assert missed(monkeypatch, made(**of), k, level) == 0


def test_without_the_bound_rows_are_missed(monkeypatch):
    assert missed(monkeypatch, made(d=40, noise=30), 1, 63, bound=0.0) > 0


def missed(monkeypatch, both, k, level, bound=1.0):
    vectors, points = both
    monkeypatch.setattr(int8_search, "Product", Exact)
    small = SmallIntegers(vectors, level)
    small._norms *= bound
    small._lost *= bound
    small._parts[..., 1:3] *= bound
    found = small.candidates(points, k)
    assert found.lost.mean() < 0.2
    assert len(found.rows) < 60 * len(points)
    assert (np.diff(found.points * len(vectors) + found.rows) > 0).all()  # ascending, none twice
    pairs = set(zip(found.points.tolist(), found.rows.tolist(), strict=True))
    nearest = plain(vectors).search(points, k)[0]
    wanted = [(at, row) for at in np.flatnonzero(~found.lost) for row in nearest[at].tolist()]
    return sum(pair not in pairs for pair in wanted)


@pytest.mark.parametrize("many", [1, 64])
def test_many_rows_at_once(monkeypatch, many):
    """Bounds are looked at whenever that many were found, and equal ones are all kept."""
    monkeypatch.setattr(int8_search, "_MANY", many)
    vectors, points = made(6000, 100, 20)
    vectors[::100] = vectors[0]
    points[:50] = vectors[0] + 1e-3
    assert missed(monkeypatch, (vectors, points), 4, 127) == 0


@pytest.mark.parametrize("at_once", ["numpy"], indirect=True)  # no kernel is asked here
@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1e12, 1e30])
@pytest.mark.parametrize("far", [1.0, 1e-9, 1e15])
def test_where_it_ends(at_once, scale, far):
    """Vectors and points of sizes for which nothing is promised: the other search."""
    vectors, points = made(2100, 70, 6)
    with np.errstate(over="ignore", invalid="ignore"):
        vectors = (vectors * np.float64(scale)).astype(np.float32)
        assert SmallIntegers.of(vectors) is None
        points *= scale * far
        index, other = FlatIndex(vectors), plain(vectors)
        assert (index.nearest(points) == other.nearest(points)).all()


@pytest.mark.parametrize("far", [0.0, 1e-12, 1e6, 1e15, 1e200])
def test_points_of_all_sizes(at_once, far):
    vectors, points = made(2100, 140, 6)
    points[::2] *= far
    with np.errstate(over="ignore", invalid="ignore"):
        index, other = FlatIndex(vectors), plain(vectors)
        if far < 1e100:
            assert (index.search(points, 2)[0] == other.search(points, 2)[0]).all()
        assert (index.nearest(points) == other.nearest(points)).all()
    alike = np.tile(vectors[0], (len(vectors), 1))
    assert (FlatIndex(alike).nearest(points[1::2]) == 0).all()


def test_a_kernel_that_saturates_gets_seven_bits(monkeypatch):
    monkeypatch.setattr(int8_product, "_session", lambda: None)
    monkeypatch.setattr(int8_product, "Product", Exact)
    assert int8_product.levels() == 127
    int8_product.levels.cache_clear()
    monkeypatch.setattr(int8_product, "Product", Saturating)
    assert int8_product.levels() == 63
    int8_product.levels.cache_clear()
    monkeypatch.setattr(int8_product, "fits", lambda _: False)
    assert int8_product.levels() == 0
    assert SmallIntegers.of(made()[0]) is None


@pytest.mark.parametrize("named", ["none", "1.29.0", "1.32.0", "2.0", "unknown"])
def test_without_the_extra_or_with_telemetry_it_is_not_imported(monkeypatch, named):
    if named == "none":
        monkeypatch.setitem(sys.modules, "onnxruntime", None)
    else:
        monkeypatch.setattr(int8_product, "_version", lambda: named)
        monkeypatch.delitem(sys.modules, "onnxruntime", raising=False)
    assert int8_product.levels() == 0
    assert sys.modules.get("onnxruntime") is None
    assert SmallIntegers.of(made()[0]) is None
    assert int8_product._silent("1.28.0")  # the twin


def test_threads_share_the_points(at_once, monkeypatch):
    vectors, points = made(2600, 600, 9)
    before = faiss.omp_get_max_threads()
    index, other = FlatIndex(vectors), plain(vectors)
    expected, nearest = other.search(points, 2), other.nearest(points)
    try:
        for count in (1, 2, 3):
            faiss.omp_set_num_threads(count)
            monkeypatch.setattr(exact_search, "threads", lambda count=count: count)
            searched = FlatIndex.by_integers
            found = index.search(points, 2)
            assert (found[0] == expected[0]).all()
            assert (found[1] == expected[1]).all()
            assert (index.nearest(points) == nearest).all()
            assert FlatIndex.by_integers - searched == 1200
            assert (index.nearest(points[:64]) == nearest[:64]).all()
            assert faiss.omp_get_max_threads() == count
    finally:
        faiss.omp_set_num_threads(before)
