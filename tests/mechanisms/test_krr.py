"""krr: two weights."""

import math

import numpy as np
import pytest

from dpsan.mechanisms.krr import KRR


def test_law_by_hand(space):
    law = KRR(3.0).prepare(space).probabilities(np.array([4, space.n]))
    total = math.exp(3) + space.n - 1
    assert law[0, 4] == pytest.approx(math.exp(3) / total, rel=1e-9)
    assert law[0, 5] == pytest.approx(1 / total, rel=1e-9)
    assert np.allclose(law[1], 1 / space.n)


@pytest.mark.parametrize(
    ("epsilon", "kept"), [(4, 0.0055), (6, 0.039), (8, 0.231), (10, 0.690), (12, 0.943)]
)
def test_golden_kept(glove, epsilon, kept):
    """Golden numbers for n = 9,910."""
    _, space = glove
    law = KRR(float(epsilon)).prepare(space).probabilities(np.array([77]))[0]
    assert law[77] == pytest.approx(kept, abs=6e-4)


def test_no_table_is_built(space, monkeypatch):
    monkeypatch.setattr(type(space), "table", lambda *_: pytest.fail("table"))
    KRR(3.0).prepare(space)
