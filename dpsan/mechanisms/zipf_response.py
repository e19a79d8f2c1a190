"""``zipf-response``: a power law over the rank of the output among the neighbours of the word.

Definition
    P(u|w) proportional to (1 + rank_w(u))^-a with a = epsilon/ln n, where rank_w(u) is the position
    of u in the order of distance from w (w itself has rank 0, ties by row number). ⊥ gives a
    uniform word.
Guarantee
    PROVED: pure epsilon-LDP.  Every word's weights are the same n numbers in another order, so the
    total cancels and two probabilities differ by at most the first weight over the last,
    n^a = e^epsilon; uniform 1/n lies between the two.
    Sampled from integer weights by rank, rounded up below the first, so their ratio is never more.
Proof
    docs/proofs.md 2.6
Source
    This project.  Any non-increasing score of the rank works the same way:
    epsilon = score(0) - score(n-1).
Cost
    One row of n exact distances, sorted, per distinct word of a batch.
Not to be confused with
    ``rank-softmax``, whose ranks are counted from a noisy pivot and not from the true word.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from dpsan.mechanisms.mechanism import Guarantee, IntegerResponse, MetricSpace
from dpsan.mechanisms.tables.dense import DenseTable
from dpsan.privacy.certificate import Certificate, log_ratio
from dpsan.space.arrays import Ids, Integers


def orders(space: MetricSpace, words: Ids) -> Ids:
    """Return all words in order of exact distance from each word (not ⊥), shape (m, n): the word
    itself first, ties by row number.
    """
    distances = space.distances(words)
    distances[np.arange(len(words)), words] = -1.0
    return np.argsort(distances, axis=1, kind="stable")


def rank_weights(epsilon: float, n: int) -> Integers:
    """Integer weights by rank, shape (n,), non-increasing; ln(first/last) <= epsilon, sum < 2^63.

    Beyond about 60 nats the last weights are 1 and the loss stays below epsilon.
    """
    power = epsilon / math.log(n) if n > 1 else 0.0
    ratios = (1.0 + np.arange(n)) ** -power
    first = 62 - math.ceil(math.log2(float(ratios.sum()) + 1))
    first = max(min(first, 61), 0)
    # Rounded up, after one part in 2^40 for the power itself: never below the exact ratio.
    # At least 1: beyond 745 nats a ratio is 0 in float64.
    weights = np.maximum(np.ceil(ratios * (1 + 2.0**-40) * 2.0**first), 1.0).astype(np.uint64)
    weights[0] = 1 << first
    return np.minimum.accumulate(weights)


class ZipfResponse(IntegerResponse):
    """Power law over neighbour ranks."""

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Pure LDP; no metric needed."""
        weights = rank_weights(self.epsilon, space.n)
        return self.promise(log_ratio(int(weights[0]), int(weights[-1])))

    def certificate(self, space: MetricSpace) -> Certificate | None:
        """Return the loss of the first weight against the last: all words have the same weights."""
        return Certificate(
            method="exact certificate, integer weights by rank",
            epsilon_ldp=self.guarantee(space).epsilon_ldp,
            pair=(int(orders(space, np.zeros(1, dtype=np.int64))[0, -1]), 0),
        )

    def table(self, space: MetricSpace) -> DenseTable:
        """Return the table of weights by rank."""
        return DenseTable(space, partial(_rows, space, rank_weights(self.epsilon, space.n)))


def _rows(space: MetricSpace, weights: Integers, words: Ids) -> Integers:
    out = np.empty((len(words), space.n), dtype=np.uint64)
    np.put_along_axis(out, orders(space, words), weights[None], axis=1)
    return out
