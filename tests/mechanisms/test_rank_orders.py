"""zipf-response's ranks: the answers of a full sort, whatever is kept, batched or threaded."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import make_embeddings, streams

from dpsan.embeddings.base import Embeddings
from dpsan.mechanisms import near_keys, rank_orders
from dpsan.mechanisms.near_keys import NearKeys, window
from dpsan.mechanisms.rank_orders import RankOrders
from dpsan.mechanisms.zipf_response import ZipfResponse
from dpsan.space import MetricSpace

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
    orders = RankOrders(large, order_bytes=2 * N * kept, near_bytes=2 * N * depth)
    for key in range(3):  # later rounds find what earlier ones kept
        ids, ranks = draws(N, 4000, key)
        assert (orders.words(ids, ranks) == reference[ids, ranks]).all()
    assert (orders._owner >= 0).sum() <= kept
    held = np.flatnonzero(orders._slot >= 0)
    assert (orders._owner[orders._slot[held]] == held).all()
    sharp = held[orders._sharp[orders._slot[held]]]
    assert len(sharp) >= min(kept, 2)
    assert (orders._orders[orders._slot[sharp]] == reference[sharp]).all()


def test_every_way_is_taken_and_none_is_needed(large, reference, monkeypatch):
    """Windows, parts of rows, exact rows: each alone gives the same words."""
    ids, ranks = draws(N, 3000)
    ways = {"_HALF": 1, "_WIDE": 1, "_WIDER": 1, "_OFTEN": 1, "_FEW": 0}
    for name, value in ways.items():
        monkeypatch.setattr(rank_orders, name, value)
        orders = RankOrders(large, order_bytes=2 * N * 30, near_bytes=2 * N * 50)
        for _ in range(2):
            assert (orders.words(ids, ranks) == reference[ids, ranks]).all(), name


@pytest.mark.parametrize("honest", [True, False])
def test_the_slack_decides(large, reference, monkeypatch, honest):
    """Coarse keys give the same words; the twin, which hides how coarse they are, does not."""
    monkeypatch.setattr(near_keys, "_LEVELS", 300)
    monkeypatch.setattr(rank_orders, "_OFTEN", 10**9)
    if not honest:
        measure = NearKeys._range

        def hide(self, ids, products):
            measure(self, ids, products)
            self.slack[ids] = 0.0

        monkeypatch.setattr(NearKeys, "_range", hide)
    ids, ranks = draws(N, 10_000)
    wrong = RankOrders(large).words(ids, ranks) != reference[ids, ranks]
    assert wrong.any() == (not honest)


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


def test_words_do_not_depend_on_threads(large, reference, monkeypatch):
    ids, ranks = draws(N, 9000)
    monkeypatch.setattr(rank_orders, "_DRAWS", 50)
    for threads in (1, 4):
        monkeypatch.setattr(rank_orders, "_threads", lambda count=threads: count)
        assert (RankOrders(large).words(ids, ranks) == reference[ids, ranks]).all()


def test_slots_go_to_the_words_drawn_most_often(large):
    orders = RankOrders(large, order_bytes=2 * N * 2, near_bytes=0)
    for ids in ([5, 6], [7, 8, 8], [7, 7, 9]):
        orders.words(np.array(ids), np.full(len(ids), 9))
    assert sorted(orders._owner.tolist()) == [7, 8]


def test_keys_are_wrong_by_at_most_the_slack(large):
    keys = RankOrders(large)._keys
    ids = np.arange(0, N, 100)
    rows = keys.keys(ids, keys.products(ids))
    assert (rows[np.arange(len(ids)), ids] == 0).all()
    assert (np.sort(rows, axis=1)[:, 1] >= 1).all()
    squares = (large.distances(ids) / large.lattice.unit) ** 2
    order = np.argsort(rows, axis=1, kind="stable")
    behind = np.take_along_axis(squares, order, axis=1)
    worst = (np.maximum.accumulate(behind, axis=1) - behind).max(axis=1)
    assert (worst > 0).all()
    assert (worst <= keys.slack[ids]).all()
    assert (keys.slack[ids] < 1e-3 * squares.max()).all()


@pytest.mark.parametrize("start", [1, 7, 1500, N - 40])
def test_part_of_a_row(large, start):
    keys = RankOrders(large)._keys
    row = keys.keys(np.array([11]), keys.products(np.array([11])))[0]
    assert (window(row, start, 33) == np.argsort(row, kind="stable")[start : start + 33]).all()


def test_a_wrong_guess_is_seen():
    keys = np.zeros(N, dtype=np.uint16)
    keys[np.arange(N) % 2 == 0] = 9  # the sample sees only these
    assert window(keys, 1400, 5) is None


def test_pickle_keeps_the_sizes(large, reference):
    orders = RankOrders(large, order_bytes=2 * N * 7, near_bytes=2 * N * 30)
    ids, ranks = draws(N, 500)
    orders.words(ids, ranks)
    data = pickle.dumps(orders)
    assert len(data) < 2 * large.vectors.nbytes
    again = pickle.loads(data)
    assert (len(again._owner), again._depth) == (7, 30)
    assert (again.words(ids, ranks) == reference[ids, ranks]).all()
