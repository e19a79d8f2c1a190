"""Randomized response over subsets: a public subset of outputs for each word, and all others.

Every output of the subset has one integer weight, every other output a smaller one.  Subsets have
the same size, so the total is the same for every word.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.samplers.base import Sampler
from dpsan.mechanisms.tables.near_sets import nearest_outputs
from dpsan.privacy.certificate import Certificate, log_ratio, set_certificate
from dpsan.privacy.integer_weights import CommonWeights
from dpsan.privacy.randomness import Streams
from dpsan.space.arrays import Floats, Ids, blocks
from dpsan.space.metric_space import MetricSpace

_ROOMY: Final = 40.0
"""Nats: no weight has room for a larger ratio, ln 2^56 = 38.8."""


def integer_weights(epsilon: float, k: int, m: int) -> tuple[int, int]:
    """Weights (inside, outside): ln(inside/outside) <= epsilon, k·inside + (m-k)·outside < 2^56.

    The ratio is within 2^-20 of e^epsilon wherever e^epsilon < 2^20; it is never larger.
    """
    # ln total <= max(epsilon + ln k, ln m) + ln 2; never negative shifts.
    bits = (max(epsilon + math.log(max(k, 1)), math.log(m)) + math.log(2)) / math.log(2)
    shift = max(0, 55 - math.ceil(bits))
    outside = 1 << shift
    room = ((1 << 56) - (m - k) * outside) // max(k, 1)
    # Rounded down, and once more by one part in 2^50: exp() itself may round up.  Whatever epsilon
    # is, the weight is at most that; ``room`` only makes it less.
    inside = int(math.exp(min(epsilon, _ROOMY)) * outside * (1 - 2.0**-50))
    return max(min(inside, room), outside), outside


def integer_epsilon(epsilon: float, k: int, m: int) -> float:
    """Return the exact loss of the integer weights, rounded up: what is sampled, so what is
    printed.
    """
    inside, outside = integer_weights(epsilon, k, m)
    return log_ratio(inside, outside) if k else 0.0


class SubsetResponseSampler(Sampler):
    """Two integer weights: inside a public set of K outputs, and outside it.

    Args:
        epsilon: LDP epsilon in nats.
        k: size K of the sets; 0 makes the distribution uniform.
        outputs: M, the first M words are outputs.
    """

    def __init__(self, space: MetricSpace, epsilon: float, k: int, outputs: int) -> None:
        self.space = space
        self.k, self.outputs = k, outputs
        self.inside, self.outside = integer_weights(epsilon, k, outputs)
        self.total = k * self.inside + (outputs - k) * self.outside
        self._sets = np.full((space.n, k), -1, dtype=np.int32)
        if k == 1 and outputs == space.n:
            self._sets = np.arange(space.n, dtype=np.int32)[:, None]
        elif space.eager(outputs) and k:
            self._sets = space.table(f"neighbors-{k}-{outputs}", self._all)["sets"]

    def certificate(self) -> Certificate:
        """Return the exact loss of the integer weights, with two words whose sets differ."""
        pair = None
        first = np.sort(self.sets(np.zeros(1, dtype=np.int64)))
        for ids in blocks(self.space.n, 1024):
            other = ids[(np.sort(self.sets(ids)) != first).any(axis=1)]
            if len(other):
                pair = (0, int(other[0]))
                break
        return set_certificate(
            self.inside, self.outside, self.total, self.outputs, pair, self.space.n
        )

    def integer_weights(self) -> CommonWeights:
        one = np.ones(self.k, dtype=np.int64)

        def rows() -> Iterator[tuple[Ids, Ids]]:
            for ids in blocks(self.space.n, 8192):
                for each in self.sets(ids):
                    yield each.astype(np.int64), one

        common = np.where(np.arange(self.space.n) < self.outputs, self.outside, 0)
        return CommonWeights(common, self.inside - self.outside, rows)

    def _all(self) -> dict[str, NDArray[np.int32]]:
        self.space.by_blocks("finding near words", self.space.n, 8192, self._find)
        return {"sets": self._sets}

    def _find(self, words: Ids) -> None:
        """Make the sets of distinct words."""
        self._sets[words] = nearest_outputs(self.space, words, self.k, self.outputs)

    def sets(self, ids: Ids) -> NDArray[np.int32]:
        """S_w of words, shape (m, K), nearest first; computed on demand for large vocabularies."""
        missing = np.unique(ids[self._sets[ids, 0] < 0]) if self.k else ids[:0]
        for at in range(0, len(missing), 8192):
            self._find(missing[at : at + 8192])
        return self._sets[ids]

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        known = ids < self.space.n
        bounds = np.where(known, np.uint64(self.total), np.uint64(self.outputs))
        drawn = streams.integers("response", bounds)
        out = drawn.astype(np.int64)  # ⊥: uniform over the outputs
        threshold = self.k * self.inside
        inside = np.flatnonzero(known & (drawn < threshold))
        index = (drawn[inside] // np.uint64(self.inside)).astype(np.int64)
        out[inside] = self.sets(ids[inside])[np.arange(len(inside)), index]
        outside = np.flatnonzero(known & (drawn >= threshold))
        rank = (drawn[outside] - np.uint64(threshold)) // np.uint64(self.outside)
        out[outside] = self._outside(ids[outside], rank.astype(np.int64))
        return out

    def _outside(self, ids: Ids, rank: Ids) -> Ids:
        """Return the rank-th output that is not in S_w."""
        members = np.sort(self.sets(ids), axis=1).astype(np.int64)
        # The i-th member is skipped iff it is at most rank + i.
        skipped = (members - np.arange(self.k) <= rank[:, None]).sum(axis=1)
        return np.asarray(rank + skipped, dtype=np.int64)

    def probabilities(self, ids: Ids) -> Floats:
        out = np.zeros((len(ids), self.space.n))
        out[:, : self.outputs] = self.outside / self.total
        unknown = ids == self.space.n
        out[unknown, : self.outputs] = 1 / self.outputs
        rows = np.flatnonzero(~unknown)
        out[rows[:, None], self.sets(ids[rows])] = self.inside / self.total
        return out

    def unchanged(self, ids: Ids) -> Floats:
        """Return an output is taken to be in its own set, as the nearest of all."""
        own = (self.inside if self.k else self.outside) / self.total
        return np.where(ids < self.outputs, own, 0.0)
