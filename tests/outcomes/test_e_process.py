"""E-processes: mean 1 under the stated distribution, by enumeration; they see weak tilts."""

import itertools
import math

import numpy as np
import pytest

from dpsan.outcomes.intervals import EProcess

LAW = np.array([[0.55, 0.3, 0.1, 0.05]])
WORD = np.array([1])


@pytest.mark.parametrize("draws", [2, 6])
def test_no_bound_is_too_small(draws):
    """Against every outcome of so many draws: the mean stake is 1, and P(log_tail <= x) <= e^x."""
    exact, bounds, stakes = [], [], []
    for outcome in itertools.product(range(4), repeat=draws):
        bets = EProcess()
        bets.add(LAW, WORD, np.array(outcome)[None])
        exact.append(LAW[0][list(outcome)].prod())
        bounds.append(bets.log_tail())
        stakes.append(np.exp(bets._log))
    exact, bounds = np.array(exact), np.array(bounds)
    mean = np.einsum("i,i...->...", exact, np.array(stakes))
    assert (np.abs(mean - 1) < 1e-4).all()
    assert (mean < 1).all()  # what rounding may do is taken off
    assert bounds.min() < math.log(0.1)
    for bound in np.unique(bounds):
        assert exact[bounds <= bound].sum() <= math.exp(bound) * (1 + 1e-9)


def test_an_input_may_be_chosen_by_earlier_draws():
    """Two draws, the input of the second chosen by the first: still no bound is too small."""
    laws = np.array([[0.9, 0.1], [0.2, 0.8]])
    bounds, exact = [], []
    for first, second in itertools.product(range(2), repeat=2):
        bets = EProcess()
        _, sign = bets.add(laws[:1], np.array([5]), np.array([[first]]))
        other = 1 - first
        bets.add(laws[other][None], np.array([5]), np.array([[second]]), sign)
        bounds.append(bets.log_tail())
        exact.append(laws[0][first] * laws[other][second])
    bounds, exact = np.array(bounds), np.array(exact)
    for bound in bounds:
        assert exact[bounds <= bound].sum() <= math.exp(bound) * (1 + 1e-9)


def drawn(law, inputs, few, seed):
    generator = np.random.default_rng(seed)
    return np.array([generator.choice(law.shape[1], few, p=law[i]) for i in range(len(inputs))])


def test_weak_signs_of_one_kind_add_up_and_the_right_distribution_has_none():
    """40 inputs, 2,500 draws each, p^1.12 for p: some 100 nats; copies of 1 %."""
    scores = np.random.default_rng(3).uniform(0, 1.5, (40, 30))
    law = np.exp(-scores) / np.exp(-scores).sum(axis=1, keepdims=True)
    inputs = np.arange(40) % 30
    tilted = law**1.12 / (law**1.12).sum(axis=1, keepdims=True)
    copied = 0.99 * law
    copied[np.arange(40), inputs] += 0.01
    for real, found in ((law, False), (tilted, True), (copied, True)):
        bets = EProcess()
        bets.add(law, inputs, drawn(real, inputs, 2500, 11))
        assert (bets.log_tail() < math.log(1e-9)) is found


def test_signs_join_what_deviates_in_two_directions():
    """Half of the inputs have p^1.2, half p^.8: only products with the right signs grow."""
    scores = np.random.default_rng(4).uniform(0, 1.5, (40, 30))
    law = np.exp(-scores) / np.exp(-scores).sum(axis=1, keepdims=True)
    sign = np.where(np.arange(40) % 2 == 0, 1, -1)
    real = law ** (1 + 0.2 * sign[:, None])
    real /= real.sum(axis=1, keepdims=True)
    came, none = drawn(real, sign, 1000, 12), np.full(40, 30)
    together, apart = EProcess(), EProcess()
    together.add(law, none, came, sign)
    gains, own = apart.add(law, none, came)
    assert together.log_tail() < math.log(1e-9)
    assert apart.log_tail() > math.log(1e-3)
    assert (own == sign).mean() > 0.9
    assert gains.mean() > 3  # nats of each alone
    same = EProcess()
    same.add(law, none, drawn(law, sign, 1000, 13), sign)
    assert same.log_tail() > math.log(1e-3)
