"""geodesic: the graph, its metric, its law."""

import itertools

import numpy as np
import pytest
from line_laws import space_of
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components, shortest_path
from support import cases, make_embeddings

from dpsan.errors import UsageError
from dpsan.mechanisms.geodesic import Geodesic, neighbour_graph
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


@cases("edges cap", ("hop", 2), ("hop", 4), ("hop", 0), ("rank", 7), ("rank", 0))
def test_lengths_against_all_pairs(edges, cap):
    space = clusters()
    paths = Geodesic(1.0, k=3, edges=edges, cap=cap).metric(space)
    lengths = paths.distances(np.arange(space.n))
    expected = shortest_path(dense(neighbour_graph(space, 3, edges)))
    assert (lengths == np.minimum(expected, cap or np.inf)).all()
    assert (lengths == lengths.T).all()
    # The triangle inequality, which the guarantee rests on.
    assert (lengths[:, None, :] <= lengths[:, :, None] + lengths[None, :, :]).all()
    assert paths.diameter >= lengths.max()


def test_law_by_hand(space):
    mechanism = Geodesic(2.5, k=3)
    expected = np.exp(-1.25 * mechanism.metric(space).distances(np.array([7]))[0])
    law = mechanism.prepare(space).probabilities(np.array([7]))[0]
    assert np.allclose(law, expected / expected.sum(), rtol=1e-9)


@pytest.mark.parametrize("n", [2, 3, 6])
def test_small_vocabularies(n, monkeypatch):
    space = MetricSpace(make_embeddings(n=n, d=3))
    assert (Geodesic(1.0).prepare(space).probabilities(np.arange(n)) > 0).all()
    monkeypatch.setattr(MetricSpace, "eager", lambda self, outputs: False)
    with pytest.raises(UsageError, match="needs the neighbours of all"):
        Geodesic(1.0).prepare(MetricSpace(make_embeddings(n=30)))
