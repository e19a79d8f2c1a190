"""``vickrey``: the exact law on a line, and the two ways in which it is got wrong."""

import numpy as np
import pytest
from line_laws import counts, line_space, losses, metric_loss, off
from support import fits

from dpsan.mechanisms.laplace import Laplace
from dpsan.mechanisms.vickrey import Vickrey

LINE = [0.0, 0.4, -0.7, 1.9, 1.5]
EPSILON = 1.3


def exact(space, t, power=1, skip_input=False, epsilon=EPSILON):
    """Quadrature over the noisy point."""
    inputs = space.points(np.arange(space.n + 1))[:, 0]
    places = space.vectors[:, 0].astype(float)
    y = np.linspace(-18, 18, 90_001) + 1.7e-5
    law = np.zeros((space.n + 1, space.n))
    for row, x in enumerate(inputs):
        density = np.exp(-epsilon * np.abs(y - x))
        distances = np.abs(places[:, None] - y)
        if skip_input and row < space.n:
            distances[row] = np.inf
        order = np.argsort(distances, axis=0)[:2]
        d1, d2 = np.take_along_axis(distances, order, axis=0) ** power
        first = (1 - t) * d2 / (t * d1 + (1 - t) * d2)
        for word in range(space.n):
            law[row, word] = (density * (first * (order[0] == word))).sum()
            law[row, word] += (density * ((1 - first) * (order[1] == word))).sum()
        law[row] /= law[row].sum()
    return law


@pytest.mark.parametrize("word", [0, 3, len(LINE)])
def test_draws_follow_the_law(word):
    space = line_space(LINE)
    law = exact(space, 0.75)[word]
    observed = counts(Vickrey(EPSILON), space, word)
    assert fits(observed, law)
    assert not fits(observed, off(law))
    assert not fits(observed, exact(space, 0.75, power=2)[word])  # squared distances
    assert not fits(observed, exact(space, 0.75, epsilon=2 * EPSILON)[word])  # half the noise
    if word < space.n:
        assert not fits(observed, exact(space, 0.75, skip_input=True)[word])


def test_metric_guarantee_holds_and_skipping_the_input_is_an_infinite_loss():
    space = line_space(LINE)
    assert metric_loss(space, exact(space, 0.75)) <= EPSILON * (1 + 1e-6)
    assert np.isinf(losses(exact(space, 0.75, skip_input=True))).any()


def test_ends_of_the_parameter():
    space = line_space(LINE)
    first = counts(Vickrey(EPSILON, t=0.0), space, 1, 2000)
    assert (first == counts(Laplace(EPSILON), space, 1, 2000)).all()
    pair = line_space([0.0, 1.0])
    assert (
        counts(Vickrey(EPSILON, t=1.0), pair, 0, 2000)
        == counts(Laplace(EPSILON), pair, 0, 2000)[::-1]
    ).all()


def test_one_word():
    assert counts(Vickrey(EPSILON), line_space([2.0]), 0, 10).tolist() == [10]
