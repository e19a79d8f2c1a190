"""RowSampler, DistanceSampler: the same integers and words, whatever the circumstances."""

import pickle
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import fits, make_embeddings, streams

from dpsan.mechanisms.exponential import Exponential
from dpsan.mechanisms.samplers.base import RowSampler
from dpsan.mechanisms.samplers.blocked import DistanceSampler, DistanceScores
from dpsan.mechanisms.santext_plus import SanTextPlus
from dpsan.mechanisms.tem import TEM
from dpsan.space.arrays import side_by_side
from dpsan.space.arrays import threads as allowed
from dpsan.space.metric_space import MetricSpace


def rows(sampler):
    """One step: the whole cumulative row of another sampler's weights."""
    out = RowSampler(sampler.space, sampler.scores)
    out.weights = sampler.weights
    return out


def words(m, seed, n=3000):
    return np.random.default_rng(seed).integers(0, n + 1, size=m)


@pytest.fixture(scope="module")
def large():
    return MetricSpace(make_embeddings(n=3000, d=100))


@settings(max_examples=60)
@given(
    n=st.integers(1, 150),
    d=st.integers(1, 5),
    epsilon=st.sampled_from([1e-6, 0.3, 2.0, 9.0, 100.0, 1e5]),
    kind=st.sampled_from([Exponential, TEM, SanTextPlus]),
    seed=st.integers(0, 100),
    cache=st.sampled_from([1, 500, 1 << 20]),
)
def test_two_steps_draw_the_words_of_one(n, d, epsilon, kind, seed, cache):
    space = MetricSpace(make_embeddings(n=n, d=d, seed=seed))
    if kind is SanTextPlus:
        sampler = kind(epsilon, p=1.0).prepare(space)
    else:
        sampler = DistanceSampler(space, kind(epsilon).prepare(space).scores, cache_bytes=cache)
    ids, bits = words(60, seed, n), streams(60, key=bytes([seed]) * 32)
    assert (sampler.sample(ids, bits) == rows(sampler).sample(ids, bits)).all()


@pytest.mark.parametrize(
    "mechanism", [Exponential(0.05), Exponential(40.0), SanTextPlus(0.1, p=1.0)], ids=repr
)
def test_blocks_of_a_large_vocabulary(large, mechanism):
    """Sums of a block that 64 bits do not hold, and of one that they do."""
    sampler = mechanism.prepare(large)
    ids = np.array([0, 5, 299, 300, 2999]).repeat(40)
    assert (sampler.sample(ids, streams(200)) == rows(sampler).sample(ids, streams(200))).all()
    assert sampler.weights(ids[:1]).sum(dtype=object) > 2**64 or mechanism.epsilon == 40


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
        sampler, found = Exponential(3.0).prepare(large), []
        for part in whole.chunks(size):
            at = sum(map(len, found))
            found.append(sampler.sample(ids[at : at + len(part)], part))
    assert (np.concatenate(found) == expected).all()


@pytest.mark.parametrize("threads", [1, 3])
def test_every_part_is_worked_on_and_an_error_is_raised(threads):
    done = []
    with openmp(threads):
        side_by_side(done.append, range(20))
        assert sorted(done) == list(range(20))
        with pytest.raises(ZeroDivisionError):
            side_by_side(lambda part: 1 // (part - 7), range(20))


def test_memory_is_bounded_and_changes_nothing(large):
    scores = DistanceScores(large, 1.5)
    free = DistanceSampler(large, scores)
    assert len(pickle.dumps(free)) < 1.2 * large.vectors.nbytes + 1e5  # no tables in it
    for size in (3000, 30_000, 400_000):  # some words, and less than all
        tracemalloc.start()
        sampler = DistanceSampler(large, scores, cache_bytes=size)
        assert tracemalloc.get_traced_memory()[0] < size + 100_000
        tracemalloc.stop()
        for seed in (1, 2, 3):
            ids, bits = words(300, seed), streams(300, key=bytes([seed]) * 32)
            assert (sampler.sample(ids, bits) == free.sample(ids, bits)).all()


def test_two_callers_at_once(large):
    scores = DistanceScores(large, 1.5)
    free = DistanceSampler(large, scores)
    sampler = DistanceSampler(large, scores, cache_bytes=30_000)
    ids = [words(400, seed) for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda each: sampler.sample(each, streams(400)), ids))
    assert np.array_equal(found, [free.sample(each, streams(400)) for each in ids])


def test_scores_always_see_the_same_number_of_rows(space):
    """Planted: a matrix product whose last bits depend on how many rows it is given."""
    seen = set()

    def scores(ids):
        seen.add(len(ids))
        return space.distances(ids) * (1 + len(ids) * 2.0**-40)

    sampler = RowSampler(space, scores)
    together = sampler.weights(np.arange(50))
    alone = np.concatenate([sampler.weights(np.array([word])) for word in range(50)])
    assert (together == alone).all()
    assert seen == {sampler.block}
    assert (scores(np.arange(3))[0] != scores(np.arange(4))[0]).any()
    assert RowSampler(SimpleNamespace(n=3_000_000), None).block == 4


@pytest.mark.parametrize("rows", [1, 40, 200])
def test_cache_is_bounded_and_changes_nothing(space, rows):
    ids, free = np.tile(np.arange(space.n + 1), 3), RowSampler(space, space.distances)
    sampler = RowSampler(space, space.distances, cache_bytes=12 * space.n * rows)
    for key in (b"a" * 32, b"b" * 32):
        bits = streams(len(ids), key=key)
        expected = free.sample(ids, bits)
        tracemalloc.start()
        assert (sampler.sample(ids, bits) == expected).all()
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert held < 12 * space.n * max(rows, sampler.block) + 40_000


def test_integer_weights_of_rows_are_the_law(space):
    """Total weights beyond 64 bits."""
    flat = RowSampler(space, lambda ids: np.zeros((len(ids), space.n)))
    assert flat.weights(np.array([0])).sum(dtype=object) == space.n << 62
    drawn = flat.sample(np.zeros(30_000, dtype=np.int64), streams(30_000))
    assert fits(np.bincount(drawn, minlength=space.n), np.full(space.n, 1 / space.n))
