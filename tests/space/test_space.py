import os
import pickle
from fractions import Fraction
from math import isqrt
from pathlib import Path

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from support import make_embeddings

from dpsan.embeddings import file_digest, load
from dpsan.embeddings.store import Store
from dpsan.embeddings.words import Embeddings
from dpsan.errors import EmbeddingError, UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.clipped_noise import AnalyticGaussian, ClippedLaplace, TrLaplace
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space import arrays as module
from dpsan.space import cached_index
from dpsan.space import diameters as sensitivity
from dpsan.space import exact_search as flat_search
from dpsan.space.arrays import Lattice, largest_norm
from dpsan.space.exact_search import FlatIndex, least_values
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
            listed = np.arange(outputs, dtype=np.int32)
            assert (space.neighbors(ids, k, outputs=listed) == order[:, :k]).all()
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


# The float32 search: the same rows however the work is shared out, and never fewer.


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
@pytest.mark.parametrize(("n", "m", "width"), [*SIZES, (60, 3077, 5)])
def test_the_least_values_whoever_finds_them(monkeypatch, threads, n, m, width):
    """Few points, many, more threads than points."""
    monkeypatch.setattr(flat_search, "_ONE_THREAD_FLOPS", 1.0)
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


# Distances that do not depend on what computes them, against Python's integers.


def make(n, d, seed=1, scale=1.0):
    generator = np.random.default_rng(seed)
    vectors = (generator.normal(size=(n, d)) * scale).astype(np.float32)
    return vectors, Lattice(vectors, centre(vectors))


def centre(vectors):
    return vectors.mean(axis=0, dtype=np.float64)


def integers(lattice, vectors, centroid):
    """Where the points are, in steps of the lattice."""
    return np.rint((vectors - centroid) * lattice.scale).astype(object).astype(int).tolist()


def exact(one, other):
    return sum((x - y) ** 2 for x, y in zip(one, other, strict=True))


@settings(max_examples=40)
@given(
    n=st.integers(1, 12),
    d=st.integers(1, 40),
    seed=st.integers(0, 1000),
    scale=st.sampled_from([1e-30, 1e-3, 1.0, 300.0, 1e15]),
)
def test_squared_distances_are_exact(n, d, seed, scale):
    vectors, lattice = make(n, d, seed, scale)
    rows = [*integers(lattice, vectors, centre(vectors)), [0] * d]
    out = np.empty((n + 1, n))
    lattice.squares(np.arange(n + 1), out)
    wanted = [[exact(one, other) for other in rows[:n]] for one in rows]
    assert [[int(x) for x in row] for row in out.tolist()] == wanted
    if n > 1:
        largest = max(exact(row, [0] * d) for row in rows)
        assert 2**48 < largest <= 2**51


@pytest.mark.parametrize("d", [1, 3, 300])
def test_the_farthest_pair_needs_all_53_bits(d):
    """x and -x of the largest norm that the lattice admits: 4x² is still exact."""
    x = np.linspace(1, 2, d).astype(np.float32)
    x *= np.float32((2**25.5 - d**0.5) / np.linalg.norm(x.astype(np.float64)) * (1 - 1e-6))
    lattice = Lattice(np.stack([x, -x]), np.zeros(d))
    assert lattice.unit == 1
    row = integers(lattice, np.stack([x]), 0.0)[0]
    out = np.empty((1, 2))
    lattice.squares(np.array([0]), out)
    assert 0.999 * 2**53 < out[0, 1] <= 2**53
    assert int(out[0, 1]) == sum((2 * each) ** 2 for each in row)


def pieces(left, right):
    """The same product in other shapes and orders of summation."""
    yield left @ right
    yield np.asfortranarray(left) @ right.T.copy().T
    yield np.concatenate([row[None] @ right for row in left])
    yield np.concatenate([left @ right[:, at : at + 7] for at in range(0, right.shape[1], 7)], 1)
    yield left[:, ::-1] @ right[::-1]
    yield np.einsum("mk,kn->mn", left, right)


def test_no_shape_or_order_changes_a_bit():
    vectors, lattice = make(500, 100)
    left, right = lattice.left(np.arange(60)), lattice.right(0, 500)
    out = np.empty((60, 500))
    lattice.squares(np.arange(60), out)
    assert all((each == out).all() for each in pieces(left, right))
    assert (lattice.distances(np.arange(60)) == np.sqrt(out) * lattice.unit).all()
    # The twin: the same products of the vectors themselves are not all alike.
    plain = np.concatenate([vectors.astype(np.float64), np.ones((500, 2))], axis=1)
    first, *others = pieces(plain[:60], plain.T)
    assert any((each != first).any() for each in others)


