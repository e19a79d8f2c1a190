"""``trlaplace`` and ``trlaplace-paper``: the sound and the published truncation."""

import line_laws as laws
import numpy as np
import pytest
from scipy import optimize, stats
from support import ALPHA, cases, make_embeddings, streams

from dpsan.mechanisms.trlaplace import TrLaplace
from dpsan.mechanisms.trlaplace_paper import TrLaplacePaper
from dpsan.privacy.guarantee import Status
from dpsan.privacy.noise_formulas import (
    escape,
    largest_escape,
    radial_std,
    sound_truncation,
    truncated_laplace_std,
)
from dpsan.space.metric_space import MetricSpace

LINE = laws.line_space([0.1, 0.4, -0.7, 1.9, 1.5])
EPSILONS = (0.05, 0.1, 0.5, 1.0, 5.0, 10.0, 20.0)
TABLE = {
    50: {0.05: 0.8305, 0.1: 0.8262, 0.5: 0.7876, 1.0: 0.7267},
    100: {0.05: 0.9185, 0.1: 0.9164, 0.5: 0.8979, 1.0: 0.8687},
    300: dict(zip(EPSILONS, (0.9869, 0.9866, 0.9836, 0.9790, 0.8429, 0.3709, 0.1229), strict=True)),
}
CELLS = [(d, epsilon, delta) for d, row in TABLE.items() for epsilon, delta in row.items()]


@pytest.mark.parametrize("d", [50, 100, 300])
@pytest.mark.parametrize("epsilon", EPSILONS[:-1])
def test_certified_delta(d, epsilon):
    assert 0.90e-6 <= TrLaplace(epsilon, 1e-6).true_delta(d) <= 1.0e-6


@pytest.mark.parametrize("d", [1, 2, 5, 50, 300])
@pytest.mark.parametrize("epsilon", [20.0, 100.0, 5000.0])
def test_certified_delta_at_any_epsilon(d, epsilon):
    mechanism = TrLaplace(epsilon, 1e-6)
    alpha, bound = mechanism.truncation(d, 1.0)
    # f is concave, then convex: at the maximum one coordinate is x and the others are equal.
    x = np.linspace(2 / np.sqrt(d), 2, 4001)
    rest = np.sqrt(np.maximum(4 - x**2, 0) / max(d - 1, 1))
    outside = escape(x, alpha, bound) + (d - 1) * escape(rest, alpha, bound)
    assert outside.max() <= 1e-6 * (1 + 1e-9)
    assert largest_escape(alpha, bound, d, 2.0) >= outside.max() * (1 - 1e-5)
    assert largest_escape(alpha, bound, d, 2.0) <= outside.max() * 1.02
    assert 0.4e-6 < mechanism.true_delta(d) <= 1e-6


@pytest.mark.parametrize("mechanism", [*map(TrLaplacePaper, (0.05, 1, 5)), TrLaplace(2.0, 1e-3)])
@pytest.mark.parametrize("d", [2, 5, 7])
def test_no_shift_loses_more_than_the_true_delta(mechanism, d):
    """By search over shifts of length 2C; the equal shift is the paper's worst."""
    alpha, bound = mechanism.truncation(d, 1.0)

    def outside(s):
        return 1 - np.prod(1 - escape(np.abs(s) / np.linalg.norm(s) * 2, alpha, bound))

    true = mechanism.true_delta(d)
    for start in np.abs(make_embeddings(9, d).vectors.astype(float)) + 0.01:
        assert -optimize.minimize(lambda s: -outside(s), start).fun <= true * (1 + 1e-9)
    if isinstance(mechanism, TrLaplacePaper):
        assert outside(np.ones(d)) == pytest.approx(true, rel=2e-3)
    else:
        assert true <= 1e-3


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 7.0])
def test_one_dimension_is_geng(epsilon):
    """[Geng20]: A = (Delta/epsilon) ln(1 + (e^epsilon - 1)/(2 delta)), Delta = 2C."""
    _, bound = sound_truncation(epsilon, 1e-5, 1, 0.5)
    assert bound == pytest.approx(np.log1p(np.expm1(epsilon) / 2e-5) / epsilon, rel=1e-9)


@cases("d truncated spherical", (50, 20.0, 14.28), (100, 28.28, 20.10), (300, 49.0, 34.7))
@pytest.mark.parametrize("epsilon", [1.0, 10.0])
def test_reference_noise(d, truncated, spherical, epsilon):
    """C = 1, delta 1e-6: truncation does not help once it is sound."""
    found = truncated_laplace_std(*sound_truncation(epsilon, 1e-6, d, 1.0))
    assert found * epsilon == pytest.approx(truncated, rel=2e-3)
    # laplace at LDP epsilon: epsilon/2 per unit of distance.
    assert radial_std(d, epsilon / 2) * epsilon == pytest.approx(spherical, rel=1e-3)
    paper = truncated_laplace_std(*TrLaplacePaper(epsilon).truncation(300, 1.0))
    assert paper == pytest.approx({1.0: 2.42, 10.0: 4.18}[epsilon], abs=0.005)


