"""Rows of near words: the words drawn are those of the whole rows, for the same bits."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import fits, make_embeddings, streams

from dpsan.mechanisms import geodesic
from dpsan.mechanisms.geodesic import Geodesic
from dpsan.mechanisms.samplers import sparse as sparse_rows
from dpsan.mechanisms.samplers.base import RowSampler
from dpsan.mechanisms.samplers.sparse import NearRows, SparseRowSampler
from dpsan.space.metric_space import MetricSpace

N = 2000


@pytest.fixture(scope="module")
def large():
    return MetricSpace(make_embeddings(n=N, d=3))


def pair(space, seed, levels, epsilon):
    """A sparse sampler of random near words, and the row sampler of the same scores."""
    generator = np.random.default_rng(seed)
    n = space.n
    level_scores = np.sort(generator.random(levels + 1)) * epsilon
    level_scores[0] = 0.0  # a word's own: else the total is small and most draws are rejected
    table = np.full((n, n), levels)
    some = generator.random((n, n)) < generator.random((n, 1)) ** 3
    table[some] = generator.integers(0, levels, some.sum()) if levels else 0

    np.fill_diagonal(table, 0)

    def near(ids):
        rows, words = np.nonzero(table[ids] < levels)
        starts = np.searchsorted(rows, np.arange(len(ids) + 1))
        chosen = table[ids[rows], words].astype(np.uint8)
        return NearRows(starts, words.astype(np.int32), chosen)

    def scores(ids):
        return level_scores[table[ids]]

    sparse = SparseRowSampler(space, scores, near, level_scores, 1)
    return sparse, RowSampler(space, scores)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(1, 60),
    st.integers(0, 4),
    st.sampled_from([0.0, 1.0, 25.0, 100.0]),
    st.integers(0, 2**32 - 1),
)
def test_same_words_as_whole_rows(n, levels, epsilon, seed):
    space = MetricSpace(make_embeddings(n=n, d=2))
    sparse, rows = pair(space, seed, levels, epsilon)
    ids = np.random.default_rng(seed).integers(0, n + 1, 600)
    bits = streams(len(ids), key=seed.to_bytes(32, "little"))
    assert (sparse.sample(ids, bits) == rows.sample(ids, bits)).all()


def test_acceptance_and_boundaries(space):
    """Bits at the edges of every word's interval, and beyond the total."""
    sparse, rows = pair(space, 5, 3, 8.0)
    sums = np.cumsum(rows.weights(np.array([7]))[0].astype(object))
    edges = np.array([each >> 32 for each in sums], dtype=np.uint64)
    low = np.array([each & 0xFFFFFFFF for each in sums], dtype=np.uint64)
    bits = np.stack(
        [
            np.concatenate([edges, edges, edges + np.uint64(1), [np.uint64(2**64 - 1)]]),
            np.concatenate(
                [
                    low << np.uint64(32),
                    (low - np.uint64(1)) << np.uint64(32),
                    np.zeros(len(edges), dtype=np.uint64),
                    [np.uint64(0)],
                ]
            ),
        ],
        axis=1,
    )
    ids = np.full(len(bits), 7)
    found, asked = [], []
    for sampler in (sparse, rows):
        planned = Planned(bits)
        found.append(sampler.sample(ids, planned))
        asked.append(planned.asked)
    assert (found[0] == found[1]).all()
    assert asked == [["row/0", "row/1"]] * 2  # some bits were rejected
    # Each word's last number and the next word's first.
    assert len(np.unique(found[0])) == space.n


class Planned:
    """Streams of given bits, and of zeros for whoever asks again."""

    def __init__(self, bits):
        self.first, self.asked = bits, []

    def bits(self, label, width):
        self.asked.append(label)
        return self.first if len(self.asked) == 1 else np.zeros_like(self.first)


@pytest.mark.parametrize("cap", [1, 2, 3, 4])
@pytest.mark.parametrize("k", [2, 5])
def test_geodesic_lists_near_words(large, cap, k):
    mechanism = Geodesic(3.0, k=k, cap=cap)
    sampler = mechanism.prepare(large)
    assert isinstance(sampler, SparseRowSampler)
    paths = mechanism.paths(large)
    ids = np.arange(0, N, 13)
    starts, words, levels = paths.near(ids)
    lengths = paths.lengths(ids)
    assert starts[-1] == len(words) == (lengths < cap).sum()
    for row in range(len(ids)):
        part = slice(starts[row], starts[row + 1])
        assert (words[part] == np.flatnonzero(lengths[row] < cap)).all()
        assert (levels[part] == lengths[row, words[part]]).all()


@pytest.mark.parametrize("values", [{}, {"cap": 1}, {"cap": 2, "k": 9}])
def test_geodesic_gives_the_words_of_whole_rows(large, monkeypatch, values):
    mechanism = Geodesic(6.0, **values)
    ids = np.minimum(np.random.default_rng(2).zipf(1.1, 6000) - 1, N)
    whole = RowSampler(large, mechanism.paths(large)).sample(ids, streams(6000))
    sampler = mechanism.prepare(large)
    assert (sampler.sample(ids, streams(6000)) == whole).all()
    size = len(pickle.dumps(sampler))
    sampler.sample(np.arange(N), streams(N))  # now all near words are listed
    assert (sampler.sample(ids, streams(6000)) == whole).all()
    packed = pickle.dumps(sampler)
    assert len(packed) == size  # and not in what travels
    assert (pickle.loads(packed).sample(ids, streams(6000)) == whole).all()
    monkeypatch.setattr(sparse_rows, "_WORDS", 16)
    assert (mechanism.prepare(large).sample(ids, streams(6000)) == whole).all()


def test_law(large):
    """The law of the whole row; the twin has levels that are off."""
    mechanism = Geodesic(9.0)
    sampler = mechanism.prepare(large)
    drawn = sampler.sample(np.full(30_000, 7), streams(30_000))
    law = sampler.probabilities(np.array([7]))[0]
    assert fits(np.bincount(drawn, minlength=N), law)
    other = Geodesic(8.0).prepare(large).sample(np.full(30_000, 7), streams(30_000))
    assert not fits(np.bincount(other, minlength=N), law)


@pytest.mark.parametrize("values", [{"cap": 0}, {"edges": "rank"}, {"cap": 12}])
def test_whole_rows_where_most_words_are_near(large, values):
    sampler = Geodesic(3.0, **values).prepare(large)
    assert type(sampler) is RowSampler
    assert (sampler.sample(np.arange(40), streams(40)) < N).all()


def test_large_vocabularies_are_listed_word_by_word(large, monkeypatch):
    one_by_one, listed = Geodesic(3.0).prepare(large), Geodesic(3.0).prepare(large)
    for _ in range(2):
        expected = listed.sample(np.arange(N), streams(N))
        with monkeypatch.context() as patched:
            patched.setattr(geodesic, "_HELD", 10)
            assert (one_by_one.sample(np.arange(N), streams(N)) == expected).all()
