"""Noise on clipped points: ``clipped-laplace``, the three Gaussians, baselines of [TrLap]."""

import itertools
import math

import line_laws as laws
import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import ndtr
from support import cases, fits, make_embeddings

from dpsan.errors import UsageError
from dpsan.mechanisms.clipped_laplace import ClippedLaplace
from dpsan.mechanisms.clipped_laplace_paper import ClippedLaplacePaper
from dpsan.mechanisms.gaussian import AnalyticGaussian
from dpsan.mechanisms.gaussian_classical import ClassicalGaussian
from dpsan.mechanisms.gaussian_paper import GaussianPaper
from dpsan.privacy.noise_formulas import gaussian_delta, gaussian_mu

LINE = [0.1, 0.4, -0.7, 1.9, 1.5]


@pytest.mark.parametrize(("clip", "diameter"), [("auto", 2.6), (1.6, 2.3)])
def test_clipped_laplace_on_a_line(clip, diameter):
    """Half the noise draws otherwise, and loses more than epsilon."""
    epsilon, space = 2.0, laws.line_space(LINE)
    mechanism = ClippedLaplace(epsilon, clip)
    sampler = mechanism.noise(space)
    assert sampler is not None
    moved = sampler.space
    law, half = laws.and_half(moved, lambda x: laws.laplace_cdf(x, diameter / epsilon))
    laws.draws_follow(mechanism, space, (0, 3, len(LINE)), law, half)
    assert laws.losses(law).max() <= epsilon * (1 + 1e-6)
    assert laws.losses(half).max() > epsilon
    assert mechanism.guarantee(space).epsilon_ldp == epsilon
    assert mechanism.noise_scale(space) == pytest.approx(np.sqrt(2) * diameter / epsilon, rel=1e-6)


@pytest.mark.parametrize(("d", "expected"), [(50, 20.0), (100, 28.28), (300, 48.99)])
def test_reference_noise_of_laplace(d, expected):
    """Words at ±C(1, ..., 1)/sqrt d: the L1 diameter is 2 sqrt(d) C."""
    corner = np.full(d, 1 / np.sqrt(d), dtype=np.float32)
    base = make_embeddings(4, d).vectors
    base *= 0.1 / np.linalg.norm(base, axis=1, keepdims=True)
    space = laws.space_of(np.vstack([corner, -corner, base]))
    found = [ClippedLaplace(epsilon).noise_scale(space) * epsilon for epsilon in (1.0, 10.0)]
    assert found == pytest.approx([expected] * 2, rel=1e-3)


@pytest.mark.parametrize(("epsilon", "sigma"), [(1.0, 8.45), (10.0, 1.08)])
def test_reference_sigma(epsilon, sigma):
    """C = 1, diameter 2, delta 1e-6: independent of the dimension."""
    mechanism = AnalyticGaussian(epsilon, 1e-6)
    assert mechanism.noise_scale(laws.line_space([1.0, -1.0])) == pytest.approx(sigma, abs=0.005)
    clipped = AnalyticGaussian(epsilon, 1e-6, clip=0.5).noise_scale(laws.line_space(LINE))
    assert clipped == pytest.approx(1 / gaussian_mu(epsilon, 1e-6), rel=1e-5)


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 1.0, 8.0, 50.0, 700.0, 1e4])
@pytest.mark.parametrize("delta", [0.5, 1e-3, 1e-6, 1e-12, 1e-100])
def test_calibration_is_tight_and_on_the_safe_side(epsilon, delta):
    mu = gaussian_mu(epsilon, delta)
    assert 0 < mu < math.inf
    assert gaussian_delta(epsilon, mu) <= delta
    assert gaussian_delta(epsilon, mu * (1 + 1e-6)) > delta


@pytest.mark.parametrize(("epsilon", "mu"), [(0.5, 0.3), (1.0, 0.24), (3.0, 1.5), (20.0, 3.77)])
def test_delta_is_the_hockey_stick_integral(epsilon, mu):
    start = epsilon / mu + mu / 2

    def excess(x):
        return stats.norm.pdf(x, mu) - math.exp(epsilon) * stats.norm.pdf(x)

    exact = integrate.quad(excess, start, start + 40, epsabs=0, epsrel=1e-10)[0]
    assert gaussian_delta(epsilon, mu) == pytest.approx(exact, rel=1e-8)


