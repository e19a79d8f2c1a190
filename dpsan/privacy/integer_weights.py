"""The integers that a table mechanism draws from, in full: what a certificate file lists.

P(u|w) is the weight of output u for input w over the sum of the weights of w.  Five forms hold all
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


@dataclass(frozen=True)
class ClassWeights:
    """Words in classes: a word is drawn among the words of its class.

    A word of no class is written unchanged, and no guarantee covers it.
    """

    rows: tuple[Ids, ...]
    """Row numbers of the words of each class, ascending."""
    epsilons: tuple[float, ...]
    """Stated LDP epsilon between two words of each class, nats."""
    parts: tuple[CommonWeights, ...]
    """Weights within each class; words are numbered by their position in the class."""
    unknown: int
    """Index of the class to which ⊥ belongs."""


@dataclass(frozen=True)
class TwoLevelWeights:
    """A draw from common weights, and a second one in the class of the input: docs/proofs.md 4.8.

    An input of a class gives an output that is none of its class with probability ``common[u]``
    over ``total``.  The rest of its probability is distributed as ``classes`` says.
    """

    plain: CommonWeights
    """Weights of the words of no class; those of all words are listed."""
    total: int
    """Their sum, the same for all words."""
    classes: ClassWeights


IntegerWeights = CommonWeights | RankWeights | RowWeights | ClassWeights | TwoLevelWeights
