"""``krr``: k-ary randomized response over the vocabulary.

Definition
    P(u|w) = e^epsilon/Z for u = w, 1/Z for every other word, Z = e^epsilon + n - 1.
    ⊥ gives a uniform word.
Guarantee
    PROVED: pure epsilon-LDP.  Z is the same for every word, so two probabilities of one output
    differ by at most the factor e^epsilon; uniform 1/n lies between the two.
    Sampled from two integer weights, e^epsilon rounded down.
Proof
    docs/proofs.md 2.4
Source
    [KRR]; ``knn-response`` with K = 1.  The reference that every pure mechanism has to beat.
Cost
    O(1) per word, no table.
Not to be confused with
    ``knn-response``, which gives the same mass to neighbours.
"""

from __future__ import annotations

import numpy as np

from dpsan.errors import UsageError
from dpsan.mechanisms.mechanism import Guarantee, IntegerResponse, MetricSpace
from dpsan.mechanisms.tables.near_sets import Base
from dpsan.mechanisms.tables.sparse import SparseTable, integer_loss


class KRR(IntegerResponse):
    """Randomized response over all words."""

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Pure LDP; no metric needed."""
        return self.promise(min(self.epsilon, integer_loss(self.epsilon, space.n, 1)))

    def table(self, space: MetricSpace) -> SparseTable:
        """Return the table whose near set is the word itself."""
        if space.n < 2:
            raise UsageError("krr needs at least 2 words")
        return SparseTable(space, Base.even(np.arange(space.n), 1), self.epsilon, euclidean=True)
