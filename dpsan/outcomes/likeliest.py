"""The inputs that explain each output best, found while inputs pass by in blocks.

Knows row numbers and scores.  Must not know where scores come from.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsan.space.arrays import Ids


class Likeliest:
    """For each of q outputs the c inputs of highest score, best first; in ties the earlier input.

    Args:
        outputs: rows, ascending, (q,).
    """

    def __init__(self, outputs: Ids, count: int, dtype: type[np.floating[Any]]) -> None:
        self.outputs = outputs
        self.inputs: NDArray[np.int32] = np.full((len(outputs), count), -1, dtype=np.int32)
        """Shape (q, c); -1 where there were too few inputs."""
        self.scores: NDArray[Any] = np.full((len(outputs), count), -np.inf, dtype=dtype)
        """Of those, shape (q, c)."""

    def add(self, ids: Ids, scores: NDArray[Any]) -> None:
        """Take in the inputs (b,), with their scores (b, q)."""
        scores = scores.T.astype(self.scores.dtype, copy=False)
        # Only outputs for which some input of this block is better than the last one held.
        better = np.flatnonzero(scores.max(axis=1) > self.scores[:, -1])
        joined = np.concatenate([self.scores[better], scores[better]], axis=1)
        names = np.broadcast_to(ids.astype(np.int32), (len(better), len(ids)))
        names = np.concatenate([self.inputs[better], names], axis=1)
        top = _largest(joined, self.scores.shape[1])
        self.scores[better] = np.take_along_axis(joined, top, axis=1)
        self.inputs[better] = np.take_along_axis(names, top, axis=1)

    def guesses(self) -> Ids:
        """The best input for each output, (q,)."""
        return self.inputs[:, 0].astype(np.int64)


def _largest(values: NDArray[Any], count: int) -> Ids:
    """Places of the largest values of each row, largest first, ties by place."""
    if values.shape[1] > 4 * count:  # sort those only that a quicker pass leaves
        edge = np.partition(values, -count, axis=1)[:, -count, None]
        above, ties = values > edge, values == edge
        ties &= np.cumsum(ties, axis=1) <= count - above.sum(axis=1, keepdims=True)
        left = np.nonzero(above | ties)[1].reshape(len(values), count)
        order = np.argsort(-np.take_along_axis(values, left, axis=1), axis=1, kind="stable")
        return np.take_along_axis(left, order, axis=1)
    return np.argsort(-values, axis=1, kind="stable")[:, :count]
