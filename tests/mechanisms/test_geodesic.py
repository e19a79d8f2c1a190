"""geodesic: the graph, its metric, its law; rows of near words draw the words of whole rows."""

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.strategies import integers, sampled_from
from line_laws import space_of
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components, shortest_path
from support import make_embeddings, streams

from dpsan.errors import UsageError
from dpsan.mechanisms import geodesic
from dpsan.mechanisms.geodesic import Geodesic, neighbour_graph
from dpsan.mechanisms.samplers import sparse as sparse_rows
from dpsan.mechanisms.samplers.base import RowSampler
from dpsan.mechanisms.samplers.sparse import NearRows, SparseRowSampler
from dpsan.space.metric_space import MetricSpace


def dense(graph):
    parts = (graph["lengths"].astype(float), graph["ends"], graph["starts"])
    return csr_matrix(parts, shape=(len(graph["starts"]) - 1,) * 2).toarray()


@pytest.mark.parametrize("edges", ["hop", "rank"])
def test_graph_by_definition(space, edges):
    graph = dense(neighbour_graph(space, 3, edges))
    distances = space.distances(np.arange(space.n))
    np.fill_diagonal(distances, -1)
    rank = np.argsort(np.argsort(distances, axis=1, kind="stable"), axis=1)
    joined = (rank >= 1) & (rank <= 3)
    length = np.maximum(rank, rank.T) if edges == "rank" else np.ones_like(rank)
    expected = np.where(joined | joined.T, length, 0)
    assert connected_components(csr_matrix(expected))[0] == 1, "choose another example"
    assert (graph == expected).all()


def clusters():
    """Four clusters on a line, far apart."""
    vectors = np.random.default_rng(5).normal(size=(40, 3)).astype(np.float32)
    vectors[:, 0] += np.repeat([0, 100, 250, 1000], 10)
    return space_of(vectors)


@pytest.mark.parametrize("edges", ["hop", "rank"])
def test_components_are_joined_by_their_closest_pair(edges):
    space = clusters()
    graph = dense(neighbour_graph(space, 3, edges))
    assert (graph == graph.T).all()
    assert connected_components(csr_matrix(graph))[0] == 1
    distances = space.distances(np.arange(40))
    for left, right in itertools.pairwise(range(4)):
        a, b = slice(10 * left, 10 * left + 10), slice(10 * right, 10 * right + 10)
        bridges = np.argwhere(graph[a, b])
        assert bridges.tolist() == [[*np.unravel_index(np.argmin(distances[a, b]), (10, 10))]]
    assert not graph[:10, 20:].any()


@pytest.mark.parametrize(
    ("edges", "cap"), [("hop", 2), ("hop", 4), ("hop", 0), ("rank", 7), ("rank", 0)]
)
def test_lengths_against_all_pairs(edges, cap):
    space = clusters()
    paths = Geodesic(1.0, k=3, edges=edges, cap=cap).paths(space)
    lengths = paths.lengths(np.arange(space.n))
    expected = shortest_path(dense(neighbour_graph(space, 3, edges)))
    assert (lengths == np.minimum(expected, cap or np.inf)).all()
    assert (lengths == lengths.T).all()
    # The triangle inequality, which the guarantee rests on.
    assert (lengths[:, None, :] <= lengths[:, :, None] + lengths[None, :, :]).all()
    assert paths.diameter_bound() >= lengths.max()


def test_law_by_hand(space):
    mechanism = Geodesic(2.5, k=3)
    expected = np.exp(-1.25 * mechanism.paths(space).lengths(np.array([7]))[0])
    law = mechanism.prepare(space).probabilities(np.array([7]))[0]
    assert np.allclose(law, expected / expected.sum(), rtol=1e-9)


@pytest.mark.parametrize("n", [2, 3, 6])
def test_small_vocabularies(n, monkeypatch):
    space = MetricSpace(make_embeddings(n=n, d=3))
    assert (Geodesic(1.0).prepare(space).probabilities(np.arange(n)) > 0).all()
    monkeypatch.setattr(MetricSpace, "eager", lambda self, outputs: False)
    with pytest.raises(UsageError, match="needs the neighbours of all"):
        Geodesic(1.0).prepare(MetricSpace(make_embeddings(n=30)))


N = 1200


@pytest.fixture(scope="module")
def large():
    return MetricSpace(make_embeddings(n=N, d=3))


