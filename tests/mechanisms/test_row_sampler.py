"""RowSampler: a word's law does not depend on its company; memory is bounded by bytes."""

import math
import tracemalloc

import numpy as np
import pytest
from support import fits, make_embeddings, streams

from dpsan.mechanisms.exponential import Exponential
from dpsan.mechanisms.samplers.base import RowSampler
from dpsan.space.metric_space import MetricSpace


@pytest.fixture(scope="module")
def large():
    return MetricSpace(make_embeddings(n=3000, d=100))


def test_weights_do_not_depend_on_the_batch(large):
    sampler = Exponential(1.0).prepare(large)
    ids = np.arange(0, 300, 3)
    together = sampler.weights(ids)
    assert (together[::-1] == sampler.weights(ids[::-1])).all()
    for size in (1, 7, 33):
        parts = [sampler.weights(ids[at : at + size]) for at in range(0, len(ids), size)]
        assert (together == np.concatenate(parts)).all()


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


@pytest.mark.parametrize("size", [1, 10, 130])
def test_words_do_not_depend_on_the_batch(large, size):
    ids = np.arange(260) * 7 % 500
    whole = streams(260)
    together = Exponential(1.0).prepare(large).sample(ids, whole)
    sampler = Exponential(1.0).prepare(large)
    at, parts = 0, []
    for part in whole.chunks(size):
        parts.append(sampler.sample(ids[at : at + len(part)], part))
        at += len(part)
    assert (np.concatenate(parts) == together).all()


def test_words_do_not_depend_on_threads(large):
    limits = pytest.importorskip("threadpoolctl").threadpool_limits
    ids = np.arange(500)
    many = Exponential(1.0).prepare(large).sample(ids, streams(500))
    with limits(1):
        one = Exponential(1.0).prepare(large).sample(ids, streams(500))
    assert (one == many).all()


@pytest.mark.parametrize("rows", [1, 40, 200])
def test_cache_is_bounded_and_changes_nothing(space, rows):
    ids = np.tile(np.arange(space.n + 1), 3)
    sampler = RowSampler(space, space.distances, cache_bytes=12 * space.n * rows)
    free = RowSampler(space, space.distances)
    for key in (b"a" * 32, b"b" * 32):
        bits = streams(len(ids), key=key)
        expected = free.sample(ids, bits)
        tracemalloc.start()
        assert (sampler.sample(ids, bits) == expected).all()
        held = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
        assert held < 12 * space.n * max(rows, sampler.block) + 40_000


def test_blocks_are_small_for_large_vocabularies(space):
    class Huge:
        n = 3_000_000

    assert RowSampler(Huge(), None).block == 4
    assert RowSampler(space, None).block == 32


def test_integer_weights_of_rows_are_the_law(space):
    """Total weights beyond 64 bits, and scores beyond the cap."""
    flat = RowSampler(space, lambda ids: np.zeros((len(ids), space.n)))
    assert flat.weights(np.array([0])).sum(dtype=object) == space.n << 62
    drawn = flat.sample(np.zeros(30_000, dtype=np.int64), streams(30_000))
    assert fits(np.bincount(drawn, minlength=space.n), np.full(space.n, 1 / space.n))
    steep = RowSampler(space, lambda ids: np.tile(np.arange(space.n) * 50.0, (len(ids), 1)))
    weights = steep.weights(np.array([0]))[0]
    assert weights[0] == 1 << 62
    assert weights[1] == weights[-1] == math.floor(math.exp(-30) * 2**62)
