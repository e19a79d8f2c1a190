"""zipf-response's ranks: the answers of a full sort, whatever is kept, batched or threaded."""

import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from line_laws import space_of
from support import make_embeddings

from dpsan.mechanisms.tables import neighbour_ranks as rank_orders
from dpsan.mechanisms.tables import sorted_distances as sorted_rows
from dpsan.mechanisms.tables.neighbour_ranks import RankOrders
from dpsan.mechanisms.tables.sorted_distances import SortedRows
from dpsan.space import arrays
from dpsan.space.metric_space import MetricSpace

N = 1500


def full_sort(space):
    """The definition: by distance, ties by row number, the word itself first."""
    rows = space.distances(np.arange(space.n))
    np.fill_diagonal(rows, -1.0)
    return np.argsort(rows, axis=1, kind="stable")


@pytest.fixture(scope="module")
def large():
    return MetricSpace(make_embeddings(n=N, d=20))


@pytest.fixture(scope="module")
def reference(large):
    return full_sort(large)


def draws(n, m, key=3):
    """Words and ranks, both heavy-tailed."""
    generator = np.random.default_rng(key)
    ids = np.minimum(generator.zipf(1.2, m) - 1, n - 1)
    return ids, np.minimum(generator.zipf(1.1, m) - 1, n - 1)


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
    assert (orders.order(np.arange(0, N, 20)) == reference[::20]).all()
    assert len(pickle.dumps(orders)) < 2 * large.vectors.nbytes  # no orders in it


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


@settings(max_examples=40)
@given(
    shape=st.tuples(st.integers(1, 40), st.integers(1, 3)),
    values=st.integers(0, 3),
    size=st.sampled_from([0.0, 1e-30, 1.0, 3e15]),
    seed=st.integers(0, 2**32 - 1),
)
def test_ties_and_extremes(shape, values, size, seed):
    """Few different coordinates: many equal vectors and equal distances."""
    space = space_of(np.random.default_rng(seed).integers(0, values + 1, size=shape) * size)
    n, expected = space.n, full_sort(space)
    for kept, depth in ((n, n), (n // 2, 3), (0, 0)):
        orders = RankOrders(space, order_bytes=2 * n * kept, near_bytes=2 * n * depth)
        for _ in range(2):
            found = orders.words(*(part.ravel() for part in np.indices((n, n))))
            assert (found == expected.ravel()).all()


def test_far_from_the_origin():
    """Two clusters whose distance swallows the distances within them in float32."""
    vectors = np.random.default_rng(4).normal(size=(400, 6))
    space = space_of(vectors + np.repeat([[0], [3e5]], 200, axis=0))
    ids, ranks = draws(400, 5000)
    assert (RankOrders(space).words(ids, ranks) == full_sort(space)[ids, ranks]).all()


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