@pytest.mark.parametrize("mechanism", [TrLaplace(1.0, 0.01), *map(TrLaplacePaper, (0.3, 2.0))])
def test_exact_law(mechanism):
    alpha, bound = mechanism.truncation(1, 1.9)
    law, half = laws.and_half(LINE, lambda x: laws.truncated_cdf(x, alpha, bound))
    laws.draws_follow(mechanism, LINE, (0, 3, 5), law, half)
    assert laws.hockey_stick(law, mechanism.epsilon) <= mechanism.true_delta(1)
    if isinstance(mechanism, TrLaplace):
        assert laws.hockey_stick(law, 1.0) <= 0.01 < laws.hockey_stick(half, 1.0)
    scale = truncated_laplace_std(alpha, bound)
    assert mechanism.noise_scale(LINE) == pytest.approx(scale, rel=1e-6)


def test_huge_epsilon_does_not_overflow():
    space = laws.line_space([0.1, 0.4, -0.7])
    mechanism = TrLaplace(1e5, 1e-6)
    assert np.isfinite(mechanism.noise_scale(space))
    assert laws.counts(mechanism, space, 1, 50).tolist() == [0, 50, 0]
    assert mechanism.guarantee(space).delta <= 1e-6


def test_true_delta_and_dummy_dimensions_of_the_paper():
    found = [TrLaplacePaper(epsilon).true_delta(d) for d, epsilon, _ in CELLS]
    assert found == pytest.approx([delta for *_, delta in CELLS], abs=5.1e-5)
    asked = [(300, 5), (300, 8.6), (300, 10), (300, 20), (100, 5), (50, 1)]
    padded = [TrLaplacePaper(epsilon).dimensions(d) for d, epsilon in asked]
    assert padded == [300, 300, 500, 1700, 200, 50]


@pytest.mark.parametrize("delta", [1e-6, 0.01, 0.3])
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_a_large_delta_has_an_upper_bound_too(delta, d, epsilon):
    """delta^(1/d) above 1/2: A < 2C, equal shifts need not be worst."""
    mechanism = TrLaplacePaper(epsilon, delta)
    alpha, bound = mechanism.truncation(d, 1.0)
    angles, true = make_embeddings(4000, d).vectors.astype(float), mechanism.true_delta(d)
    shifts = np.abs(angles) / np.linalg.norm(angles, axis=1, keepdims=True) * 2
    found = (1 - np.prod(1 - escape(shifts, alpha, bound), axis=1)).max()
    assert found <= true * (1 + 1e-9)
    assert true < found * 1.1 + 1e-12 or true >= 1


@pytest.mark.parametrize(("epsilon", "mass"), [(0.05, 0.249), (1.0, 0.228), (20.0, 0.0096)])
def test_three_words_on_a_line(epsilon, mass):
    """A released word that one input excludes: drawn from the sampler, 300 dimensions."""
    mechanism = TrLaplacePaper(epsilon, clip=1.0)
    alpha, bound = mechanism.truncation(300, 1.0)
    vectors = np.zeros((3, 300))
    # A hair beyond 2A - 3C, so that float32 cannot move the boundary into reach of -C.
    vectors[:, 0] = 1.0, -1.0, (2 * bound - 3) * (1 + 1e-6)
    space, m = laws.space_of(vectors), 20_000
    far = laws.counts(mechanism, space, 0, m)[2] / m
    assert laws.counts(mechanism, space, 1, m)[2] == 0
    assert far == pytest.approx(mass, abs=6 * np.sqrt(mass / m) + 5e-4)
    assert float(escape(2.0, alpha, bound)) == pytest.approx(mass, abs=5.1e-4)
    assert far <= mechanism.guarantee(space).infinite_loss_mass + 0.02


def test_guarantee_of_the_paper_tells_the_truth():
    space = MetricSpace(make_embeddings(40, 50))
    guarantee = TrLaplacePaper(1.0).guarantee(space)
    assert guarantee.status is Status.REFUTED
    assert guarantee.delta == guarantee.infinite_loss_mass == pytest.approx(0.7267, abs=1e-4)
    assert guarantee.claimed.delta == pytest.approx(4.0**-50)
    assert "0.7267" in guarantee.why
    assert TrLaplacePaper(20.0).guarantee(space).claimed.delta > 0  # 4^-1700 underflows
    assert TrLaplacePaper(1.0, 1e-9).guarantee(space).claimed.delta == 1e-9


def test_retention_ceiling_refutes_the_claim():
    """docs/proofs.md 4.2: no (epsilon, delta)-LDP mechanism keeps more words than this."""
    space = MetricSpace(make_embeddings(2000, 50))
    ids = np.tile(np.arange(space.n), 30)
    out = TrLaplacePaper(0.05).prepare(space).sample(ids, streams(len(ids)))
    n, delta = space.n, 4.0**-50
    ceiling = (np.exp(0.05) + (n - 1) * delta) / (np.exp(0.05) + n - 1)
    assert ceiling < 6e-4
    kept = np.count_nonzero(out == ids)
    assert stats.binom.sf(kept, len(ids), ceiling) < ALPHA
