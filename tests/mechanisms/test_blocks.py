"""DistanceSampler: the same integers, law and words as whole rows, whatever the circumstances."""

import pickle
import tracemalloc
from bisect import bisect_right
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import faiss
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import fits, make_embeddings, streams

from dpsan.mechanisms.exponential import Exponential
from dpsan.mechanisms.samplers.base import RowSampler
from dpsan.mechanisms.samplers.blocked import DistanceSampler, DistanceScores
from dpsan.mechanisms.samplers.wide_integers import first_above
from dpsan.mechanisms.santext_plus import SanTextPlus
from dpsan.mechanisms.tem import TEM
from dpsan.space.arrays import side_by_side
from dpsan.space.arrays import threads as allowed
from dpsan.space.metric_space import MetricSpace


class Rows(RowSampler):
    """One step: the whole cumulative row of another sampler's weights."""

    def __init__(self, sampler):
        super().__init__(sampler.space, sampler.scores)
        self.weights = sampler.weights


@pytest.fixture(scope="module")
def large():
    return MetricSpace(make_embeddings(n=3000, d=100))


@settings(max_examples=60, deadline=None)
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
    ids = np.random.default_rng(seed).integers(0, n + 1, size=60)
    bits = streams(60, key=bytes([seed]) * 32)
    assert (sampler.sample(ids, bits) == Rows(sampler).sample(ids, bits)).all()


@pytest.mark.parametrize(
    "mechanism", [Exponential(0.05), Exponential(40.0), SanTextPlus(0.1, p=1.0)], ids=repr
)
def test_blocks_of_a_large_vocabulary(large, mechanism):
    """Sums of a block that 64 bits do not hold, and of one that they do."""
    sampler = mechanism.prepare(large)
    ids = np.array([0, 5, 299, 300, 2999]).repeat(40)
    assert (sampler.sample(ids, streams(200)) == Rows(sampler).sample(ids, streams(200))).all()
    assert sampler.weights(ids[:1]).sum(dtype=object) > 2**64 or mechanism.epsilon == 40


@given(
    steps=st.lists(st.lists(st.integers(0, 2**66), min_size=5, max_size=5), min_size=1, max_size=6),
    data=st.data(),
)
def test_first_above(steps, data):
    rows = [np.cumsum(np.array([*each[:-1], each[-1] + 1], object)).tolist() for each in steps]
    high = np.array([[x >> 32 for x in row] for row in rows], dtype=np.uint64)
    low = np.array([[x & 0xFFFFFFFF for x in row] for row in rows], dtype=np.uint32)
    numbers = [
        data.draw(st.one_of(st.integers(0, row[-1] - 1), st.sampled_from([0, *row[:-1]])))
        for row in rows
    ]
    numbers = [min(x, row[-1] - 1) for x, row in zip(numbers, rows, strict=True)]
    found = first_above(
        high,
        low,
        np.arange(len(rows)),
        np.array([x >> 32 for x in numbers], dtype=np.uint64),
        np.array([x & 0xFFFFFFFF for x in numbers], dtype=np.uint64),
    )
    expected = [bisect_right(row, x) for row, x in zip(rows, numbers, strict=True)]
    assert found.tolist() == expected


def test_exponentials_do_not_depend_on_their_place():
    """NumPy's vector loops and their remainders must agree: block sums rest on it."""
    values = -np.random.default_rng(1).uniform(0, 30, size=1000)
    whole = np.exp(values)
    for start in range(9):
        for size in (1, 2, 3, 5, 8, 13, 100):
            assert (np.exp(values[start : start + size]) == whole[start : start + size]).all()
    assert (np.exp(values[::3]) == whole[::3]).all()
    aligned = np.zeros(8008, dtype=np.uint8)[3:8003].view(np.float64)
    aligned[:] = values
    assert (np.exp(aligned, out=aligned) == whole).all()


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_words_do_not_depend_on_threads(large, threads):
    ids = np.random.default_rng(2).integers(0, 3001, size=2000)
    expected = Exponential(3.0).prepare(large).sample(ids, streams(2000))
    with openmp(threads):
        assert allowed() == threads
        assert (Exponential(3.0).prepare(large).sample(ids, streams(2000)) == expected).all()


@contextmanager
def openmp(threads):
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(threads)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)


@pytest.mark.parametrize("threads", [1, 3])
def test_every_part_is_worked_on_and_an_error_is_raised(threads):
    done = []
    with openmp(threads):
        side_by_side(done.append, range(20))
        assert sorted(done) == list(range(20))
        with pytest.raises(ZeroDivisionError):
            side_by_side(lambda part: 1 // (part - 7), range(20))


@pytest.mark.parametrize("size", [10, 700])
def test_words_do_not_depend_on_the_batch(large, size):
    ids = np.random.default_rng(3).integers(0, 3001, size=2000)
    whole = streams(2000)
    expected = TEM(5.0).prepare(large).sample(ids, whole)
    sampler, at, found = TEM(5.0).prepare(large), 0, []
    for part in whole.chunks(size):
        found.append(sampler.sample(ids[at : at + len(part)], part))
        at += len(part)
    assert len(found) > 2
    assert (np.concatenate(found) == expected).all()


def test_memory_is_bounded_and_changes_nothing(large):
    scores = DistanceScores(large, 1.5)
    free = DistanceSampler(large, scores)
    for size in (3000, 30_000, 400_000):  # some words, and less than all
        tracemalloc.start()
        sampler = DistanceSampler(large, scores, cache_bytes=size)
        assert tracemalloc.get_traced_memory()[0] < size + 100_000
        tracemalloc.stop()
        for seed in (1, 2, 3):
            ids = np.random.default_rng(seed).integers(0, 3001, size=300)
            bits = streams(300, key=bytes([seed]) * 32)
            assert (sampler.sample(ids, bits) == free.sample(ids, bits)).all()


def test_law(space):
    """Chi-square against the integer weights, and the twin: a slightly different law is refused."""
    sampler = Exponential(2.0).prepare(space)
    draws = 200_000
    for word in (0, space.n - 1, space.n):
        drawn = sampler.sample(np.full(draws, word), streams(draws))
        observed = np.bincount(drawn, minlength=space.n)
        assert fits(observed, sampler.probabilities(np.array([word]))[0])
        if word < space.n:
            other = Exponential(2.1).prepare(space).probabilities(np.array([word]))[0]
            assert not fits(observed, other)


def test_pickles(large):
    sampler = Exponential(3.0).prepare(large)
    ids = np.arange(500)
    expected = sampler.sample(ids, streams(500))
    packed = pickle.dumps(sampler)
    assert len(packed) < 1.2 * large.vectors.nbytes + 1e5  # no tables in it
    assert (pickle.loads(packed).sample(ids, streams(500)) == expected).all()


def test_two_callers_at_once(large):
    scores = DistanceScores(large, 1.5)
    free = DistanceSampler(large, scores)
    sampler = DistanceSampler(large, scores, cache_bytes=30_000)
    ids = [np.random.default_rng(seed).integers(0, 3001, size=400) for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda each: sampler.sample(each, streams(400)), ids))
    for each, words in zip(ids, found, strict=True):
        assert (words == free.sample(each, streams(400))).all()
