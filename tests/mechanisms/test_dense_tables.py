"""Dense tables: the words of whole cumulative rows, whatever the circumstances."""

import math
import pickle
from contextlib import contextmanager
from types import SimpleNamespace

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import make_embeddings, streams

from dpsan.mechanisms.exponential import Exponential
from dpsan.mechanisms.geodesic import Geodesic
from dpsan.mechanisms.santext_plus import SanTextPlus
from dpsan.mechanisms.tables.dense import DenseTable
from dpsan.mechanisms.tem import TEM
from dpsan.mechanisms.zipf_response import ZipfResponse
from dpsan.space.arrays import side_by_side
from dpsan.space.arrays import threads as allowed
from dpsan.space.metric_space import MetricSpace


def words(m, seed, n=3000):
    return np.random.default_rng(seed).integers(0, n + 1, size=m)


@pytest.fixture(scope="module")
def large():
    return MetricSpace(make_embeddings(n=3000, d=100))


def whole_rows(table, ids, bits):
    """The outputs by whole cumulative rows, in Python's integers of any size."""
    out, pending, attempt = {}, [*range(len(ids))], 0
    while pending:
        numbers, rejected = bits.bits(f"row/{attempt}", 2).tolist(), []
        for token in pending:
            sums = np.cumsum(table.weights(ids[token : token + 1])[0].astype(object))
            bound = (int(sums[-1]) >> 32) + 1
            first, second = numbers[token]
            number = (first % bound << 32) + (second >> 32)
            if first < 2**64 // bound * bound and number < sums[-1]:
                out[token] = int(np.searchsorted(sums, number, side="right"))
            else:
                rejected.append(token)
        pending, attempt = rejected, attempt + 1
    return [out[token] for token in range(len(ids))]


@settings(max_examples=40)
@given(
    n=st.integers(2, 150),
    d=st.integers(1, 5),
    epsilon=st.sampled_from([1e-6, 0.3, 2.0, 9.0, 100.0, 1e5]),
    kind=st.sampled_from([Exponential, TEM, SanTextPlus, ZipfResponse, Geodesic]),
    seed=st.integers(0, 100),
)
def test_parts_of_rows_draw_the_words_of_whole_ones(n, d, epsilon, kind, seed):
    table = kind(epsilon).prepare(MetricSpace(make_embeddings(n=n, d=d, seed=seed)))
    ids, bits = words(60, seed, n), streams(60, key=bytes([seed]) * 32)
    assert table.sample(ids, bits).tolist() == whole_rows(table, ids, bits)


@pytest.mark.parametrize("mechanism", [Exponential(0.05), Exponential(40.0)], ids=repr)
def test_rows_of_a_large_vocabulary(large, mechanism):
    """Sums of a row that 64 bits do not hold, and of one that they do."""
    table = mechanism.prepare(large)
    ids, bits = np.array([0, 5, 299, 300, 2999]).repeat(40), streams(200)
    assert table.sample(ids, bits).tolist() == whole_rows(table, ids, bits)
    assert table.weights(ids[:1]).sum(dtype=object) > 2**64 or mechanism.epsilon == 40


@contextmanager
def openmp(threads):
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(threads)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


@pytest.mark.parametrize(("threads", "size"), [(1, 700), (2, 2000), (3, 10)])
def test_words_do_not_depend_on_threads_or_on_the_batch(large, threads, size):
    ids, whole = words(2000, 2), streams(2000)
    expected = Exponential(3.0).prepare(large).sample(ids, whole)
    with openmp(threads):
        assert allowed() == threads
        table, outputs = Exponential(3.0).prepare(large), []
        for part in whole.chunks(size):
            at = sum(map(len, outputs))
            outputs.append(table.sample(ids[at : at + len(part)], part))
    assert (np.concatenate(outputs) == expected).all()


@pytest.mark.parametrize("threads", [1, 3])
def test_every_part_is_worked_on_and_an_error_is_raised(threads):
    done = []
    with openmp(threads):
        side_by_side(done.append, range(20))
        assert sorted(done) == list(range(20))
        with pytest.raises(ZeroDivisionError):
            side_by_side(lambda part: 1 // (part - 7), range(20))


def test_what_is_kept_changes_nothing_and_does_not_travel(large):
    """The rows of the last words stay: others, and more of the same, are drawn as before."""
    table, fresh = Exponential(1.5).prepare(large), Exponential(1.5)
    before = len(pickle.dumps(table))
    for ids in ([7] * 30, [7] * 30, [8, 7] * 15, [3000] * 30, [7] * 30):
        bits = streams(30, key=b"k" * 32)
        expected = fresh.prepare(large).sample(np.array(ids), bits)
        assert (table.sample(np.array(ids), bits) == expected).all()
    assert len(pickle.dumps(table)) < before + 1000  # no rows in it


def test_scores_always_see_the_same_number_of_rows(space):
    """Planted: a matrix product whose last bits depend on how many rows it is given."""
    sizes = set()

    def scores(ids):
        sizes.add(len(ids))
        return space.distances(ids) * (1 + len(ids) * 2.0**-40)

    table = DenseTable.of_scores(space, scores)
    together = table.weights(np.arange(50))
    alone = np.concatenate([table.weights(np.array([word])) for word in range(50)])
    assert (together == alone).all()
    assert len(sizes) == 1
    assert (scores(np.arange(3))[0] != scores(np.arange(4))[0]).any()
    assert DenseTable(SimpleNamespace(n=3_000_000), None).block == 4


def test_columns_see_what_supports_hide():
    """The power of the certificate: a 0 in one row is an infinite loss, a 0 column none."""
    space = MetricSpace(make_embeddings(n=3))
    table = np.array([[50, 50, 0], [25, 75, 0], [50, 50, 0]], dtype=np.uint64)
    unknown = np.array([50, 50, 0], dtype=np.uint64)
    certificate = DenseTable(space, lambda ids: table[ids], unknown).certificate("a")
    assert certificate.epsilon_ldp == pytest.approx(math.log(2), abs=2e-9)
    table[1] = (25, 74, 1)
    certificate = DenseTable(space, lambda ids: table[ids], unknown).certificate("b")
    assert (certificate.epsilon_ldp, certificate.pair) == (math.inf, (1, 0))
