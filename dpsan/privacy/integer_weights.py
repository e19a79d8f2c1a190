"""The integers that a table mechanism draws from, in full: what a certificate file lists.

P(u|w) is the weight of output u for input w over the sum of the weights of w.  Four forms hold all
of them without n² numbers where that is possible.  In each, ⊥ is one more input: it has no masses
(common weights), or gives every word with the same probability.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsan.space.arrays import Ids


@dataclass(frozen=True)
class CommonWeights:
    """Weights ``common[u] + increment·mass``: few outputs of an input have a mass."""

    common: Ids
    """Shape (n,), >= 0."""
    increment: int
    rows: Callable[[], Iterator[tuple[Ids, Ids]]]
    """For every word in order: outputs that have a mass, and their masses."""
    public: tuple[int, ...] = ()
    """Words that the guarantee leaves out as first inputs."""


@dataclass(frozen=True)
class RankWeights:
    """The same weights for every word, each in an order of outputs of its own."""

    weights: NDArray[np.uint64]
    """By rank, shape (n,), >= 1."""
    rows: Callable[[], Iterator[Ids]]
    """For every word in order: all outputs by rank, shape (n,)."""


@dataclass(frozen=True)
class RowWeights:
    """A row of its own for every word."""

    rows: Callable[[], Iterator[NDArray[np.uint64]]]
    """For every word in order: the weights of all outputs, shape (n,), >= 1."""


IntegerWeights = CommonWeights | RankWeights | RowWeights
