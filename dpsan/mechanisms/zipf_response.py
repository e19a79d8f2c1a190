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
    A rank in O(log n); the word of that rank from a kept order of all words, or of the nearest, or
    by one row of n exact distances, about 0.4 ms for the bundled vocabulary and all draws of a word
    in a batch (:mod:`dpsan.mechanisms.tables.neighbour_ranks`); 0.2 GB are kept.
Not to be confused with
    ``rank-softmax``, whose ranks are counted from a noisy pivot and not from the true word.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.base import IntegerResponse
from dpsan.mechanisms.samplers.rank_response import RankResponseSampler
from dpsan.privacy.certificate import Certificate, rank_certificate
from dpsan.privacy.guarantee import Claim, Guarantee
from dpsan.space.metric_space import MetricSpace


def rank_weights(epsilon: float, n: int) -> NDArray[np.uint64]:
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


@dataclass(frozen=True)
class ZipfResponse(IntegerResponse):
    """Power law over neighbour ranks."""

    name: ClassVar[str] = "zipf-response"
    summary: ClassVar[str] = "power law over the neighbour rank: pure LDP, long tail"
    source: ClassVar[str] = "dpsan §zipf-response"

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Pure LDP; no metric needed."""
        weights = rank_weights(self.epsilon, space.n)
        return self.promise(
            epsilon_ldp=rank_certificate(weights, (0, 0)).epsilon_ldp,
            claimed=Claim(self.epsilon),
            why="the same n weights for every word, in another order: the total cancels",
        )

    def certificate(self, space: MetricSpace) -> Certificate | None:
        sampler = self.prepare(space)
        farthest = int(sampler.order(np.zeros(1, dtype=np.int64))[0, -1])
        return rank_certificate(sampler.weights, (farthest, 0))

    def prepare(self, space: MetricSpace) -> RankResponseSampler:
        """Return a sampler by rank."""
        return RankResponseSampler(space, rank_weights(self.epsilon, space.n))
