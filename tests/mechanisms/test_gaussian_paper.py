"""``gaussian-paper`` and ``clipped-laplace-paper``: the baselines of [TrLap] as they were run."""

import math

import numpy as np
import pytest
from line_laws import counts, laplace_cdf, line_space, nearest_law, off
from scipy.special import ndtr
from support import fits

from dpsan.embeddings.base import Embeddings
from dpsan.mechanisms.clipped_laplace import ClippedLaplace
from dpsan.mechanisms.clipped_laplace_paper import ClippedLaplacePaper
from dpsan.mechanisms.gaussian import AnalyticGaussian
from dpsan.mechanisms.gaussian_paper import GaussianPaper
from dpsan.space.metric_space import MetricSpace

LINE = [0.1, 0.4, -0.7, 1.9, 1.5]


@pytest.mark.parametrize(
    ("epsilon", "delta", "ratio"), [(20.0, 1e-6, 161.1), (8.42, 1e-5, 1.0), (9.62, 1e-9, 1.0)]
)
def test_true_delta_over_the_claim(epsilon, delta, ratio):
    guarantee = GaussianPaper(epsilon, delta).guarantee(line_space(LINE))
    assert guarantee.claimed.delta == delta
    assert guarantee.delta / delta == pytest.approx(ratio, rel=5e-3)


def test_it_holds_below_and_says_so():
    guarantee = GaussianPaper(0.5, 1e-6).guarantee(line_space(LINE))
    assert guarantee.delta < 1e-6
    assert "below the claim" in guarantee.why


@pytest.mark.parametrize("epsilon", [1.0, 10.0, 20.0])
def test_noise_of_the_paper(epsilon):
    """In units of C at d = 300: 57.7/epsilon with delta = 4^-300, and 48.99/epsilon for Laplace."""
    vectors = np.zeros((2, 300), dtype=np.float32)
    vectors[0, 0] = 1
    vectors[1, 1] = 0.1  # the sensitivity is of the ball, not of these words
    space = MetricSpace(Embeddings(["a", "b"], vectors, "made-up", "ball"))
    assert GaussianPaper(epsilon).noise_scale(space) * epsilon == pytest.approx(57.7, abs=0.05)
    assert ClippedLaplacePaper(epsilon).noise_scale(space) * epsilon == pytest.approx(48.99, 1e-4)
    assert GaussianPaper(epsilon).guarantee(space).claimed.delta == pytest.approx(4.0**-300)
    assert AnalyticGaussian(epsilon, 1e-6).noise_scale(space) < 0.2 * 57.7 / epsilon
    assert ClippedLaplace(epsilon).noise_scale(space) < 0.1 * 48.99 / epsilon


@pytest.mark.parametrize("word", [0, 3, len(LINE)])
@pytest.mark.parametrize("kind", [GaussianPaper, ClippedLaplacePaper])
def test_the_nearest_unclipped_word(kind, word):
    """Words beyond C = 1 start at C, and are reached where they are."""
    space = line_space(LINE)
    if kind is GaussianPaper:
        mechanism = GaussianPaper(3.0, 0.01, 1.0)
        sigma = 2 * math.sqrt(2 * math.log(125)) / 3

        def cdf(x):
            return ndtr(x / sigma)
    else:
        mechanism = ClippedLaplacePaper(3.0, 1.0)

        def cdf(x):
            return laplace_cdf(x, 2 / 3)

    start = np.append(moved := np.clip(LINE, -1, 1), moved.mean())[word]
    edges = np.sort(np.array(LINE))
    cuts = cdf((edges[1:] + edges[:-1]) / 2 - start)
    law = np.diff(np.concatenate([[0], cuts, [1]]))[np.argsort(np.argsort(LINE))]
    observed = counts(mechanism, space, word)
    assert fits(observed, law)
    assert not fits(observed, off(law))
    if word == 3:  # among clipped words the two at C are one point
        clipped_law = nearest_law(line_space(np.clip(LINE, -1, 1)), cdf)[word]
        assert not fits(observed, clipped_law)


def test_a_far_dimension_has_a_positive_delta():
    """4^-600 is no float64: neither the claim nor the truth is printed as 0."""
    vectors = np.eye(2, 600, dtype=np.float32)
    space = MetricSpace(Embeddings(["a", "b"], vectors, "made-up", "far"))
    guarantee = GaussianPaper(1.0).guarantee(space)
    assert guarantee.delta > 0
    assert guarantee.claimed.delta > 0
