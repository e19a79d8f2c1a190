"""``custext``: exponential mechanism within small groups of similar words.

Definition
    Groups of K = ``k`` words: the first word (in order of frequency) without a group and the K
    nearest words without a group, itself included, become one.  P(u|w) proportional to
    exp(epsilon·s(w, u)/2) for u in the group of w, 0 elsewhere, where
    s = -(d(w, u) - least)/(largest - least) in [-1, 0] over the group.
    ⊥ gives a uniform word.
Guarantee
    NONE between any two words: the groups are disjoint, so every output of one word is impossible
    for a word of another group (infinite loss with mass 1), and it names the group at any epsilon.
    Within a group the distribution is epsilon-LDP: scores differ by at most 1, so each weight and
    each sum changes by at most exp(epsilon/2).  What the paper claims between groups was not read
    here, so nothing is refuted.
Proof
    docs/proofs.md 3.4
Source
    [CusText] Algorithms 1 and 2 with Euclidean distances; words are taken in order of frequency
    where the paper takes them at random.
Parameters
    k: size of a group; the last may be smaller.
Cost
    n/K searches among n words once per vocabulary (cached), then a row of n weights per distinct
    word of a batch.
Not to be confused with
    ``knn-response``, where words outside the near ones keep a small probability.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from dpsan.mechanisms.mechanism import MetricSpace, parameter
from dpsan.mechanisms.tables.dense import DenseTable, DisjointSupports, weights_of
from dpsan.mechanisms.tables.orders import Clusters
from dpsan.privacy.certificate import WEIGHT_ERROR
from dpsan.space.arrays import Ids, Integers


class CusText(DisjointSupports):
    """CusText as published."""

    k: int = parameter(20, "size of a group of words", unit="words", low=2)

    def excluded(self, space: MetricSpace) -> float:
        return 1.0 if self.k < space.n else 0.0

    def excluding(self, space: MetricSpace) -> tuple[int, int]:
        """Return the first words of two groups."""
        first, second = Clusters(space, self.k).members[:2, 0].tolist()
        return first, second

    def loss_of_one_support(self, space: MetricSpace) -> float:
        """Epsilon between words of the one group; the uniform distribution of ⊥ lies within."""
        return self.epsilon + 4 * WEIGHT_ERROR

    def table(self, space: MetricSpace) -> DenseTable:
        """Return the table; words of other groups weigh nothing."""
        return DenseTable(space, partial(_rows, Clusters(space, self.k), self.epsilon))


def _rows(clusters: Clusters, epsilon: float, words: Ids) -> Integers:
    """Weights floor(2^62·exp(epsilon·s/2)) of the members of each word's group."""
    space, members = clusters.space, clusters.members[clusters.of[words]]
    apart = space.vectors[members] - space.points(words)[:, None, :]
    distances = np.sqrt(np.einsum("mkd,mkd->mk", apart, apart))
    real = members >= 0
    least = np.where(real, distances, np.inf).min(axis=1, keepdims=True)
    spread = np.where(real, distances, -np.inf).max(axis=1, keepdims=True) - least
    scores = np.where(real, distances - least, 0.0) / np.where(spread > 0, spread, 1)
    out = np.zeros((len(words), space.n), dtype=np.uint64)
    rows = np.nonzero(real)[0]
    out[rows, members[real]] = weights_of(0.5 * epsilon * scores)[real]
    return out
