"""DistanceSampler: the same integers, law and words as whole rows, whatever the circumstances."""

import pickle
from bisect import bisect_right
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import fits, make_embeddings, streams

from dpsan.mechanisms.exponential import Exponential
from dpsan.mechanisms.sampling import blocked as blocks
from dpsan.mechanisms.sampling.blocked import DistanceSampler
from dpsan.mechanisms.sampling.distance_scores import DistanceScores
from dpsan.mechanisms.sampling.samplers import RowSampler
from dpsan.mechanisms.santext_plus import SanTextPlus
from dpsan.mechanisms.tem import TEM
from dpsan.space.metric_space import MetricSpace


class Rows(RowSampler):
    """One step: the whole cumulative row of another sampler's weights."""

    def __init__(self, sampler):
        super().__init__(sampler.space, sampler.scores)
        self.weights = sampler.weights


def below(high, low):
    """Two limbs as Python integers."""
    return [(int(h) << 32) + int(x) for h, x in zip(high.tolist(), low.tolist(), strict=True)]


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
    sampler = kind(epsilon, p=1.0) if kind is SanTextPlus else kind(epsilon)
    sampler = sampler.prepare(space)
    sampler._room = max(1, min(n, cache // (12 * sampler._blocks)))
    sampler._forget()
    ids = np.random.default_rng(seed).integers(0, n + 1, size=60)
    bits = streams(60, key=bytes([seed]) * 32)
    assert (sampler.sample(ids, bits) == Rows(sampler).sample(ids, bits)).all()


@pytest.mark.parametrize(
    "mechanism", [Exponential(0.05), Exponential(40.0), SanTextPlus(0.1)], ids=repr
)
def test_block_sums_are_the_sums_of_the_weights(large, mechanism):
    sampler = mechanism.prepare(large)
    words = np.array([0, 5, 299, 300, 2999])
    slots = sampler._slots(words)
    weights = sampler.weights(words).astype(object)
    for row, slot in zip(weights, slots.tolist(), strict=True):
        ends = np.cumsum(row)[sampler._starts[1:] - 1]
        assert below(sampler._high[slot], sampler._low[slot]) == ends.tolist()
        assert ends[-1] > 2**64 or mechanism.epsilon == 40  # more than the integer sums hold


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
    found = blocks._first_above(
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
def test_words_do_not_depend_on_threads(large, threads, monkeypatch):
    ids = np.random.default_rng(2).integers(0, 3001, size=2000)
    expected = Exponential(3.0).prepare(large).sample(ids, streams(2000))
    monkeypatch.setattr(blocks, "_threads", lambda: threads)
    assert (Exponential(3.0).prepare(large).sample(ids, streams(2000)) == expected).all()


def test_as_many_threads_as_openmp_allows():
    limits = pytest.importorskip("threadpoolctl").threadpool_limits
    with limits(1):
        assert blocks._threads() == 1


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
    row = 12 * free._blocks
    for rows in (3, 40, 500):
        sampler = DistanceSampler(large, scores, cache_bytes=rows * row + 5)
        assert sampler._high.nbytes + sampler._low.nbytes == rows * row
        for seed in (1, 2, 3):
            ids = np.random.default_rng(seed).integers(0, 3001, size=300)
            bits = streams(300, key=bytes([seed]) * 32)
            assert (sampler.sample(ids, bits) == free.sample(ids, bits)).all()
        held = np.flatnonzero(sampler._slot >= 0)
        assert len(held) <= rows
        assert (sampler._word[sampler._slot[held]] == held).all()


def test_the_words_used_longest_ago_give_way(space):
    sampler = DistanceSampler(space, DistanceScores(space, 1.0))
    sampler._room = 3
    sampler._forget()
    for words in ([0, 1, 2], [0], [2, 3]):
        sampler._slots(np.array(words))
    assert np.flatnonzero(sampler._slot >= 0).tolist() == [0, 2, 3]


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
    sampler = DistanceSampler(large, scores, cache_bytes=12 * free._blocks * 50)
    ids = [np.random.default_rng(seed).integers(0, 3001, size=400) for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda each: sampler.sample(each, streams(400)), ids))
    for each, words in zip(ids, found, strict=True):
        assert (words == free.sample(each, streams(400))).all()
