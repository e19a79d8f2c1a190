"""The best inputs of each output, block by block, against one sort of everything."""

import numpy as np
import pytest
from support import streams

from dpsan.outcomes.emissions import Likeliest


@pytest.mark.parametrize("block", [3, 40, 200])
def test_blocks_and_ties(block):
    """Few different scores, so most are tied: the earlier input comes first, however many pass."""
    drawn = streams(200 * 17).integers("scores", 6)
    scores = drawn.reshape(200, 17).astype(np.float64)
    found = Likeliest(np.arange(17), 5, np.float64)
    for at in range(0, 200, block):
        ids = np.arange(at, min(at + block, 200))
        found.add(ids, scores[ids])
    order = np.argsort(-scores, axis=0, kind="stable")[:5]
    assert found.inputs.tolist() == order.T.tolist()
    assert found.scores.tolist() == np.take_along_axis(scores, order, axis=0).T.tolist()
    assert found.guesses().tolist() == order[0].tolist()


def test_too_few_inputs():
    found = Likeliest(np.arange(2), 3, np.float32)
    found.add(np.array([7]), np.array([[-1.0, -np.inf]]))
    assert found.inputs.tolist() == [[7, -1, -1], [-1, -1, -1]]
