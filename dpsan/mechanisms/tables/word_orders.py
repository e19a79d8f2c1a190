"""Public orders of a vocabulary along one line, in which near positions are similar words.

An order is a table of public data: how good it is concerns utility alone.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from dpsan.errors import Hint, UsageError
from dpsan.space.arrays import Ids
from dpsan.space.metric_space import MetricSpace

ORDERS: Final = ("greedy", "principal")
_NEAR: Final = 32
"""Neighbours that are tried before all words that are left."""
_COMPACT: Final = 2048
"""Words placed between two clearings of those that are left."""


def word_order(space: MetricSpace, order: str) -> Ids:
    """Return the rows of all words in order of their position, shape (n,); made once per
    vocabulary.

    ``greedy`` begins at the first word and goes on to the nearest word that has no position yet;
    ``principal`` sorts by the coordinate along the direction of largest variance.  Ties go by row
    number.

    Raises:
        UsageError: too many words for their neighbours.
    """
    if order == "principal":
        moved = (space.vectors - space.centroid) @ space.variance()[1][:, -1]
        return np.argsort(moved, kind="stable").astype(np.int64)
    if not space.eager(space.n):
        fewer = space.fewer
        raise UsageError(
            f"order=greedy needs the neighbours of all {space.n} words",
            Hint(f"{fewer.python}, or order='principal'", f"{fewer.shell}, or -p order=principal"),
        )
    return space.table("order-greedy-0", lambda: {"order": _greedy(space)})["order"]


def _greedy(space: MetricSpace) -> Ids:
    n = space.n
    near = np.empty((n, min(_NEAR, n)), dtype=np.int32)

    def search(ids: Ids) -> None:
        near[ids] = space.neighbors(ids, near.shape[1])

    space.by_blocks("finding near words", n, 4096, search)
    free = np.ones(n, dtype=np.bool_)
    left, vectors = np.arange(n), space.vectors
    squares = np.einsum("nd,nd->n", vectors, vectors)
    out, here = np.empty(n, dtype=np.int64), 0
    with space.watch("putting words in order") as progress:
        for index in range(n):
            out[index], free[here] = here, False
            if index == n - 1:
                break
            if progress is not None and not index % 256:
                progress(index / n)
            some = near[here][free[near[here]]]
            if len(some):
                here = int(some[0])
                continue
            if len(left) - (n - index) >= _COMPACT:
                vectors, squares, left = vectors[free[left]], squares[free[left]], left[free[left]]
            apart = squares - 2 * (vectors @ space.vectors[here])  # squared: for the order only
            apart[~free[left]] = np.inf
            here = int(left[np.argmin(apart)])
    return out
