"""The sound TLDP: integer tables on a public grid, certified exactly."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from support import fits, make_embeddings, streams

from dpsan.errors import UsageError
from dpsan.mechanisms.tables.word_weights import resolve
from dpsan.mechanisms.tldp import TLDP, coordinate_budgets, principal_components
from dpsan.privacy.grid import TOTAL, certified_loss, grid_pmf, grid_table, mixed_loss
from dpsan.space.metric_space import MetricSpace

EPSILONS = [1e-18, 1e-9, 1e-3, 0.1, 0.5, 1.0, 2.0, 8.0, 20.0, 60.0, 700.0]


@pytest.fixture(scope="module")
def small():
    return MetricSpace(make_embeddings(n=40, d=4))


def below_exp(epsilon):
    """A rational number just below e^epsilon, for epsilon <= 60."""
    total = term = Fraction(1)
    for i in range(1, int(4 * min(epsilon, 60)) + 40):
        term *= Fraction(min(epsilon, 60)) / i
        total += term
    return total


@pytest.mark.parametrize("levels", [2, 3, 8, 17])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_tables_are_certified(epsilon, levels):
    table = grid_table(epsilon, levels)
    rows = table.tolist()
    assert all(sum(row) == TOTAL for row in rows)
    assert all(entry >= 1 for row in rows for entry in row)  # full support
    exact = max(Fraction(max(c), min(c)) for c in zip(*rows, strict=True))
    assert exact <= below_exp(epsilon)
    assert exact <= below_exp(certified_loss(table)) * (1 + Fraction(1, 1 << 70))
    assert certified_loss(table) <= epsilon
    if 1e-3 <= epsilon <= 20:
        assert certified_loss(table) == pytest.approx(epsilon, rel=1e-6)  # nothing is wasted


def test_law_is_the_mixture_and_beats_its_two_ends():
    law = grid_pmf(2.0, 8)
    assert law.sum(axis=1) == pytest.approx(np.ones(8))
    assert (law > 0).all()
    assert grid_table(2.0, 8) / 2.0**62 == pytest.approx(law, rel=1e-9)
    place = np.arange(8)
    apart = np.abs(place[:, None] - place)
    responses = np.where(apart == 0, math.exp(2), 1) / (math.exp(2) + 7)  # slope 0
    noise = np.exp(-2 * apart / 7)
    noise /= noise.sum(axis=1, keepdims=True)  # p = 0
    error = [(each * apart**2).sum() for each in (law, responses, noise)]
    assert error[0] <= min(error[1:]) + 1e-9
    # The closed form of p, found again by bisection.
    slope = 0.6
    g = np.exp(-slope * apart / 7)
    g /= g.sum(axis=1, keepdims=True)
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        mixed = middle * np.eye(8) + (1 - middle) * g
        loss = np.log(mixed.max(axis=0) / mixed.min(axis=0)).max()
        low, high = (middle, high) if loss <= 2 else (low, middle)
    odds = (math.exp(2) * g.min(axis=0) - np.diag(g)).min()
    assert odds / (1 + odds) == pytest.approx(low)


def test_certificate_is_rounded_up_and_sees_planted_defects():
    table = grid_table(1.0, 8)
    broken = table.copy()
    broken[7, 0] -= broken[7, 0] // 3  # 30 % off in one cell
    assert certified_loss(broken) > 1.2
    broken[7, 0] = 0
    assert certified_loss(broken) == math.inf


@pytest.mark.parametrize("values", [{}, {"split": "spread"}, {"dimensions": 2, "levels": 16}])
@pytest.mark.parametrize("epsilon", [0.3, 2.0, 8.0])
def test_total_is_at_most_epsilon(small, values, epsilon):
    mechanism = TLDP(epsilon, **values)
    guarantee = mechanism.guarantee(small)
    assert epsilon * 0.999 < guarantee.epsilon_ldp <= epsilon
    sampler = mechanism.prepare(small)
    for words in (1, 2, 7, 1000):
        assert words * sampler.certified_epsilon(words) <= epsilon


@pytest.mark.parametrize("count", [1, 3, 64])
def test_budgets_never_exceed_epsilon(count):
    shares = np.random.default_rng(1).uniform(0.01, 1, count)
    for epsilon in (0.1, 1.0, 7.7):
        exact = sum(map(Fraction, coordinate_budgets(epsilon, shares)))
        assert exact <= Fraction(epsilon)


@pytest.mark.parametrize("weights", ["none", "frequency"])
def test_law_of_words_keeps_epsilon(small, weights):
    mechanism = TLDP(2.0, weights=weights)
    law = mechanism.prepare(small).probabilities(np.arange(small.n + 1))
    assert law.sum(axis=1) == pytest.approx(np.ones(small.n + 1))
    reached = law[:, (law > 0).any(axis=0)]
    assert (reached > 0).all()
    logs = np.log(reached)
    loss = (logs[:, None] - logs[None]).max(axis=2)
    assert 0.2 < loss.max() <= 2.0
    if weights == "frequency":  # sensitive words are closer to each other
        top = sum(mixed_loss(table, 0.9) for table in mechanism.prepare(small).tables(1))
        assert top < 0.5
        unknown = loss[small.n, small.n - 1]
        assert unknown <= top + 1e-9


@pytest.mark.parametrize("weights", ["none", "frequency"])
def test_levels_follow_the_integers(small, weights):
    sampler = TLDP(3.0, weights=weights, dimensions=2).prepare(small)
    m, word = 40_000, 25
    ids = np.full(m, word)
    released = sampler.perturb(ids, np.ones_like(ids), streams(m))
    own = sampler.lattice.encode(ids[:1])[0]
    share = resolve(weights, None, small.counts, small.n)[word]
    for i in range(2):
        table = sampler.tables(1)[i] / float(TOTAL)
        law = (1 - share) * table[own[i]] + share * table.mean(axis=0)
        observed = np.bincount(released[:, i], minlength=8)
        assert fits(observed, law)
        wrong = law * np.where(np.arange(8) % 2, 1.3, 0.7)
        assert not fits(observed, wrong / wrong.sum())
        if weights == "frequency":
            assert not fits(observed, table[own[i]])
    joint = np.bincount(released[:, 0] * 8 + released[:, 1], minlength=64)
    assert fits(joint, np.outer(*(np.bincount(r, minlength=8) / m for r in released.T)).ravel())


def test_words_of_a_line_share_its_budget(small):
    sampler = TLDP(8.0, tensor="line").prepare(small)
    m = 20_000
    ids = np.full(m, 9)
    own = sampler.lattice.encode(ids[:1])[0]
    released = sampler.perturb(ids, np.full(m, 4), streams(m))
    observed = np.bincount(released[:, 0], minlength=8)
    quarter = grid_table(coordinate_budgets(2.0, np.ones(4))[0], 8)[own[0]] / float(TOTAL)
    whole = grid_table(coordinate_budgets(8.0, np.ones(4))[0], 8)[own[0]] / float(TOTAL)
    assert fits(observed, quarter)
    assert not fits(observed, whole)
    guarantee = TLDP(8.0, tensor="line").guarantee(small)
    assert guarantee.epsilon_ldp == 8
    assert "whole line" in guarantee.why


def test_a_split_by_private_weights_would_leak():
    """epsilon·v(x_i)/sum v(x_j): the noise of one word shows the weight of the other."""

    def worst(split_by_weight):
        laws = []
        for line in itertools.product(itertools.product(range(2), (1.0, 0.1)), repeat=2):
            total = sum(weight for _, weight in line)
            shares = [w / total if split_by_weight else 0.5 for _, w in line]
            rows = [grid_pmf(2 * s, 2)[x] for (x, _), s in zip(line, shares, strict=True)]
            laws.append(np.log(np.outer(*rows).ravel()))
        return max((a - b).max() for a in laws for b in laws)

    assert worst(split_by_weight=True) > 2.1
    assert worst(split_by_weight=False) <= 2 + 1e-12


def test_components_and_grid(small):
    points = principal_components(small, 4).astype(float)
    assert (np.diff(points.std(axis=0)) <= 1e-6).all()
    # An orthogonal map: all four components keep every distance.
    before = np.linalg.norm(small.vectors[:, None] - small.vectors[None].astype(float), axis=2)
    after = np.linalg.norm(points[:, None] - points[None], axis=2)
    assert np.allclose(before, after, atol=1e-5)
    lattice = TLDP(1.0).lattice(small)
    levels = lattice.encode(np.arange(small.n + 1))
    assert levels.min() == 0
    assert levels.max() == 7
    inside = np.abs(lattice.decode(levels[:-1]) - points) <= lattice.step / 2 + 1e-5
    assert inside.mean() > 0.8  # the rest is beyond the quantiles
    assert (levels[-1] > 0).all()  # ⊥ is the centroid
    assert (levels[-1] < 7).all()


def test_noise_scale_falls_with_epsilon(small):
    scales = [TLDP(epsilon).noise_scale(small) for epsilon in (0.1, 2.0, 8.0, 30.0)]
    assert scales == sorted(scales, reverse=True)
    assert scales[-1] < 0.1 * scales[0]


def test_constant_coordinates_and_few_dimensions():
    made = make_embeddings(n=12, d=3)
    made.vectors[:, 1:] = 1
    space = MetricSpace(made)
    mechanism = TLDP(1.0, split="spread")
    assert mechanism.guarantee(space).epsilon_ldp <= 1
    out = mechanism.prepare(space).sample(np.arange(13), streams(13))
    assert ((out >= 0) & (out < 12)).all()


def test_domain():
    with pytest.raises(UsageError, match="levels must be a whole number >= 2"):
        TLDP.build(1.0, {"levels": "1"})
    with pytest.raises(UsageError, match="split must be"):
        TLDP.build(1.0, {"split": "weights"})
    with pytest.raises(UsageError, match="dimensions must be"):
        TLDP.build(1.0, {"dimensions": "0"})
