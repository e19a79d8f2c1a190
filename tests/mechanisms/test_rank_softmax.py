"""``rank-softmax``: closed form against brute force, and ranks taken from the true word."""

import numpy as np
import pytest
from line_laws import counts, laplace_cdf, line_space, metric_loss, nearest_law, off
from support import fits, make_embeddings, streams

from dpsan.mechanisms.rank_softmax import RankSoftmax, SoftmaxRanks, draw_ranks
from dpsan.mechanisms.tables.pivot_ranks import PivotRanks
from dpsan.space.metric_space import MetricSpace

EPSILON, C = 1.3, 0.3
LINE = [0.0, 0.4, -0.7, 1.9, 1.5, -2.2, 3.0, 0.9]


def softmax_of_ranks(space, rate):
    """Row p: law of the output given pivot p, by ranking the whole vocabulary."""
    law = np.empty((space.n, space.n))
    for pivot in range(space.n):
        distances = np.linalg.norm(space.vectors - space.vectors[pivot].astype(float), axis=1)
        distances[pivot] = -1
        weights = np.exp(-rate * np.arange(space.n))
        law[pivot, np.argsort(distances, kind="stable")] = weights / weights.sum()
    return law


def exact(space, epsilon, c):
    pivots = nearest_law(space, lambda x: laplace_cdf(x, 1 / epsilon))
    return pivots @ softmax_of_ranks(space, c * epsilon)


@pytest.mark.parametrize("word", [0, 5, len(LINE)])
def test_draws_follow_the_brute_force_law(word):
    space = line_space(LINE)
    law = exact(space, EPSILON, C)[word]
    observed = counts(RankSoftmax(EPSILON, C), space, word)
    assert fits(observed, law)
    assert not fits(observed, off(law))
    assert not fits(observed, exact(space, 2 * EPSILON, C / 2)[word])  # half the noise
    assert not fits(observed, exact(space, EPSILON, 0.7 * C)[word])


@pytest.mark.parametrize("rate", [1e-12, 0.003, 0.4, 50.0])
def test_ranks_are_a_truncated_geometric(rate):
    n = 30
    ranks = draw_ranks(streams(40_000).uniform("rank")[:, 0], rate, n)
    law = np.exp(-rate * np.arange(n))
    assert fits(np.bincount(ranks, minlength=n), law / law.sum())
    # At the ends of the uniform grid.
    edge = draw_ranks(np.array([2.0**-53, 1 - 2.0**-53]), rate, n)
    assert edge[0] == 0
    assert edge[1] <= n - 1


@pytest.mark.parametrize("n", [1, 2, 5, 300])
def test_every_rank_up_to_the_last_is_found(n):
    """A nearly flat law reaches all ranks; each word is the one brute force names."""
    space = MetricSpace(make_embeddings(n, 3))
    m = 600
    points = space.vectors[np.arange(m) % n].astype(float)
    out = SoftmaxRanks(1e-9)(space, points, streams(m))
    ranks = draw_ranks(streams(m).uniform("rank")[:, 0], 1e-9, n)
    assert ranks.max() >= 0.98 * (n - 1)
    ranking = space.neighbors(np.arange(n), n)
    assert (out == ranking[np.arange(m) % n, ranks]).all()


def test_metric_guarantee_on_the_exact_law():
    space = line_space(LINE)
    law = exact(space, EPSILON, C)
    assert metric_loss(space, law) <= EPSILON * (1 + 1e-9)
    guarantee = RankSoftmax(EPSILON, C).guarantee(space)
    assert guarantee.epsilon_metric == EPSILON
    assert guarantee.epsilon_ldp == pytest.approx(EPSILON * 5.2, rel=1e-6)


def test_ranks_from_the_true_word_are_caught():
    """Two words 0.002 apart between two groups: their rankings put different groups first."""
    left, right = -1 - np.arange(60) / 1e4, 1 + np.arange(60) / 1e4
    space = line_space([-0.001, 0.001, *left, *right])
    epsilon, c = 1.0, 0.04
    assert metric_loss(space, exact(space, epsilon, c)) <= epsilon * (1 + 1e-9)
    planted = softmax_of_ranks(space, c * epsilon)  # ranks of w itself
    planted = np.vstack([planted, planted.mean(axis=0)])
    assert metric_loss(space, planted) > 85.7 * epsilon


def test_large_vocabulary_and_flat_law(glove):
    """Ranks in the thousands on 9,910 words: the same word as a full ranking, in bounded time."""
    _, space = glove
    m = 40
    out = SoftmaxRanks(1e-7)(space, space.points(np.arange(m)), streams(m))
    ranks = draw_ranks(streams(m).uniform("rank")[:, 0], 1e-7, space.n)
    distances = space.distances(np.arange(m))
    reached = distances[np.arange(m), out]
    nearer = (distances < reached[:, None]).sum(axis=1)
    assert ranks.max() > 5000
    assert (np.abs(nearer - ranks) <= 1).all()


@pytest.mark.parametrize("kept", [0, 7, 300])
def test_what_is_kept_of_pivots_changes_no_word(kept):
    """Few pivots again and again, ranks of every size, with room for none, some and all."""
    space = MetricSpace(make_embeddings(300, 3))
    ranking = space.neighbors(np.arange(300), 300)
    held = PivotRanks(space, kept)
    generator = np.random.default_rng(2)
    for size in (1, 5, 400, 400, 50):
        pivots = generator.integers(0, 300, size)
        ranks = np.minimum(generator.zipf(1.3, size) - 1, 299)
        assert (held.words(pivots, ranks) == ranking[pivots, ranks]).all()


def test_a_pivot_is_searched_once_and_no_farther_than_asked(monkeypatch):
    """Its nearest neighbours serve again; farther ones are searched for anew."""
    space = MetricSpace(make_embeddings(300, 3))
    ranking = space.neighbors(np.arange(300), 300)
    searched = []
    neighbors = MetricSpace.neighbors

    def counted(self, ids, k):
        searched.append((len(ids), k))
        return neighbors(self, ids, k)

    monkeypatch.setattr(MetricSpace, "neighbors", counted)
    held = PivotRanks(space)
    pivots = np.arange(300)
    for highest, width in (
        (3, 8),
        (7, None),
        (8, 16),
        (15, None),
        (70, 72),
        (60, None),
        (299, 300),
    ):
        searched.clear()
        ranks = np.full(300, highest)
        assert (held.words(pivots, ranks) == ranking[pivots, ranks]).all()
        assert searched == ([] if width is None else [(300, width)])
    searched.clear()
    four = np.tile([1, 5, 40, 200], 300)
    assert (
        PivotRanks(space).words(pivots.repeat(4), four) == ranking[pivots.repeat(4), four]
    ).all()
    assert sum(count for count, _ in searched) == 300
