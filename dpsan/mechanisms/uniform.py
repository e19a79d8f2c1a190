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
"""

from __future__ import annotations

import numpy as np

from dpsan.mechanisms.mechanism import Claim, Guarantee, IntegerResponse, MetricSpace, Parameter
from dpsan.mechanisms.tables.near_sets import Base
from dpsan.mechanisms.tables.sparse import SparseTable


class Uniform(IntegerResponse):
    """A uniform word."""

    name = "uniform"
    summary = "a uniform word whatever the input: epsilon 0, the floor of utility"
    source = "dpsan §uniform"
    why = "the distribution does not depend on the input"

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
