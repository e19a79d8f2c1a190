"""The best inputs of each output, by blocks and threads, against one sort of everything."""

import numpy as np
import pytest
from support import make_embeddings, streams

from dpsan.mechanisms import MECHANISMS
from dpsan.outcomes.emissions import Emissions, Likeliest
from dpsan.space.metric_space import MetricSpace


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


@pytest.mark.parametrize("name", ["exponential", "knn-response", "zipf-response", "laplace"])
def test_candidates_of_all_threads_are_those_of_one_matrix(name):
    space = MetricSpace(make_embeddings(n=300, d=4))
    emissions = Emissions(MECHANISMS[name].build(2.0, {}), space)
    seen, prior = np.arange(0, 300, 7), np.log(space.frequencies)
    (found,) = emissions.candidates(seen, [prior], 3)
    scores = (emissions.log(np.arange(300), seen) + prior[:, None]).astype(np.float32)
    assert found.inputs.tolist() == np.argsort(-scores, axis=0, kind="stable")[:3].T.tolist()
