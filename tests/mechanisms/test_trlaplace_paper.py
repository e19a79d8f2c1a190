"""``trlaplace-paper``: the whole table of true deltas, dummy dimensions, the three-word example."""

import numpy as np
import pytest
from line_laws import counts, hockey_stick, line_space, nearest_law, off, truncated_cdf
from scipy import optimize, stats
from support import ALPHA, fits, make_embeddings, streams

from dpsan.embeddings.base import Embeddings
from dpsan.mechanisms.trlaplace_paper import TrLaplacePaper
from dpsan.privacy.guarantee import Status
from dpsan.privacy.noise_formulas import (
    escape,
    largest_escape,
    published_truncation,
    truncated_laplace_std,
)
from dpsan.space.metric_space import MetricSpace

TABLE = {
    50: {0.05: 0.8305, 0.1: 0.8262, 0.5: 0.7876, 1.0: 0.7267},
    100: {0.05: 0.9185, 0.1: 0.9164, 0.5: 0.8979, 1.0: 0.8687},
    300: {
        **{0.05: 0.9869, 0.1: 0.9866, 0.5: 0.9836, 1.0: 0.9790, 5.0: 0.8429},
        **{10.0: 0.3709, 20.0: 0.1229},
    },
}
CELLS = [(d, epsilon, delta) for d, row in TABLE.items() for epsilon, delta in row.items()]


@pytest.mark.parametrize(("d", "epsilon", "delta"), CELLS)
def test_true_delta(d, epsilon, delta):
    assert TrLaplacePaper(epsilon).true_delta(d) == pytest.approx(delta, abs=5.1e-5)


@pytest.mark.parametrize(
    ("d", "epsilon", "padded"),
    [(300, 5, 300), (300, 8.6, 300), (300, 10, 500), (300, 20, 1700), (100, 5, 200), (50, 1, 50)],
)
def test_dummy_dimensions(d, epsilon, padded):
    assert TrLaplacePaper(epsilon).dimensions(d) == padded


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 5.0])
@pytest.mark.parametrize("d", [2, 7])
def test_true_delta_is_the_maximum_over_shifts(d, epsilon):
    """Numerical search over shifts of length 2C, and the equal shift reaches it."""
    mechanism = TrLaplacePaper(epsilon)
    alpha, bound = mechanism.truncation(d, 1.0)

    def outside(s):
        s = np.abs(s) / np.linalg.norm(s) * 2
        return 1 - np.prod(1 - escape(s, alpha, bound))

    starts = np.abs(make_embeddings(12, d).vectors.astype(np.float64)) + 0.01
    found = max(-optimize.minimize(lambda s: -outside(s), start).fun for start in starts)
    assert found <= mechanism.true_delta(d) * (1 + 1e-9)
    assert outside(np.ones(d)) == pytest.approx(mechanism.true_delta(d), rel=2e-3)


@pytest.mark.parametrize("delta", [1e-6, 0.01, 0.3])
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_a_large_delta_has_an_upper_bound_too(delta, d, epsilon):
    """delta^(1/d) above 1/2: A < 2C, equal shifts need not be worst."""
    mechanism = TrLaplacePaper(epsilon, delta)
    alpha, bound = mechanism.truncation(d, 1.0)
    angles = make_embeddings(4000, d).vectors.astype(float)
    shifts = np.abs(angles) / np.linalg.norm(angles, axis=1, keepdims=True) * 2
    found = (1 - np.prod(1 - escape(shifts, alpha, bound), axis=1)).max()
    true = mechanism.true_delta(d)
    assert found <= true * (1 + 1e-9)
    if true < 1:
        assert true < found * 1.1 + 1e-12


@pytest.mark.parametrize("d", [1, 3])
def test_escape_is_the_mass_outside_the_shifted_box(d):
    alpha, bound = 0.8, 1.3
    for t in (0.0, 0.4, 1.3, 2.0, 2.59, 2.6, 5.0):
        exact = 1 - truncated_cdf(bound - t, alpha, bound)
        assert float(escape(t, alpha, bound)) == pytest.approx(float(exact), abs=1e-12)
    assert largest_escape(alpha, 100.0, d, 2.0) < 1e-15 or d > 1


@pytest.mark.parametrize(("epsilon", "mass"), [(0.05, 0.249), (1.0, 0.228), (20.0, 0.0096)])
def test_three_words_on_a_line(epsilon, mass):
    """A released word that one input excludes: drawn from the sampler, 300 dimensions."""
    mechanism = TrLaplacePaper(epsilon, clip=1.0)
    _, bound = mechanism.truncation(300, 1.0)
    vectors = np.zeros((3, 300), dtype=np.float32)
    # A hair beyond 2A - 3C, so that float32 cannot move the boundary into reach of -C.
    vectors[:, 0] = 1.0, -1.0, (2 * bound - 3) * (1 + 1e-6)
    space = MetricSpace(Embeddings(["plus", "minus", "far"], vectors, "made-up", "three"))
    m = 20_000
    sampler = mechanism.prepare(space)
    far = np.count_nonzero(sampler.sample(np.zeros(m, dtype=np.int64), streams(m)) == 2) / m
    never = sampler.sample(np.ones(m, dtype=np.int64), streams(m))
    assert not (never == 2).any()
    assert far == pytest.approx(mass, abs=6 * np.sqrt(mass / m) + 5e-4)
    alpha, bound = mechanism.truncation(300, 1.0)
    assert float(escape(2.0, alpha, bound)) == pytest.approx(mass, abs=5.1e-4)
    assert far <= mechanism.guarantee(space).infinite_loss_mass + 0.02


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
@pytest.mark.parametrize("word", [0, 3, 5])
def test_exact_law_on_a_line(epsilon, word):
    space = line_space([0.1, 0.4, -0.7, 1.9, 1.5])
    mechanism = TrLaplacePaper(epsilon)
    alpha, bound = mechanism.truncation(1, 1.9)
    law = nearest_law(space, lambda x: truncated_cdf(x, alpha, bound))
    observed = counts(mechanism, space, word)
    assert fits(observed, law[word])
    assert not fits(observed, off(law[word]))
    assert hockey_stick(law, epsilon) <= mechanism.true_delta(1)
    assert mechanism.noise_scale(space) == pytest.approx(
        truncated_laplace_std(alpha, bound), rel=1e-6
    )


@pytest.mark.parametrize(("epsilon", "std"), [(1.0, 2.42), (10.0, 4.18)])
def test_reference_noise(epsilon, std):
    found = truncated_laplace_std(*TrLaplacePaper(epsilon).truncation(300, 1.0))
    assert found == pytest.approx(std, abs=0.005)


def test_guarantee_tells_the_truth():
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
    ids = np.tile(np.arange(space.n), 40)
    out = TrLaplacePaper(0.05).prepare(space).sample(ids, streams(len(ids)))
    n, delta = space.n, 4.0**-50
    ceiling = (np.exp(0.05) + (n - 1) * delta) / (np.exp(0.05) + n - 1)
    assert ceiling < 6e-4
    kept = np.count_nonzero(out == ids)
    assert stats.binom.sf(kept, len(ids), ceiling) < ALPHA


def test_published_truncation_by_hand():
    alpha, bound = published_truncation(1.0, None, 100, 1.0)
    assert alpha == 0.05
    assert bound == pytest.approx(-np.log(1 - 0.2) / 0.05)
    # The density integrates to 1 with the paper's normaliser B = 2C / delta^(1/d).
    assert 2 * -np.expm1(-alpha * bound) / alpha == pytest.approx(8.0)
