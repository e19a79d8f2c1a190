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
from collections.abc import Iterator
from functools import partial
from typing import Final

import numpy as np

from dpsan.mechanisms.base import IntegerResponse
from dpsan.mechanisms.tables.dense import DenseTable
from dpsan.privacy.certificate import Certificate, log_ratio
from dpsan.privacy.guarantee import Claim, Guarantee
from dpsan.space.arrays import Ids, Integers
from dpsan.space.metric_space import MetricSpace

# All words in order of distance from a word, exact: ties by row number, the word itself first.
#
# A distance becomes a key of 16 bits by a map that never decreases, so a counting sort puts a row
# of n words nearly in order in a fraction of the time of a comparison sort.  A merge sort by the
# distances themselves then has little to do.

_LEVELS: Final = 65_534
"""Keys of other words are 1 ... 65,535; 0 is the word itself."""


def orders(space: MetricSpace, words: Ids) -> Iterator[Ids]:
    """Yield, for each word (not ⊥), all words in order, shape (n,)."""
    squares = np.empty((len(words), space.n))
    space.lattice.squares(words, squares)
    for row, word in zip(squares, words.tolist(), strict=True):
        distances = np.sqrt(row, out=row)
        distances[word] = distances[word - 1]  # the range is that of the others
        low = distances.min()
        width = distances.max() - low
        # Each step rounds a function that never decreases, so no key misorders.
        scaled = (distances - low) * (_LEVELS / width if width > 0 else 0.0)
        keys = scaled.astype(np.uint16) + np.uint16(1)
        distances[word], keys[word] = -1.0, 0
        order = np.argsort(keys, kind="stable")
        # Equal distances have equal keys, and there the counting sort kept row numbers in order.
        yield order[np.argsort(distances[order], kind="stable")]


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

    name = "zipf-response"
    summary = "power law over the neighbour rank: pure LDP, long tail"
    source = "dpsan §zipf-response"

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Pure LDP; no metric needed."""
        weights = rank_weights(self.epsilon, space.n)
        return self.promise(
            epsilon_ldp=log_ratio(int(weights[0]), int(weights[-1])),
            claimed=Claim(self.epsilon),
            why="the same n weights for every word, in another order: the total cancels",
        )

    def certificate(self, space: MetricSpace) -> Certificate | None:
        """Return the loss of the first weight against the last: all words have the same weights."""
        (order,) = orders(space, np.zeros(1, dtype=np.int64))
        return Certificate(
            method="exact certificate, integer weights by rank",
            epsilon_ldp=self.guarantee(space).epsilon_ldp,
            pair=(int(order[-1]), 0),
        )

    def table(self, space: MetricSpace) -> DenseTable:
        """Return the table of weights by rank."""
        return DenseTable(space, partial(_rows, space, rank_weights(self.epsilon, space.n)))


def _rows(space: MetricSpace, weights: Integers, words: Ids) -> Integers:
    out = np.empty((len(words), space.n), dtype=np.uint64)
    for row, order in zip(out, orders(space, words), strict=True):
        row[order] = weights
    return out
