"""Observations of a text's words, and the inputs that explain each output best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Observations:
    """The different observations of m places, each once."""

    outputs: Ids
    """Of k noisings, negative where one of them tells nothing, (k, q)."""
    of: Ids
    """The observation of each place, -1 where no noising tells anything, (m,)."""

    @classmethod
    def combined(cls, noisings: Sequence[Ids]) -> Observations:
        """All noisings of the same m places together.

        Args:
            noisings: outputs, negative where they tell nothing, (m,) each.
        """
        every = np.maximum(np.stack(noisings), -1)
        seen = (every >= 0).any(axis=0)
        outputs, numbers = np.unique(every[:, seen], axis=1, return_inverse=True)
        of = np.full(every.shape[1], -1, dtype=np.int64)
        of[seen] = numbers.ravel()
        return cls(outputs, of)
