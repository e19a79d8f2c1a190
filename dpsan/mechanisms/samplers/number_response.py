"""Randomized response on a grid of numbers: the K nearest values of a number, and all others.

Every value of the K nearest has one integer weight, every other value of the grid a smaller one,
as in knn-response: K and the grid are the same for all numbers of a form, so the total is, and the
loss of any two of them is at most ln(inside/outside) <= epsilon (docs/proofs.md, 4.4).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np

from dpsan.mechanisms.tables.sparse import integer_increments
from dpsan.privacy.randomness import Streams
from dpsan.space.arrays import Ids

FEWEST: Final = 5
"""Values that share the large weight, wherever the grid has as many, as in knn-response."""
_STEPS: Final = 240


class GridResponse(NamedTuple):
    """The distribution on one grid."""

    size: int
    near: int
    """K: values that have the large weight."""
    inside: int
    outside: int

    @property
    def total(self) -> int:
        """Sum of all weights, below 2^62."""
        return self.near * self.inside + (self.size - self.near) * self.outside

    def first(self, value: int) -> int:
        """Return the smallest of the K nearest values."""
        return int(self._firsts(np.array(value)))

    def _firsts(self, values: Ids) -> Ids:
        return np.minimum(np.maximum(values - self.near // 2, 0), self.size - self.near)

    def chosen(self, values: Ids, drawn: Ids) -> Ids:
        """Return the outputs of some values for uniform integers below the total, (m,)."""
        first, threshold = self._firsts(values), self.near * self.inside
        rank = (drawn - threshold) // self.outside
        far = np.where(rank < first, rank, rank + self.near)
        return np.where(drawn < threshold, first + drawn // self.inside, far)


@lru_cache(maxsize=4096)
def grid_response(epsilon: float, size: int, widest: int = 1) -> GridResponse:
    """Return the distribution with the least expected distance on a grid.

    Args:
        epsilon: LDP epsilon in nats, > 0.
        size: values, 2 ... 10^15.
        widest: values of the grid that may be written as one number.
    """
    # With a share s inside, the output is on average s/4 away inside, 1/3 outside, in grids.
    odds = math.exp(min(epsilon, 700.0))
    best, near = math.inf, 1
    for step in range(_STEPS):
        k = max(1, round(size * 2.0 ** (-step / 4)))
        share = k / size
        kept = share / (share + (1 - share) / odds)
        far = kept * share / 4 + (1 - kept) / 3
        if far < best:
            best, near = far, k
    near = min(max(near, FEWEST * widest), size)
    increment, outside = integer_increments(epsilon, size, near)
    return GridResponse(size, near, outside + increment, outside)


def uniform(size: int) -> GridResponse:
    """Return the uniform distribution on a grid."""
    return GridResponse(size, size, 1, 1)


def respond(
    numbers: Sequence[tuple[GridResponse, int]], indices: Ids, streams: Streams
) -> list[int]:
    """Return the outputs of some words of a batch that are numbers.

    Args:
        numbers: the distribution and the value of each.
        indices: index of each in the batch, ascending.
        streams: of all words of the batch.
    """
    members: defaultdict[GridResponse, list[int]] = defaultdict(list)
    for at, (grid, _) in enumerate(numbers):
        members[grid].append(at)
    values = np.array([value for _, value in numbers], dtype=np.int64)
    bounds = np.empty(len(numbers), dtype=np.uint64)
    for grid, rows in members.items():
        bounds[rows] = grid.total
    drawn = streams.integers("number", bounds, indices).astype(np.int64)
    for grid, rows in members.items():
        values[rows] = grid.chosen(values[rows], drawn[rows])
    answers: list[int] = values.tolist()
    return answers
