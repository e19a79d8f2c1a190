"""Figures of whole matrices, random words with their intervals, grids of epsilon, draws."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from common import outcomes, sweeps, words
from common.draws import Draws, from_draws
from common.outcomes import from_pmfs
from support import make_embeddings

from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.outcomes.calibrate import Draft
from dpsan.privacy import randomness
from dpsan.space.metric_space import MetricSpace

SPACE = MetricSpace(make_embeddings(n=300, d=5))
KEY = randomness.seeded_key("study tests")
TABLES = ["exponential", "krr", "knn-response", "zipf-response", "geodesic", "tem", "custext"]


def at(name, epsilon=3.0, space=SPACE, **values):
    return MECHANISMS[name].build(epsilon, values).prepare(space)


def test_draws_agree_with_laws():
    """The limits hold what the law says, and not a share of another epsilon."""
    uniform = Draws(SPACE, 20_000, KEY, similar=True)
    for name in ("exponential", "knn-response"):
        drawn, unchanged, close, distant = from_draws(uniform, at(name))
        law, other = from_pmfs(SPACE, np.arange(SPACE.n), [at(name), at(name, 4.5)], similar=True)
        assert unchanged.low < law.unchanged.mean() < unchanged.high
        assert close.low < law.close.mean() < close.high
        assert unchanged.value + close.value + distant.value == pytest.approx(1)
        mean = words.mean_of_words(uniform.cosines(drawn), math.inf, (-1.0, 1.0))
        assert mean.low < law.cosine.mean() < mean.high
        assert not close.low < other.close.mean() < close.high
        assert not mean.low < other.cosine.mean() < mean.high


def test_mean_of_random_words_holds():
    """95 % limits hold the mean of all words about that often; of half the width they do not."""
    values = from_pmfs(SPACE, np.arange(SPACE.n), [at("exponential")])[0].unchanged
    inside = half = 0
    for seed in range(400):
        ids = words.random_words(SPACE.n, 60, randomness.seeded_key(f"words {seed}"))
        assert len(np.unique(ids)) == 60
        found = words.mean_of_words(values[ids], SPACE.n)
        inside += found.low <= values.mean() <= found.high
        half += abs(found.value - values.mean()) <= (found.high - found.low) / 4
    # Binomial(400, .95) is below 350 with probability 2e-9; half the width holds about .68.
    assert inside >= 350
    assert half < 350


def test_all_words_are_without_chance():
    found = words.mean_of_words(np.array([0.1, 0.5, 0.9]), 3)
    assert found.low == found.value == found.high == pytest.approx(0.5)
    assert words.mean_of_words(np.array([0.1]), 3).high == 1
    for count in (0, 9):
        assert (words.random_words(7, count, KEY) == np.arange(7)).all()


def unchanged(name, epsilon, **values):
    return from_draws(Draws(SPACE, 2000, KEY), at(name, epsilon, **values))[1].value


@pytest.mark.parametrize("name", ["laplace", "exponential", "geodesic"])
def test_grids_go_from_changed_to_unchanged(name):
    grid = sweeps.telling_epsilons(Draft(MECHANISMS[name]), SPACE)
    assert list(grid) == sorted(set(grid))
    first, last = (unchanged(name, epsilon) for epsilon in (grid[0], grid[-1]))
    assert first < 0.05 < 0.85 < last


def test_a_grid_ends_where_nothing_changes_any_more():
    """A grid of 16 points has room for few of 300 words, whatever epsilon is."""
    values = {"dimensions": 2, "levels": 4}
    grid = sweeps.telling_epsilons(Draft(MECHANISMS["tldp"], values), SPACE)
    end, beyond = (unchanged("tldp", epsilon, **values) for epsilon in (grid[-1], 8 * grid[-1]))
    assert beyond < 0.2
    assert end > 0.8 * beyond
    assert grid[-1] < 200


def test_epsilons_outside_the_domain_are_noted():
    draft = Draft(MECHANISMS["gaussian-classical"], {"delta": 1e-6})
    (found,), (note,) = sweeps.defined(draft, SPACE, (0.5, 3.0))
    assert (found.epsilon, "epsilon 3" in note) == (0.5, True)
    with pytest.raises(UsageError):
        sweeps.defined(draft, SPACE, (3.0, 4.0))


def test_a_grid_leaves_the_flat_part(monkeypatch):
    """Shares as those of tgumbel-paper, flat up to far out: the search ended there."""

    def share(mechanism, _ids):
        return float(np.interp(math.log10(mechanism.epsilon), [4, 6], [0.26, 0.97]))

    late = SimpleNamespace(words=lambda _: None, share=share)
    monkeypatch.setattr(sweeps, "Outputs", lambda *_: late)
    grid = sweeps.telling_epsilons(Draft(MECHANISMS["laplace"]), SPACE, 8)
    assert 9e3 < grid[0] < 2e4
    assert 6e5 < grid[-1] < 1e6


@pytest.mark.parametrize("threads", [1, 3])
def test_all_figures_from_whole_matrices(monkeypatch, threads):
    """Blocks of 32 words and 1 or 3 threads against one matrix, ranks by a sort of distances."""
    monkeypatch.setattr(outcomes, "_CELLS", 32 * SPACE.n)
    monkeypatch.setattr(outcomes, "THREADS", threads)
    samplers = [at(name, 2.0 + i) for i, name in enumerate([*TABLES, "zipf-response"])]
    every = np.arange(SPACE.n)
    found = from_pmfs(SPACE, every, samplers, similar=True)
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
        assert np.allclose(out.best, law.max(axis=0), rtol=1e-9)


def test_some_words_only():
    ids, every = np.array([5, 17, 299]), np.arange(SPACE.n)
    found = [from_pmfs(SPACE, each, [at("exponential")], similar=True) for each in (ids, every)]
    (some,), (whole,) = found
    assert np.allclose(some.close, whole.close[ids])
    assert (some.best <= whole.best + 1e-15).all()
    assert some.best.sum() < whole.best.sum()
