"""zipf-response's ranks: the order of a full sort."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from line_laws import space_of
from support import make_embeddings

from dpsan.mechanisms.zipf_response import orders
from dpsan.space.metric_space import MetricSpace


def full_sort(space):
    """The definition: by distance, ties by row number, the word itself first."""
    rows = space.distances(np.arange(space.n)).tolist()
    words = range(space.n)
    return np.array([sorted(words, key=lambda u: (u != w, rows[w][u], u)) for w in words])


def all_orders(space):
    return orders(space, np.arange(space.n))


def test_orders_of_a_full_sort():
    space, some = MetricSpace(make_embeddings(n=300, d=20)), np.array([0, 7, 7, 299])
    reference = full_sort(space)
    assert (orders(space, some) == reference[some]).all()
    assert (all_orders(space) == reference).all()


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
    assert (all_orders(space) == full_sort(space)).all()


def test_far_from_the_origin():
    """Two clusters whose distance swallows the distances within them in float32."""
    vectors = np.random.default_rng(4).normal(size=(400, 6))
    space = space_of(vectors + np.repeat([[0], [3e5]], 200, axis=0))
    assert (all_orders(space) == full_sort(space)).all()
