"""The sound TLDP: integer tables on a public grid, certified exactly."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from line_laws import losses, off
from support import cases, fits, make_embeddings, streams

from dpsan.errors import UsageError
from dpsan.mechanisms.tldp import TLDP, principal_components
from dpsan.mechanisms.word_weights import word_weights
from dpsan.privacy.noise_formulas import TOTAL, certified_loss, grid_pmf, grid_table, mixed_loss
from dpsan.space.metric_space import MetricSpace

SMALL = MetricSpace(make_embeddings(n=40, d=4))


@pytest.mark.parametrize("levels", [2, 3, 8, 17])
@pytest.mark.parametrize("epsilon", [1e-18, 1e-9, 1e-3, 0.1, 0.5, 1, 2, 8, 20, 60, 700])
def test_tables_are_certified(epsilon, levels):
    table = grid_table(epsilon, levels)
    assert (table.sum(axis=1, dtype=object) == TOTAL).all()
    assert table.min() >= 1  # full support
    with localcontext(prec=60):
        exact = max(Decimal(max(column)) / min(column) for column in table.T.tolist()).ln()
    assert exact <= Decimal(certified_loss(table)) <= Decimal(epsilon)
    if 1e-3 <= epsilon <= 20:
        assert certified_loss(table) == pytest.approx(epsilon, rel=1e-6)  # nothing is wasted


def test_law_is_the_mixture_and_beats_its_two_ends():
    law = grid_pmf(2.0, 8)
    assert grid_table(2.0, 8) / 2.0**62 == pytest.approx(law, rel=1e-9)
    place = np.arange(8)
    apart = np.abs(place[:, None] - place)
    responses = np.where(apart == 0, math.exp(2), 1) / (math.exp(2) + 7)  # slope 0
    noise = np.exp(-2 * apart / 7)
    noise /= noise.sum(axis=1, keepdims=True)  # p = 0
    error = [(each * apart**2).sum() for each in (law, responses, noise)]
    assert error[0] <= min(error[1:]) + 1e-9


def test_certificate_is_rounded_up_and_sees_planted_defects():
    broken = grid_table(1.0, 8).copy()
    broken[7, 0] -= broken[7, 0] // 3  # 30 % off in one cell
    assert certified_loss(broken) > 1.2
    broken[7, 0] = 0
    assert certified_loss(broken) == math.inf


def test_law_of_weighted_words_keeps_epsilon():
    """Sensitive words are closer to each other."""
    sampler = TLDP(2.0, weights="frequency").prepare(SMALL)
    law = sampler.probabilities(np.arange(SMALL.n + 1))
    assert law.sum(axis=1) == pytest.approx(np.ones(SMALL.n + 1))
    assert ((law > 0).all(axis=0) | (law == 0).all(axis=0)).all()
    loss = losses(law)
    assert 0.2 < loss.max() <= 2.0
    top = sampler.width * mixed_loss(sampler.table, 0.9)
    assert loss[SMALL.n, SMALL.n - 1] <= top + 1e-9
    assert top < 0.5


@pytest.mark.parametrize("weights", ["none", "frequency"])
def test_levels_follow_the_integers(weights):
    sampler, m = TLDP(3.0, weights=weights, dimensions=2).prepare(SMALL), 40_000
    ids = np.full(m, 25)
    released = sampler.perturb(ids, streams(m)).T
    share = word_weights(weights, SMALL)[25]
    own = sampler.lattice.encode(ids[:1])[0]
    rows = sampler.table / float(TOTAL)
    for levels, x in zip(released, own, strict=True):
        law = (1 - share) * rows[x] + share * rows.mean(axis=0)
        observed = np.bincount(levels, minlength=8)
        assert fits(observed, law)
        assert not fits(observed, off(law))
        assert fits(observed, rows[x]) == (weights == "none")
    joint = np.bincount(released[0] * 8 + released[1], minlength=64)
    assert fits(joint, np.outer(*(np.bincount(r, minlength=8) / m for r in released)).ravel())


def test_components_and_grid():
    points = principal_components(SMALL, 4).astype(float)
    assert (np.diff(points.std(axis=0)) <= 1e-6).all()
    # An orthogonal map: all four components keep every distance.
    before = np.linalg.norm(SMALL.vectors[:, None] - SMALL.vectors[None].astype(float), axis=2)
    after = np.linalg.norm(points[:, None] - points[None], axis=2)
    assert np.allclose(before, after, atol=1e-5)
    lattice = TLDP(1.0).lattice(SMALL)
    levels = lattice.encode(np.arange(SMALL.n + 1))
    assert (levels.min(), levels.max()) == (0, 7)
    inside = np.abs(lattice.decode(levels[:-1]) - points) <= lattice.step / 2 + 1e-5
    assert inside.mean() > 0.8  # the rest is beyond the quantiles
    assert 0 < levels[-1].min() <= levels[-1].max() < 7  # ⊥ is the centroid


def test_noise_scale_falls_with_epsilon():
    scales = [TLDP(epsilon).noise_scale(SMALL) for epsilon in (0.1, 2.0, 8.0, 30.0)]
    assert scales == sorted(scales, reverse=True)
    assert scales[-1] < 0.1 * scales[0]


def test_constant_coordinates_and_few_dimensions():
    made, mechanism = make_embeddings(n=12, d=3), TLDP(1.0)
    made.vectors[:, 1:] = 1
    space = MetricSpace(made)
    assert mechanism.guarantee(space).epsilon_ldp <= 1
    out = mechanism.prepare(space).sample(np.arange(13), streams(13))
    assert 0 <= out.min() <= out.max() < 12


@cases(
    "name value told",
    ("levels", "1", "a whole number >= 2"),
    ("weights", "some", ""),
    ("dimensions", "0", ""),
)
def test_domain(name, value, told):
    with pytest.raises(UsageError, match=f"{name} must be {told}"):
        TLDP.build(1.0, {name: value})
