"""geodesic: the graph, its metric, its law."""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components, shortest_path
from support import fits, make_embeddings, streams

from dpsan.embeddings.base import Embeddings
from dpsan.errors import UsageError
from dpsan.mechanisms.geodesic import Geodesic, PathLengths, neighbour_graph
from dpsan.space.metric_space import MetricSpace


def dense(graph):
    n = len(graph["starts"]) - 1
    parts = (graph["lengths"].astype(float), graph["ends"], graph["starts"])
    return csr_matrix(parts, shape=(n, n)).toarray()


@pytest.mark.parametrize("edges", ["hop", "rank"])
def test_graph_by_definition(space, edges):
    graph = dense(neighbour_graph(space, 3, edges))
    distances = space.distances(np.arange(space.n))
    np.fill_diagonal(distances, -1)
    rank = np.argsort(np.argsort(distances, axis=1, kind="stable"), axis=1)
    joined = (rank >= 1) & (rank <= 3)
    joined |= joined.T
    length = np.maximum(rank, rank.T) if edges == "rank" else np.ones_like(rank)
    expected = np.where(joined, length, 0)
    assert connected_components(csr_matrix(expected))[0] == 1, "choose another example"
    assert (graph == expected).all()


def clusters():
    """Four clusters on a line, far apart."""
    generator = np.random.default_rng(5)
    vectors = generator.normal(size=(40, 3)).astype(np.float32)
    vectors[:, 0] += np.repeat([0, 100, 250, 1000], 10)
    return MetricSpace(Embeddings([str(i) for i in range(40)], vectors, "", "clusters"))


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
        closest = np.unravel_index(np.argmin(distances[a, b]), (10, 10))
        assert bridges.tolist() == [list(closest)]
    assert not graph[:10, 20:].any()


@pytest.mark.parametrize(
    ("edges", "cap"), [("hop", 2), ("hop", 4), ("hop", 0), ("rank", 7), ("rank", 0)]
)
def test_lengths_against_all_pairs(edges, cap):
    space = clusters()
    mechanism = Geodesic(1.0, k=3, edges=edges, cap=cap)
    lengths = mechanism.paths(space).lengths(np.arange(space.n))
    expected = shortest_path(dense(neighbour_graph(space, 3, edges)))
    assert (lengths == np.minimum(expected, cap or np.inf)).all()
    assert (lengths == lengths.T).all()
    # The triangle inequality, which the guarantee rests on.
    assert (lengths[:, None, :] <= lengths[:, :, None] + lengths[None, :, :]).all()
    assert mechanism.paths(space).diameter_bound() >= lengths.max()


def test_ranks_are_no_metric(space):
    """The twin: the rank from the true word does not obey the triangle inequality."""
    distances = space.distances(np.arange(space.n))
    rank = np.argsort(np.argsort(distances, axis=1, kind="stable"), axis=1)
    assert (rank[:, None, :] > rank[:, :, None] + rank[None, :, :]).any()


def test_law_and_samples(space):
    mechanism = Geodesic(2.5, k=3)
    sampler = mechanism.prepare(space)
    law = sampler.probabilities(np.array([7]))[0]
    expected = np.exp(-1.25 * mechanism.paths(space).lengths(np.array([7]))[0])
    assert np.allclose(law, expected / expected.sum(), rtol=1e-9)
    drawn = sampler.sample(np.full(30_000, 7), streams(30_000))
    assert fits(np.bincount(drawn, minlength=space.n), law)
    off = np.exp(-1.25 * 0.7 * mechanism.paths(space).lengths(np.array([7]))[0])
    assert not fits(np.bincount(drawn, minlength=space.n), off / off.sum())


def test_the_graph_is_cached():
    built = []

    def keep(name, build):
        built.append(name)
        return build()

    space = MetricSpace(make_embeddings(), keep)
    for epsilon in (1.0, 2.0):
        Geodesic(epsilon).guarantee(space)
        Geodesic(epsilon).prepare(space)
    assert built == ["graph-5-hop"]


@pytest.mark.parametrize("n", [2, 3, 6])
def test_small_vocabularies(n):
    space = MetricSpace(make_embeddings(n=n, d=3))
    assert isinstance(Geodesic(1.0).paths(space), PathLengths)
    assert (Geodesic(1.0).prepare(space).probabilities(np.arange(n)) > 0).all()


def test_domain(space, monkeypatch):
    with pytest.raises(UsageError, match="edges must be 'hop' or 'rank'"):
        Geodesic.build(1.0, {"edges": "mean"})
    monkeypatch.setattr(type(space), "eager", lambda self, outputs: False)
    with pytest.raises(UsageError, match="needs the neighbours of all"):
        Geodesic(1.0).prepare(space)
