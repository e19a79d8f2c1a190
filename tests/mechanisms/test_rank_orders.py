"""zipf-response's ranks: the answers of a full sort, whatever is kept, batched or threaded."""

import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import make_embeddings, streams

from dpsan.embeddings.base import Embeddings
from dpsan.mechanisms.tables import neighbour_ranks as rank_orders
from dpsan.mechanisms.tables import sorted_distances as sorted_rows
from dpsan.mechanisms.tables.neighbour_ranks import RankOrders
from dpsan.mechanisms.tables.sorted_distances import SortedRows
from dpsan.mechanisms.zipf_response import ZipfResponse
from dpsan.space import arrays
from dpsan.space.metric_space import MetricSpace

N = 3000


@pytest.fixture(scope="module")
def large():
    return MetricSpace(make_embeddings(n=N, d=20))


@pytest.fixture(scope="module")
def reference(large):
    return full_sort(large)


def full_sort(space):
    """The definition: by distance, ties by row number, the word itself first."""
    rows = space.distances(np.arange(space.n))
    np.fill_diagonal(rows, -1.0)
    return np.argsort(rows, axis=1, kind="stable")


def draws(n, m, key=3):
    """Words and ranks, both heavy-tailed."""
    generator = np.random.default_rng(key)
    ids = np.minimum(generator.zipf(1.2, m) - 1, n - 1)
    return ids, np.minimum(generator.zipf(1.1, m) - 1, n - 1)


def space_of(vectors):
    words = [str(row) for row in range(len(vectors))]
    return MetricSpace(Embeddings(words, np.array(vectors, np.float32), "", "made-up"))


@pytest.mark.parametrize("kept", [0, 1, 40, N])
@pytest.mark.parametrize("depth", [0, 20, 600])
def test_answers_of_a_full_sort(large, reference, kept, depth):
    tracemalloc.start()
    orders = RankOrders(large, order_bytes=2 * N * kept, near_bytes=2 * N * depth)
    assert tracemalloc.get_traced_memory()[0] < 2 * N * (kept + depth) + 50_000
    tracemalloc.stop()
    for key in range(3):  # later rounds find what earlier ones kept
        ids, ranks = draws(N, 4000, key)
        assert (orders.words(ids, ranks) == reference[ids, ranks]).all()
    ids, ranks = (part.ravel() for part in np.indices((60, N)))
    assert (orders.words(ids, ranks) == reference[ids, ranks]).all()


@pytest.mark.parametrize(("kept", "depth"), [(30, 0), (0, 1000), (3000, 3000)])
def test_rows_are_made_once(large, monkeypatch, kept, depth):
    """Whole orders for the first words, which are the most frequent; the nearest of the others."""
    made = []
    fill = SortedRows.fill

    def counted(self, words):
        made.extend(words.tolist())
        return fill(self, words)

    monkeypatch.setattr(SortedRows, "fill", counted)
    orders = RankOrders(large, order_bytes=2 * N * kept, near_bytes=2 * N * depth)
    ids, ranks = np.arange(60).repeat(2), np.tile([1, 40], 60)
    for again in ([*range(60)], [*range(30, 60)] if kept == 30 else []):
        made.clear()
        orders.words(ids, ranks)
        assert sorted(made) == again


