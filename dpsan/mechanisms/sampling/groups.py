"""Disjoint groups of similar words: a public table.

Knows vectors.  Must not know what is drawn from a group.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.errors import Hint, UsageError
from dpsan.space.metric_space import MetricSpace

_WORK: Final = 2e12
_FEWER: Final = Hint("such as vocab_size=100000", "such as --vocab-size 100000")


def groups(space: MetricSpace, k: int) -> NDArray[np.int32]:
    """The groups, shape (ceil(n/k), k), nearest to the first word first; -1 where a row is short.

    Raises:
        UsageError: too many words.
    """
    if 2.0 * space.n**2 / k * space.d > _WORK:
        raise UsageError("too many words for groups of similar words", _FEWER)

    def build() -> dict[str, NDArray[np.int32]]:
        n = space.n
        free = np.ones(n, dtype=np.bool_)
        out = np.full((-(-n // k), k), -1, dtype=np.int32)
        for row in range(len(out)):
            word = int(np.argmax(free))
            left = np.flatnonzero(free)
            apart = space.vectors[left] - space.vectors[word]
            distances = np.einsum("nd,nd->n", apart, apart)  # squared: for the order only
            distances[0] = -1.0  # the word itself
            near = left[np.argsort(distances, kind="stable")[:k]]
            out[row, : len(near)] = near
            free[near] = False
        return {"groups": out}

    return space.table(f"groups-{k}", build)["groups"]
