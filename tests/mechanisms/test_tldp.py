# mypy: disable-error-code="attr-defined"
"""The sound TLDP: integer tables on a public grid, certified exactly."""

import itertools
import math
from dataclasses import replace
from decimal import Decimal, localcontext

import numpy as np
import pytest
from line_laws import line_space, off
from scipy import stats
from support import ALPHA, cases, fits, make_embeddings, streams

from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms import tldp as paper
from dpsan.mechanisms.tldp import TLDP, principal_components
from dpsan.privacy.guarantee import Status
from dpsan.privacy.noise_formulas import TOTAL, certified_loss, grid_pmf, grid_table, laplace_delta
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


def test_levels_follow_the_integers():
    sampler, m = TLDP(3.0, dimensions=2).prepare(SMALL), 40_000
    ids = np.full(m, 25)
    released = sampler.perturb(ids, streams(m)).T
    rows = sampler.table / float(TOTAL)
    for levels, x in zip(released, sampler.encode(ids[:1])[0], strict=True):
        observed = np.bincount(levels, minlength=8)
        assert fits(observed, rows[x])
        assert not fits(observed, off(rows[x]))
    joint = np.bincount(released[0] * 8 + released[1], minlength=64)
    assert fits(joint, np.outer(*(np.bincount(r, minlength=8) / m for r in released)).ravel())


def test_components_and_grid():
    points = principal_components(SMALL, 4).astype(float)
    assert (np.diff(points.std(axis=0)) <= 1e-6).all()
    # An orthogonal map: all four components keep every distance.
    before = np.linalg.norm(SMALL.vectors[:, None] - SMALL.vectors[None].astype(float), axis=2)
    after = np.linalg.norm(points[:, None] - points[None], axis=2)
    assert np.allclose(before, after, atol=1e-5)
    lattice = TLDP(1.0).prepare(SMALL)
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


@cases("name value told", ("levels", "1", "a whole number >= 2"), ("dimensions", "0", ""))
def test_domain(name, value, told):
    with pytest.raises(UsageError, match=f"{name} must be {told}"):
        TLDP.build(1.0, {name: value})


# The published forms of TLDP: to the letter, and what is wrong with them.


FORMS = [f"tldp-paper-{letter}{rest}" for letter in "lg" for rest in ("", "-weighted")]
LINE = line_space(np.linspace(-0.5, 0.5, 11))
"""One coordinate, range 1."""
GOLDEN = [(1, 1, 0.333), (10, 0.1, 0.253), (300, 0.01, 0.132), (300, 0.1, 0.586), (300, 1, 1.0)]


@pytest.mark.parametrize(("coordinates", "epsilon", "delta"), GOLDEN)
def test_true_delta_golden(coordinates, epsilon, delta):
    kept = paper.keep_probability(paper.LAPLACE, epsilon, 1.0, coordinates)
    assert paper.true_delta(paper.LAPLACE, epsilon, kept, coordinates) == pytest.approx(
        delta, abs=5e-4
    )


def test_keep_probability_by_hand():
    e, sigma = math.exp(0.5 * (1 - 4)), math.sqrt(4 / (2 * 0.5))
    for noise, other in ((paper.LAPLACE, 8), (paper.GAUSSIAN, sigma * math.sqrt(2 * math.pi))):
        assert paper.keep_probability(noise, 0.5, 2.0, 4) == pytest.approx(e / (other + e))
    assert paper.keep_probability(paper.LAPLACE, 8, 1.0, 300) == 0  # e^-2392: never in practice
    assert paper.atoms(1.0, 3) == 1


@pytest.mark.slow
def test_composed_laplace_delta():
    # One noise never exceeds its own epsilon; two have a closed form by quadrature.
    assert laplace_delta(1.0, 1.0, 1) == 0
    assert laplace_delta(0.4, 1.0, 1) == pytest.approx(1 - math.exp(-0.3), abs=1e-6)
    x = np.linspace(-40, 41, 8101)
    density, moved = stats.laplace.pdf(x), stats.laplace.pdf(x - 1)
    two = np.maximum(np.outer(density, density) - math.e * np.outer(moved, moved), 0).sum() * 1e-4
    assert laplace_delta(1.0, 1.0, 2) == pytest.approx(two, abs=1e-3)
    # A finer grid changes nothing that is printed, and only lowers it (pessimistic).
    coarse, fine = (laplace_delta(0.1, 0.1, 300, cells) for cells in (1 << 17, 1 << 20))
    assert 0 <= coarse - fine < 1e-6