def sparse_and_whole(space, seed, levels, epsilon):
    """A sparse sampler of random near words, and the row sampler of the same scores."""
    generator = np.random.default_rng(seed)
    n = space.n
    level_scores = np.sort(generator.random(levels + 1)) * epsilon
    level_scores[0] = 0.0  # a word's own: else the total is small and most draws are rejected
    table = np.full((n, n), levels)
    some = generator.random((n, n)) < generator.random((n, 1)) ** 3
    table[some] = generator.integers(0, levels, some.sum()) if levels else 0
    np.fill_diagonal(table, 0)

    def near(ids):
        rows, words = np.nonzero(table[ids] < levels)
        starts = np.searchsorted(rows, np.arange(len(ids) + 1))
        chosen = table[ids[rows], words].astype(np.uint8)
        return NearRows(starts, words.astype(np.int32), chosen)

    def scores(ids):
        return level_scores[table[ids]]

    sparse = SparseRowSampler(space, scores, near, level_scores, 1)
    return sparse, RowSampler(space, scores)


@settings(max_examples=40)
@given(integers(1, 60), integers(0, 4), sampled_from([0, 1, 25, 100]), integers(0, 2**32 - 1))
def test_same_words_as_whole_rows(n, levels, epsilon, seed):
    space = MetricSpace(make_embeddings(n=n, d=2))
    sparse, rows = sparse_and_whole(space, seed, levels, epsilon)
    ids = np.random.default_rng(seed).integers(0, n + 1, 600)
    bits = streams(len(ids), key=seed.to_bytes(32, "little"))
    assert (sparse.sample(ids, bits) == rows.sample(ids, bits)).all()


def test_acceptance_and_boundaries(space):
    """Bits at the edges of every word's interval, and beyond the total."""
    sparse, rows = sparse_and_whole(space, 5, 3, 8.0)
    sums = np.cumsum(rows.weights(np.array([7]))[0].astype(object))
    edges, low = (each.astype(np.uint64) for each in (sums >> 32, sums & 0xFFFFFFFF))
    one, half, none = np.uint64(1), np.uint64(32), np.zeros(len(edges) + 1, dtype=np.uint64)
    high = np.concatenate([edges, edges, edges + one, [np.uint64(2**64 - 1)]])
    bits = np.stack([high, np.concatenate([low << half, (low - one) << half, none])], axis=1)
    ids, first, second = np.full(len(bits), 7), Planned(bits), Planned(bits)
    found = sparse.sample(ids, first)
    assert (found == rows.sample(ids, second)).all()
    assert first.asked == second.asked == ["row/0", "row/1"]  # some bits were rejected
    # Each word's last number and the next word's first.
    assert len(np.unique(found)) == space.n


class Planned:
    """Streams of given bits, and of zeros for whoever asks again."""

    def __init__(self, bits):
        self.first, self.asked = bits, []

    def bits(self, label, width):
        self.asked.append(label)
        return self.first if len(self.asked) == 1 else np.zeros_like(self.first)


@pytest.mark.parametrize("values", [{}, {"cap": 1}, {"cap": 2, "k": 9}])
def test_geodesic_gives_the_words_of_whole_rows(large, monkeypatch, values):
    mechanism = Geodesic(6.0, **values)
    ids = np.minimum(np.random.default_rng(2).zipf(1.1, 6000) - 1, N)
    whole = RowSampler(large, mechanism.paths(large)).sample(ids, streams(6000))
    sampler = mechanism.prepare(large)
    assert (sampler.sample(ids, streams(6000)) == whole).all()
    size = len(pickle.dumps(sampler))
    sampler.sample(np.arange(N), streams(N))  # now all near words are listed
    packed = pickle.dumps(sampler)
    assert len(packed) == size  # and not in what travels
    for each in (sampler, pickle.loads(packed)):
        assert (each.sample(ids, streams(6000)) == whole).all()
    monkeypatch.setattr(sparse_rows, "_WORDS", 16)
    assert (mechanism.prepare(large).sample(ids, streams(6000)) == whole).all()


def test_large_vocabularies_are_listed_word_by_word(large, monkeypatch):
    one_by_one, listed = Geodesic(3.0).prepare(large), Geodesic(3.0).prepare(large)
    for _ in range(2):
        expected = listed.sample(np.arange(N), streams(N))
        with monkeypatch.context() as patched:
            patched.setattr(geodesic, "_HELD", 10)
            assert (one_by_one.sample(np.arange(N), streams(N)) == expected).all()
