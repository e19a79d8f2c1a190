"""uniform: epsilon 0."""

import numpy as np
import pytest
from support import fits, streams

from dpsan.errors import UsageError
from dpsan.mechanisms.uniform import Uniform


@pytest.mark.parametrize("epsilon", [0, 0.0, 1, 700.0])
def test_true_epsilon_is_zero(space, epsilon):
    guarantee = Uniform(epsilon).guarantee(space)
    assert guarantee.epsilon_ldp == 0
    assert guarantee.epsilon(np.inf) == 0
    assert Uniform(epsilon).certificate(space).epsilon_ldp == 0


@pytest.mark.parametrize("epsilon", [-1, float("nan"), float("inf"), True, "3"])
def test_bad_epsilon(epsilon):
    with pytest.raises(UsageError, match="epsilon must be >= 0"):
        Uniform(epsilon)


def test_uniform(space):
    drawn = Uniform().prepare(space).sample(np.full(30_000, 4), streams(30_000))
    observed = np.bincount(drawn, minlength=space.n)
    law = np.full(space.n, 1 / space.n)
    assert fits(observed, law)
    law[: space.n // 2] *= 1.3
    assert not fits(observed, law / law.sum())