@pytest.mark.parametrize("name", FORMS)
def test_truth(name, space):
    mechanism = MECHANISMS[name].build(0.5, {})
    guarantee = mechanism.guarantee(space)
    claimed = guarantee.claimed.epsilon, guarantee.claimed.delta
    assert (guarantee.status, *claimed) == (Status.REFUTED, 0.5, 0)
    p = paper.keep_probability(mechanism.added, 0.5, mechanism.coordinate_range(space), space.d)
    some = pytest.approx(1 - (1 - p) ** space.d)
    assert guarantee.infinite_loss_mass == some
    if "-l" in name:
        assert (guarantee.epsilon_ldp, guarantee.delta) == (pytest.approx(space.d * 0.5), some)
    else:
        assert guarantee.epsilon_ldp == 0.5
        assert guarantee.delta > guarantee.infinite_loss_mass
    assert f"{paper.true_delta(mechanism.added, 0.5, p, space.d):.4f}" in guarantee.why


def test_range_domain(space):
    exact = paper.TLDPPaperL(1.0).coordinate_range(space)
    spread = (space.vectors.max(axis=0).astype(float) - space.vectors.min(axis=0)).max()
    assert spread <= exact == pytest.approx(spread)
    assert paper.TLDPPaperL(1.0, range=100.0).coordinate_range(space) == 100
    with pytest.raises(UsageError, match=f"range must be >= {exact:.6g}"):
        paper.TLDPPaperL(1.0, range=0.5).guarantee(space)
    assert paper.TLDPPaperL(1.0, range=float(f"{exact:.6g}")).coordinate_range(space) >= spread


def released(mechanism, word, m):
    return mechanism.prepare(LINE).release(np.full(m, word), streams(m))[:, 0]


def share_is(mechanism, word, p, *, m=60_000):
    """Whether a word's coordinate is kept as often as that."""
    own = LINE.points(np.array([word]))[0, 0]
    kept = int((released(mechanism, word, m) == own).sum())
    return stats.binomtest(kept, m, p).pvalue > ALPHA


@pytest.mark.parametrize("kind", [paper.TLDPPaperL, paper.TLDPPaperG])
def test_kept_coordinates_are_atoms(kind):
    """Seen in samples with the exact share, and impossible from any other input."""
    p = paper.keep_probability(kind.added, 1.0, 1.0, 1)
    assert share_is(kind(1.0), 3, p)
    assert not share_is(kind(1.0), 3, 0.7 * p)
    points, (own, other) = released(kind(1.0), 3, 20_000), LINE.points(np.array([3, 8]))[:, 0]
    assert other not in points
    noise = points[points != own] - own
    law = stats.laplace(scale=1.0) if kind is paper.TLDPPaperL else stats.norm(scale=math.sqrt(0.5))
    assert stats.kstest(noise, law.cdf).pvalue > ALPHA
    assert stats.kstest(noise * 1.3, law.cdf).pvalue < ALPHA


def test_weights_lower_the_share_kept():
    mechanism = paper.TLDPPaperLWeighted(1.0)
    weights = mechanism.word_weights(LINE)
    assert weights[-2] == weights[-1] == pytest.approx(0.9)  # the rarest word and ⊥
    p = paper.keep_probability(paper.LAPLACE, 1.0, 1.0, 1) * 0.1
    assert share_is(mechanism, 10, p)
    assert not share_is(mechanism, 10, 1.3 * p)


@pytest.mark.parametrize("weights", list(itertools.product((0.0, 0.5, 0.9), repeat=2)))
def test_words_of_different_weight_keep_the_stated_truth(weights):
    """1 - ∫min(A f, e^eps A' g) at e^(I epsilon) is at most 1 - (1-q_max)^I for all weights."""
    x, step = np.linspace(-30, 31, 60_001, retstep=True)
    p = paper.keep_probability(paper.LAPLACE, 1.0, 1.0, 1)
    f, g = ((1 - p * (1 - w)) * stats.laplace.pdf(x - at) for at, w in enumerate(weights))
    delta = 1 - np.minimum(f, math.e * g).sum() * step
    assert delta <= min(p, paper.true_delta(paper.LAPLACE, 1.0, p, 1)) + 1e-3


def test_frequency_weights():
    def weights(n, counts):
        embeddings = replace(make_embeddings(n=n, d=2), counts=counts)
        return paper.TLDPPaperLWeighted(1.0).word_weights(MetricSpace(embeddings))

    few = np.array([1000, 100, 10, 1, 0])
    assert weights(5, few) == pytest.approx([0, 0.3, 0.6, 0.9, 0.9, 0.9])
    middle, zipf = 0.9 * np.log(11.7 / 2.7) / np.log(101.7 / 2.7), weights(100, None)
    assert (zipf[0], *zipf[[9, 99]]) == (0, pytest.approx(middle), pytest.approx(0.9))
    assert (weights(3, np.ones(3, dtype=np.int64)) == 0).all()