@pytest.mark.parametrize("levels", [1, 300, 65_534])
@pytest.mark.parametrize("half", [1, 6])
def test_words_that_share_a_key(large, reference, monkeypatch, levels, half):
    """Windows and whole buckets: with few keys all words share theirs with many."""
    monkeypatch.setattr(sorted_rows, "_LEVELS", levels)
    monkeypatch.setattr(sorted_rows, "_HALF", half)
    ids, ranks = draws(N, 3000)
    orders = RankOrders(large, order_bytes=2 * N * 30, near_bytes=2 * N * 50)
    for _ in range(2):
        assert (orders.words(ids, ranks) == reference[ids, ranks]).all()


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 3),
    st.integers(0, 3),
    st.sampled_from([0.0, 1e-30, 1.0, 3e15]),
    st.integers(0, 2**32 - 1),
)
def test_ties_and_extremes(n, d, values, size, seed):
    """Few different coordinates: many equal vectors and equal distances."""
    generator = np.random.default_rng(seed)
    space = space_of(generator.integers(0, values + 1, size=(n, d)) * size)
    ids, ranks = (part.ravel() for part in np.indices((n, n)))
    expected = full_sort(space)
    for kept, depth in ((n, n), (n // 2, 3), (0, 0)):
        orders = RankOrders(space, order_bytes=2 * n * kept, near_bytes=2 * n * depth)
        for _ in range(2):
            assert (orders.words(ids, ranks) == expected[ids, ranks]).all()


def test_far_from_the_origin():
    """Two clusters whose distance swallows the distances within them in float32."""
    vectors = np.random.default_rng(4).normal(size=(400, 6))
    vectors[200:] += 3e5
    space = space_of(vectors)
    ids, ranks = draws(400, 5000)
    assert (RankOrders(space).words(ids, ranks) == full_sort(space)[ids, ranks]).all()


@pytest.mark.parametrize("size", [1, 10, 700])
def test_words_do_not_depend_on_batches(large, size):
    ids = draws(N, 1500)[0]
    ids[::50] = N
    whole = streams(1500)
    together = ZipfResponse(6.0).prepare(large).sample(ids, whole)
    sampler = ZipfResponse(6.0).prepare(large)
    at, parts = 0, []
    for part in whole.chunks(size):
        parts.append(sampler.sample(ids[at : at + len(part)], part))
        at += len(part)
    assert (np.concatenate(parts) == together).all()


@pytest.mark.parametrize("at", [0, 5, 30])
def test_an_interrupted_run_leaves_nothing_half_kept(large, reference, monkeypatch, at):
    """The sampler may be used again: what has no order yet must not be looked up."""
    orders = RankOrders(large, order_bytes=2 * N * 40, near_bytes=2 * N * 20)
    ids, ranks = draws(N, 4000)
    order, done = SortedRows.order, iter(range(at))

    def interrupted(self, row):
        if next(done, None) is None:
            raise KeyboardInterrupt
        return order(self, row)

    with monkeypatch.context() as patched:
        patched.setattr(SortedRows, "order", interrupted)
        with pytest.raises(KeyboardInterrupt):
            orders.words(ids, ranks)
    assert (orders.words(ids, ranks) == reference[ids, ranks]).all()


def test_words_do_not_depend_on_threads(large, reference, monkeypatch):
    ids, ranks = draws(N, 9000)
    monkeypatch.setattr(rank_orders, "_STRIP", 5)
    for count in (1, 4):
        monkeypatch.setattr(arrays, "threads", lambda count=count: count)
        assert (RankOrders(large).words(ids, ranks) == reference[ids, ranks]).all()


def test_rows_of_every_size_of_strip(large, reference):
    """The same room is filled again, with fewer words too."""
    rows = SortedRows(large.lattice, 70)
    for words in (np.arange(70), np.array([N - 1, 0]), np.arange(100, 137)):
        for row in rows.fill(words):
            assert (rows.order(row) == reference[words[row]]).all()
            near = rows.nearest(row, 200)
            assert 150 < len(near) <= 200
            assert (near == reference[words[row], : len(near)]).all()
        lines, ranks = (part.ravel() for part in np.indices((len(words), N - 1)))
        assert (rows.words(lines, ranks + 1) == reference[words[lines], ranks + 1]).all()


def test_order_of_many_words(large, reference):
    assert (RankOrders(large).order(np.arange(0, N, 20)) == reference[::20]).all()


def test_pickle_keeps_the_sizes(large, reference):
    orders = RankOrders(large, order_bytes=2 * N * 7, near_bytes=2 * N * 30)
    ids, ranks = draws(N, 500)
    orders.words(ids, ranks)
    data = pickle.dumps(orders)
    assert len(data) < 2 * large.vectors.nbytes
    tracemalloc.start()
    again = pickle.loads(data)
    held = 2 * N * 37 + large.vectors.nbytes + 8 * N * (large.d + 2)
    assert held < tracemalloc.get_traced_memory()[0] < held + large.vectors.nbytes + 200_000
    tracemalloc.stop()
    assert (again.words(ids, ranks) == reference[ids, ranks]).all()
