"""``uniform``: a uniform word whatever the input is.

Definition
    P(u|w) = 1/n for every word u and every input w, ⊥ included.
Guarantee
    PROVED: epsilon = 0, delta = 0.  The distribution does not depend on the input, so every ratio
    of probabilities is 1; the value of ``epsilon`` is not used.
Proof
    docs/proofs.md 2.7
Source
    dpsan; the floor of every comparison of utility: what is left is the text's layout.
Parameters
    epsilon: any number >= 0, ignored.
Cost
    O(1) per word, no table.
Not to be confused with
    deleting or masking words, which also shows nothing but is no sample of the vocabulary.

``group-response``: a random word of the same public group, for ``--only``.

Definition
    Each token that is drawn has a public group and form.  The different words of a unit get
    different words of their group, by a uniformly random injection that reads no word.
Guarantee
    PROVED: the distribution of the output is a function of the groups, of which drawn words are
    equal, and of what passes.  None of these is protected.
Proof
    docs/proofs.md 4.8
Source
    This project.
"""

from __future__ import annotations

import numpy as np

from dpsan.mechanisms.mechanism import Claim, Guarantee, IntegerResponse, MetricSpace, Parameter
from dpsan.mechanisms.tables.near_sets import Base
from dpsan.mechanisms.tables.sparse import SparseTable


class Uniform(IntegerResponse):
    """A uniform word."""

    epsilon: float = 0.0

    def __post_init__(self) -> None:
        """Accept 0 too: it is the true value."""
        Parameter(help="", convert=float, low=0).check("epsilon", self.epsilon)
        object.__setattr__(self, "epsilon", float(self.epsilon))

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Nothing is lost."""
        return self.promise(0.0, claimed=Claim(0.0))

    def table(self, space: MetricSpace) -> SparseTable:
        """Return the table whose near sets weigh nothing."""
        return SparseTable(space, Base.even(np.arange(space.n), 1), 0.0, euclidean=True)


class GroupResponse(IntegerResponse):
    """A random word of the group of a word; :mod:`dpsan.only` draws it."""

    name = "group-response"
    summary = "a random word of the public group of a word"
    source = "dpsan §group-response"

    epsilon: float = 0.0
    """LDP epsilon between two numbers of one form that are drawn by value, in nats; else 0."""

    def __post_init__(self) -> None:
        if self.epsilon:
            super().__post_init__()

    def guarantee(self, space: MetricSpace) -> Guarantee:
        return self.promise(
            epsilon_ldp=self.epsilon,
            only_groups=True,
            why="the output depends on the group of a drawn word, and on no word",
        )
