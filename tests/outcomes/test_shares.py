"""Figures of many words: the same as from whole law matrices; intervals that hold."""

import math

import numpy as np
import pytest
from support import make_embeddings

from dpsan.analysis.study import choice, sample
from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.outcomes import shares
from dpsan.outcomes.calibrate import Draft
from dpsan.outcomes.distributions import has_distribution
from dpsan.outcomes.shares import Draws, from_draws, from_pmfs
from dpsan.privacy import randomness
from dpsan.space.metric_space import MetricSpace

SPACE = MetricSpace(make_embeddings(n=300, d=5))
KEY = randomness.seeded_key("study tests")
TABLES = ["exponential", "krr", "knn-response", "zipf-response", "geodesic", "tem", "custext"]


def at(name, epsilon=3.0, space=SPACE, **values):
    return MECHANISMS[name].build(epsilon, values).prepare(space)


@pytest.mark.parametrize("threads", [1, 3])
def test_all_figures_from_whole_matrices(monkeypatch, threads):
    """Blocks of 32 words and 1 or 3 threads against one matrix, ranks by a sort of distances."""
    monkeypatch.setattr(shares, "_CELLS", 32 * SPACE.n)
    monkeypatch.setattr(shares, "THREADS", threads)
    samplers = [at(name, 2.0 + i) for i, name in enumerate([*TABLES, "zipf-response"])]
    progress = []
    every = np.arange(SPACE.n)
    found = from_pmfs(SPACE, every, samplers, similar=True, draws=50, progress=progress.append)
    assert progress == sorted(progress)
    assert progress[-1] == 1
    assert len(progress) == -(-SPACE.n // 32)
    vectors = SPACE.vectors.astype(np.float64)
    unit = vectors / np.linalg.norm(vectors, axis=1)[:, None]
    apart = np.linalg.norm(vectors[:, None] - vectors, axis=2)
    np.fill_diagonal(apart, -1)
    ranks = np.argsort(np.argsort(apart, axis=1, kind="stable"), axis=1)
    for sampler, out in zip(samplers, found, strict=True):
        law = sampler.probabilities(every)
        assert np.allclose(out.unchanged, np.diag(law), rtol=1e-9)
        close = np.where((ranks >= 1) & (ranks <= 100), law, 0).sum(axis=1)
        assert np.allclose(out.close, close, rtol=1e-9, atol=1e-12)
        assert np.allclose(out.cosine, (law * (unit @ unit.T)).sum(axis=1), atol=1e-5)
        assert np.allclose(out.distinct, (1 - (1 - law) ** 50).sum(axis=1), rtol=1e-9)
        assert np.allclose(out.best, law.max(axis=0), rtol=1e-9)


def test_some_words_only():
    ids = np.array([5, 17, 299])
    some, every = (
        from_pmfs(SPACE, each, [at("exponential")], similar=True)[0]
        for each in (ids, np.arange(SPACE.n))
    )
    assert np.allclose(some.close, every.close[ids])
    assert (some.best <= every.best + 1e-15).all()
    assert some.best.sum() < every.best.sum()


def test_certain_outputs_are_one_distinct_word():
    (out,) = from_pmfs(SPACE, np.arange(9), [at("krr", 60.0)], draws=1000)
    assert np.allclose(out.distinct, 1, atol=1e-6)


def test_draws_agree_with_laws():
    """The limits hold what the law says, and not a share of another epsilon."""
    words = Draws(SPACE, 20_000, KEY, similar=True)
    for name in ("exponential", "knn-response"):
        drawn, unchanged, close, distant = from_draws(words, at(name))
        law, other = from_pmfs(SPACE, np.arange(SPACE.n), [at(name), at(name, 4.5)], similar=True)
        assert unchanged.low < law.unchanged.mean() < unchanged.high
        assert close.low < law.close.mean() < close.high
        assert unchanged.value + close.value + distant.value == pytest.approx(1)
        mean = sample.mean_of_words(words.cosines(drawn), math.inf, (-1.0, 1.0))
        assert mean.low < law.cosine.mean() < mean.high
        assert not close.low < other.close.mean() < close.high
        assert not mean.low < other.cosine.mean() < mean.high


def test_draws_are_repeatable_and_the_seed_matters():
    first, again, other = (
        from_draws(Draws(SPACE, 500, randomness.seeded_key(seed)), at("laplace", 2.0))[0]
        for seed in ("a", "a", "b")
    )
    assert (first == again).all()
    assert (first != other).any()


def test_interrupt():
    def stop(share):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        from_pmfs(SPACE, np.arange(SPACE.n), [at("krr"), at("exponential")], progress=stop)
    with pytest.raises(KeyboardInterrupt):
        from_draws(Draws(SPACE, 100, KEY), at("laplace"), stop)


def test_has_distribution():
    assert has_distribution(at("exponential"))
    assert not has_distribution(at("laplace"))


# -- intervals -----------------------------------------------------------------------------------


def test_mean_of_random_words_holds():
    """95 % limits hold the mean of all words about that often; of half the width they do not."""
    values = from_pmfs(SPACE, np.arange(SPACE.n), [at("exponential")])[0].unchanged
    inside = half = 0
    for seed in range(400):
        ids = sample.random_words(SPACE.n, 60, randomness.seeded_key(f"words {seed}"))
        assert len(np.unique(ids)) == 60
        found = sample.mean_of_words(values[ids], SPACE.n)
        inside += found.low <= values.mean() <= found.high
        half += abs(found.value - values.mean()) <= (found.high - found.low) / 4
    # Binomial(400, .95) is below 350 with probability 2e-9; half the width holds about .68.
    assert inside >= 350
    assert half < 350


def test_means_without_chance_are_exact():
    values = np.array([0.1, 0.5, 0.9])
    found = sample.mean_of_words(values, 3)
    assert found.low == found.value == found.high == pytest.approx(0.5)
    assert sample.mean_of_words(values[:1], 3).high == 1
    assert sample.mean_of_words(values, math.inf).low < 0.5


def test_all_words_for_0():
    assert (sample.random_words(7, 0, KEY) == np.arange(7)).all()
    assert (sample.random_words(7, 9, KEY) == np.arange(7)).all()
    assert sample.whole_words(9910) == 9910
    assert 500 <= sample.whole_words(400_000) < 4000


# -- grids ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["laplace", "exponential", "geodesic"])
def test_grids_go_from_changed_to_unchanged(name):
    grid = choice.telling_epsilons(Draft(MECHANISMS[name]), SPACE)
    assert list(grid) == sorted(set(grid))
    words = Draws(SPACE, 2000, KEY)
    first, last = (from_draws(words, at(name, epsilon))[1].value for epsilon in (grid[0], grid[-1]))
    assert first < 0.05
    assert last > 0.85


def test_a_grid_ends_where_nothing_changes_any_more():
    """A grid of 16 points has room for few of 300 words, whatever epsilon is."""
    values = {"dimensions": 2, "levels": 4}
    grid = choice.telling_epsilons(Draft(MECHANISMS["tldp"], values), SPACE)
    words = Draws(SPACE, 2000, KEY)
    end, beyond = (
        from_draws(words, at("tldp", epsilon, **values))[1] for epsilon in (grid[-1], 8 * grid[-1])
    )
    assert beyond.value < 0.2
    assert end.value > 0.8 * beyond.value
    assert grid[-1] < 200


def test_tables_in_nats_have_round_values():
    draft = Draft(MECHANISMS["knn-response"])
    assert choice.telling_epsilons(draft, SPACE) == tuple(range(1, 17))


def test_epsilons_outside_the_domain_are_noted():
    draft = Draft(MECHANISMS["gaussian-classical"], {"delta": 1e-6})
    found, notes = choice.defined(draft, SPACE, (0.5, 3.0))
    assert [each.epsilon for each in found] == [0.5]
    assert len(notes) == 1
    assert "epsilon 3" in notes[0]
    with pytest.raises(UsageError):
        choice.defined(draft, SPACE, (3.0, 4.0))


class Late:
    """Shares that are flat from the start, as those of tgumbel-paper are, and rise far out."""

    def __init__(self, *_):
        pass

    def words(self, _):
        return None

    def shares(self, _targets, mechanism, _ids):
        return [float(np.interp(math.log10(mechanism.epsilon), [4, 6], [0.26, 0.97]))]


def test_a_grid_leaves_the_flat_part(monkeypatch):
    """All of it was where nothing changes yet: the search ended there."""
    monkeypatch.setattr(choice, "Outputs", Late)
    grid = choice.telling_epsilons(Draft(MECHANISMS["laplace"]), SPACE, 8)
    assert 9e3 < grid[0] < 2e4
    assert 6e5 < grid[-1] < 1e6
