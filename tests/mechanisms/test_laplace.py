"""``laplace``: the noise, the exact distribution of words on a line, and what is guaranteed."""

import numpy as np
import pytest
from line_laws import counts, laplace_cdf, line_space, metric_loss, nearest_law, off
from scipy import stats
from support import fits, streams

from dpsan.mechanisms.laplace import Laplace
from dpsan.mechanisms.noise.vectors import multivariate_laplace, unit_directions

LINE = [0.0, 0.4, -0.7, 1.9, -2.2]


def test_laplace_radius_is_gamma_and_direction_on_the_sphere():
    noise = multivariate_laplace(streams(20_000), 3, 2.0)
    radius = np.linalg.norm(noise, axis=1)
    assert stats.kstest(radius, "gamma", args=(3, 0, 0.5)).pvalue > 1e-9
    assert stats.kstest(radius * 1.3, "gamma", args=(3, 0, 0.5)).pvalue < 1e-9
    directions = unit_directions(streams(20_000), 3)
    assert np.allclose(np.linalg.norm(directions, axis=1), 1)
    # On the sphere in three dimensions each coordinate is uniform (Archimedes); in the ball not.
    assert stats.kstest(directions[:, 0], "uniform", args=(-1, 2)).pvalue > 1e-9
    ball = directions * streams(20_000).uniform("ball") ** (1 / 3)
    assert stats.kstest(ball[:, 0], "uniform", args=(-1, 2)).pvalue < 1e-9


def test_laplace_golden_share_on_glove(glove):
    """Golden number: about .29 of words unchanged at epsilon 10."""
    _, space = glove
    ids = np.arange(space.n)
    out = Laplace(10.0).prepare(space).sample(ids, streams(space.n))
    assert 0.27 < (out == ids).mean() < 0.34
    halved = Laplace(20.0).prepare(space).sample(ids[:2000], streams(2000))
    assert (halved == ids[:2000]).mean() > 0.5  # half the noise is seen at once


def test_laplace_guarantee(space):
    guarantee = Laplace(3.0).guarantee(space)
    assert guarantee.epsilon_metric == 3
    assert guarantee.epsilon_ldp == pytest.approx(3 * space.diameter)


@pytest.mark.parametrize("word", [0, 3, len(LINE)])
def test_draws_follow_the_exact_distribution_on_a_line(word):
    """In one dimension the noise is Laplace's, and a word comes out with the mass of its cell."""
    space = line_space(LINE)
    law = nearest_law(space, lambda x: laplace_cdf(x, 1 / 1.3))
    assert law[0, 0] == pytest.approx(1 - (np.exp(-1.3 * 0.35) + np.exp(-1.3 * 0.2)) / 2)
    observed = counts(Laplace(1.3), space, word)
    assert fits(observed, law[word])
    assert not fits(observed, off(law[word]))
    assert metric_loss(space, law) <= 1.3 * (1 + 1e-9)


def test_noise_scale_is_the_standard_deviation(space):
    """sqrt(d + 1)/epsilon per coordinate."""
    assert Laplace(2.0).noise_scale(space) == pytest.approx(np.sqrt(space.d + 1) / 2)
    noise = multivariate_laplace(streams(50_000), space.d, 2.0)
    assert noise.std() == pytest.approx(np.sqrt(space.d + 1) / 2, rel=0.02)
