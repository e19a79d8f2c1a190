"""``clipped-laplace``: exact law on a line, pure LDP, noise of the reference table."""

import numpy as np
import pytest
from line_laws import counts, laplace_cdf, line_space, losses, nearest_law, off
from support import fits, make_embeddings

from dpsan.mechanisms.clipped_laplace import ClippedLaplace
from dpsan.space.metric_space import MetricSpace

LINE = [0.1, 0.4, -0.7, 1.9, 1.5]


@pytest.mark.parametrize(("clip", "diameter"), [("auto", 2.6), (1.6, 2.3)])
@pytest.mark.parametrize("word", [0, 3, len(LINE)])
def test_exact_law(clip, diameter, word):
    epsilon = 2.0
    mechanism = ClippedLaplace(epsilon, clip)
    space = line_space(LINE)
    moved = mechanism.prepare(space).space
    law = nearest_law(moved, lambda x: laplace_cdf(x, diameter / epsilon))
    observed = counts(mechanism, space, word)
    assert fits(observed, law[word])
    assert not fits(observed, off(law[word]))
    half = nearest_law(moved, lambda x: laplace_cdf(x, diameter / epsilon / 2))
    assert not fits(observed, half[word])
    assert losses(law).max() <= epsilon * (1 + 1e-6)
    assert mechanism.guarantee(space).epsilon_ldp == epsilon
    assert mechanism.noise_scale(space) == pytest.approx(np.sqrt(2) * diameter / epsilon, rel=1e-6)


def test_half_the_noise_breaks_the_guarantee():
    law = nearest_law(line_space(LINE), lambda x: laplace_cdf(x, 2.6 / 2.0 / 2))
    assert losses(law).max() > 2.0


@pytest.mark.parametrize(("d", "expected"), [(50, 20.0), (100, 28.28), (300, 48.99)])
def test_reference_noise(d, expected):
    """Words at ±C(1, ..., 1)/sqrt d: the L1 diameter is 2 sqrt(d) C; 49.0 at d = 300."""
    corner = np.full(d, 1 / np.sqrt(d), dtype=np.float32)
    base = make_embeddings(4, d).vectors
    base *= 0.1 / np.linalg.norm(base, axis=1, keepdims=True)
    space = _space(np.vstack([corner, -corner, base]))
    assert ClippedLaplace(1.0).noise_scale(space) == pytest.approx(expected, rel=1e-3)
    assert ClippedLaplace(10.0).noise_scale(space) == pytest.approx(expected / 10, rel=1e-3)


def _space(vectors):
    from dpsan.embeddings.base import Embeddings

    words = [f"w{row}" for row in range(len(vectors))]
    return MetricSpace(Embeddings(words, vectors, "made-up", "corners"))


def test_real_diameter_is_well_below_the_crude_bound(glove):
    """About .61-.70 of 2 sqrt(d) C for typical radii."""
    space = _space(np.ascontiguousarray(glove[1].vectors[:2500]))
    radius = float(np.quantile(np.linalg.norm(space.vectors, axis=1), 0.5))
    noise = ClippedLaplace(1.0, radius).noise_distribution(space)
    ratio = noise.scale / (2 * np.sqrt(space.d) * radius)
    assert 0.5 < ratio < 0.8