@pytest.mark.parametrize("m", [1, 7, 64, 400])
@pytest.mark.parametrize("n", [1, 60, 1009])
@pytest.mark.parametrize("held", [True, False])
def test_squares_to_every_word(monkeypatch, m, n, held):
    """In pieces of any shape, with a rest or without."""
    if not held:
        monkeypatch.setattr(module, "_HELD_BYTES", 0)
    monkeypatch.setattr(module, "_STEP", 100)
    monkeypatch.setattr(module, "_PART", 90)
    _, lattice = make(n, 30)
    ids = np.random.default_rng(m).integers(0, n + 1, m)
    out = np.full((m, n), np.nan)
    lattice.squares(ids, out)
    assert (out == lattice.left(ids) @ lattice.right(0, n)).all()
    assert (lattice.distances(ids) == np.sqrt(out) * lattice.unit).all()


@pytest.mark.parametrize("scale", [1e-20, 1.0, 1e10])
def test_error_bound(scale):
    """Against rational arithmetic; the bound is not far from what happens."""
    vectors, lattice = make(16, 60, scale=scale)
    centroid = [Fraction(x) for x in centre(vectors).tolist()]
    rows = [[Fraction(x) for x in row] for row in vectors.tolist()]
    found = lattice.distances(np.arange(17))
    worst = 0.0
    for i, one in enumerate([*rows, centroid]):
        for j, other in enumerate(rows):
            square = exact(one, other) / Fraction(lattice.unit) ** 2
            true = Fraction(isqrt(int(square * 4**40)), 2**40) * Fraction(lattice.unit)
            worst = max(worst, abs(float(Fraction(float(found[i, j])) - true)))
    assert lattice.error / 50 < worst <= lattice.error
    assert lattice.error < 1e-6 * np.linalg.norm(vectors, axis=1).max()


@pytest.mark.parametrize("value", [0.0, 3.25])
def test_one_point_many_times(value):
    vectors = np.full((5, 3), value, dtype=np.float32)
    lattice = Lattice(vectors, vectors.mean(axis=0, dtype=np.float64))
    assert (lattice.distances(np.arange(6)) == 0).all()


# Opening an embedding file through the cache: read when needed, verified, given back.


def _write(path: Path, vectors: np.ndarray) -> None:
    rows = (f"w{i} " + " ".join(f"{x:.3f}" for x in row) for i, row in enumerate(vectors))
    path.write_text("\n".join(rows) + "\n")


def _fresh(tmp_path: Path, n: int = 300) -> tuple[Path, Store]:
    _write(tmp_path / "v.txt", np.random.default_rng(5).normal(size=(n, 7)))
    return tmp_path / "v.txt", Store(tmp_path / "cache")


@pytest.fixture
def opened(tmp_path):
    """A file of 300 words whose entry is in the cache."""
    path, store = _fresh(tmp_path)
    cached_index.open_space(path, None, store)
    return path, store