def test_gaussian_on_a_line():
    space, epsilon, delta = laws.line_space(LINE), 2.0, 0.01
    sigma = 2.6 / gaussian_mu(epsilon, delta)
    law, half = laws.and_half(space, stats.norm(scale=sigma).cdf)
    laws.draws_follow(AnalyticGaussian(epsilon, delta), space, (0, 3, len(LINE)), law, half)
    assert laws.hockey_stick(law, epsilon) <= delta < laws.hockey_stick(half, epsilon)


def test_classical_holds_in_its_domain_with_more_noise_than_needed():
    space = laws.line_space([1.0, -1.0, 0.3])
    deltas = (0.5, 0.1, 1e-3, 1e-6, 1e-12)
    for epsilon, delta in itertools.product(np.linspace(0.01, 1, 12), deltas):
        mechanism = ClassicalGaussian(epsilon, delta)
        guarantee, sigma = mechanism.guarantee(space), mechanism.noise_scale(space)
        mu = epsilon / math.sqrt(2 * math.log(1.25 / delta))
        assert guarantee.delta == gaussian_delta(epsilon, mu) < 0.1 * delta
        assert guarantee.claimed.delta == delta
        assert sigma == pytest.approx(2 / mu, rel=1e-8)
        assert sigma > AnalyticGaussian(epsilon, delta).noise_scale(space)
    for call in ("guarantee", "prepare", "noise_scale"):
        with pytest.raises(UsageError, match="epsilon <= 1 only"):
            getattr(ClassicalGaussian(1.0001, 1e-6), call)(space)


@cases(
    "epsilon delta ratio error",
    (20.0, 1e-6, 161.1, 0.1),
    *((at, delta, 1, 5e-3) for at, delta in ((8.42, 1e-5), (8.78, 1e-6), (9.62, 1e-9))),
)
def test_true_delta_of_the_paper_over_the_claim(epsilon, delta, ratio, error):
    guarantee = GaussianPaper(epsilon, delta).guarantee(laws.line_space(LINE))
    assert guarantee.claimed.delta == delta
    assert guarantee.delta / delta == pytest.approx(ratio, abs=error)
    below = GaussianPaper(0.5, 1e-6).guarantee(laws.line_space(LINE))
    assert below.delta < 1e-6
    assert "below the claim" in below.why


@pytest.mark.parametrize("epsilon", [1.0, 10.0, 20.0])
def test_noise_of_the_paper(epsilon):
    """In units of C at d = 300: 57.7/epsilon with delta = 4^-300, and 48.99/epsilon for Laplace."""
    vectors = np.eye(2, 300)
    vectors[1, 1] = 0.1  # the sensitivity is of the ball, not of these words
    space = laws.space_of(vectors)
    assert GaussianPaper(epsilon).noise_scale(space) * epsilon == pytest.approx(57.7, abs=0.05)
    assert ClippedLaplacePaper(epsilon).noise_scale(space) * epsilon == pytest.approx(48.99, 1e-4)
    assert GaussianPaper(epsilon).guarantee(space).claimed.delta == pytest.approx(4.0**-300)
    assert AnalyticGaussian(epsilon, 1e-6).noise_scale(space) < 0.2 * 57.7 / epsilon
    assert ClippedLaplace(epsilon).noise_scale(space) < 0.1 * 48.99 / epsilon


@cases(
    "mechanism cdf",
    (GaussianPaper(3.0, 0.01, 1.0), lambda x: ndtr(x * 1.5 / math.sqrt(2 * math.log(125)))),
    (ClippedLaplacePaper(3.0, 1.0), lambda x: laws.laplace_cdf(x, 2 / 3)),
)
def test_the_nearest_unclipped_word(mechanism, cdf):
    """Words beyond C = 1 start at C, and are reached where they are."""
    space, moved, edges = laws.line_space(LINE), np.clip(LINE, -1, 1), np.sort(LINE)
    for word, start in ((0, moved[0]), (3, moved[3]), (len(LINE), moved.mean())):
        cuts = cdf((edges[1:] + edges[:-1]) / 2 - start)
        law = np.diff(np.concatenate([[0], cuts, [1]]))[np.argsort(np.argsort(LINE))]
        observed = laws.counts(mechanism, space, word)
        assert fits(observed, law)
        assert not fits(observed, laws.off(law))
        if word == 3:  # among clipped words the two at C are one point
            assert not fits(observed, laws.nearest_law(laws.line_space(moved), cdf)[word])


def test_a_far_dimension_has_a_positive_delta():
    """4^-600 is no float64: neither the claim nor the truth is printed as 0."""
    guarantee = GaussianPaper(1.0).guarantee(laws.space_of(np.eye(2, 600)))
    assert min(guarantee.delta, guarantee.claimed.delta) > 0