def test_a_changed_file_is_never_mistaken(tmp_path):
    """Same name, size and time, other bytes."""
    path, store = tmp_path / "v.txt", Store(tmp_path / "cache")
    _write(path, np.full((5, 3), 1.25, np.float32) + np.arange(5, dtype=np.float32)[:, None])
    first, _ = cached_index.open_space(path, None, store)
    status = path.stat()
    path.write_text(path.read_text().replace("1.250", "1.375"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    second, space = cached_index.open_space(path, None, store)
    assert second.digest != first.digest
    assert second.vectors[0].tolist() == [1.375] * 3
    assert space.centroid.tolist() == second.vectors.mean(axis=0, dtype=np.float64).tolist()


def test_a_file_that_changes_while_it_is_opened(tmp_path, monkeypatch):
    """What was loaded is not stored under the digest of what was hashed."""
    path, store = tmp_path / "v.txt", Store(tmp_path / "cache")
    path.write_text("a 1 2\nb 2 1\n")
    digest = file_digest(path)
    path.write_text("a 1 2\nb 2 3\n")
    monkeypatch.setattr(cached_index, "file_digest", lambda path, vocab_size: digest)
    with pytest.raises(EmbeddingError, match=r"v\.txt: changed while it was read"):
        cached_index.open_space(path, None, store)
    assert {path.suffix for path in store.root.rglob("index-*")} == {".lock"}


def test_vectors_are_read_when_they_are_used(opened, monkeypatch):
    """And then once."""
    read = reads(monkeypatch)
    embeddings, space = cached_index.open_space(opened[0], None, opened[1])
    assert (embeddings.n, embeddings.d, space.n, space.d) == (300, 7, 300, 7)
    assert embeddings.key_to_index == {f"w{i}": i for i in range(300)}
    assert read == ["index"]
    assert space.vectors is embeddings.vectors is space.index.vectors
    assert read == ["index", "vectors"]
    assert not space.vectors.flags.writeable
    again = pickle.loads(pickle.dumps(embeddings))
    assert (again.index_to_key, again.digest) == (embeddings.index_to_key, embeddings.digest)
    assert again.vectors.tobytes() == embeddings.vectors.tobytes()


def test_vectors_found_damaged_late_are_built_again(opened):
    """The words were good when the file was opened."""
    told = []
    store = Store(opened[1].root, told.append)
    embeddings, space = cached_index.open_space(opened[0], None, store)
    (file,) = opened[1].root.glob("v5/vectors-*[!k]")
    data = bytearray(file.read_bytes())
    data[-60] ^= 1
    file.write_bytes(data)
    assert space.vectors.tobytes() == load(opened[0]).vectors.tobytes()
    assert "damaged" in told[0]
    assert store.load("vectors", embeddings.digest) is not None


def reads(monkeypatch):
    """The kinds of what is read from the cache, as it is read."""
    kinds, look = [], Store._look

    def counted(self, kind, key):
        kinds.append(kind)
        return look(self, kind, key)

    monkeypatch.setattr(Store, "_look", counted)
    return kinds


def test_which_mechanisms_read_vectors(tmp_path, monkeypatch):
    """Tables that are in the cache do without."""
    without = ["optimal-response", "knn-response", "krr", "uniform", "geodesic"]
    without += ["diffractor", "diffractor-paper", "tldp", "char-response"]
    path, store = _fresh(tmp_path, 60)
    read = reads(monkeypatch)
    for name, kind in MECHANISMS.items():
        needed = {each: a.example for each, a in kind.parameters().items() if a.required}
        epsilon = {"tgumbel-paper": 99.0, "gaussian-classical": 1.0}.get(name, 4.0)
        for _ in range(2):  # the first fills the cache
            read.clear()
            sanitizer = Sanitizer(
                name, epsilon=epsilon, embeddings=path, parameters=needed,
                allow_unproved=True, cache=store,
            )  # fmt: skip
            sanitizer.rewrite(["w1 w2 w20 unknown"] * 4)
        assert ("vectors" in read) == (name not in without), name


def test_what_is_stored_is_what_is_computed(opened, monkeypatch):
    """Centroid and largest norm come back bit for bit, and are not computed again."""
    path, store = opened
    with monkeypatch.context() as patch:
        for name in ("metric_space.centroid_of", "exact_search.largest_norm"):
            patch.setattr(f"dpsan.space.{name}", lambda _: pytest.fail("computed again"))
        embeddings, space = cached_index.open_space(path, None, store)
    assert space.centroid.tobytes() == embeddings.vectors.mean(axis=0, dtype=np.float64).tobytes()
    assert space.index._largest_norm == FlatIndex(embeddings.vectors)._largest_norm


def test_tables_of_embeddings_in_memory_are_of_their_vectors(tmp_path):
    """Whoever makes embeddings chooses their digest: no guarantee may depend on it."""
    made = make_embeddings()
    store = Store(tmp_path)
    for factor in (1.0, 10.0):
        vectors = made.vectors * np.float32(factor)
        embeddings = Embeddings(made.index_to_key, vectors, "mem", "mine", made.counts)
        space = cached_index.space_of(embeddings, store)
        kind = MECHANISMS["trlaplace"].build(2.0, {"delta": 1e-6})
        fresh = kind.noise_scale(MetricSpace(embeddings))
        assert kind.noise_scale(space) == fresh
        assert space.diameter == MetricSpace(embeddings).diameter
