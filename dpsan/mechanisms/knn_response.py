"""``knn-response``: randomized response among the K nearest words.

Definition
    Outputs are the M = ``outputs`` most frequent words; S_w is the public set of the K = ``k``
    outputs nearest to w (w included if it is an output, ties by row number).
    P(u|w) = e^epsilon/Z for u in S_w, 1/Z for the other outputs, Z = K·e^epsilon + M - K.
    ⊥ gives a uniform output.
Guarantee
    PROVED: pure epsilon-LDP.  Z is the same for every word, so a probability is e^epsilon/Z or 1/Z
    and any two differ by at most the factor e^epsilon; uniform 1/M lies between the two.
    Sampled from two integer weights, e^epsilon rounded down.
Source
    This project (mechanisms.md §3); krr of Kairouz et al. is K = 1.  For fixed K no epsilon-LDP law
    puts more mass on K chosen words from an equal base.
Cost
    The neighbour table once per vocabulary (cached), then O(1) per word.
Not to be confused with
    choosing among the K nearest only (CusText), whose supports differ: infinite loss.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpsan.errors import UsageError
from dpsan.guarantee import Claim, Guarantee, Status
from dpsan.mechanisms.base import Mechanism, Sampler, parameter
from dpsan.rng import Streams
from dpsan.space import MetricSpace

__all__ = ["KnnResponse", "SetResponseSampler", "integer_weights"]


def integer_weights(epsilon: float, k: int, m: int) -> tuple[int, int]:
    """Weights (inside, outside): ln(inside/outside) <= epsilon, k·inside + (m-k)·outside < 2^56.

    The ratio is within 2^-20 of e^epsilon wherever e^epsilon < 2^20; it is never larger.
    """
    # ln total <= max(epsilon + ln k, ln m) + ln 2; never negative shifts.
    bits = (max(epsilon + math.log(max(k, 1)), math.log(m)) + math.log(2)) / math.log(2)
    shift = max(0, 55 - math.ceil(bits))
    outside = 1 << shift
    room = ((1 << 56) - (m - k) * outside) // max(k, 1)
    # Rounded down, and once more by one part in 2^50: exp() itself may round up.
    inside = int(math.exp(epsilon) * outside * (1 - 2.0**-50)) if epsilon < 38 else room
    return max(min(inside, room), outside), outside


class SetResponseSampler(Sampler):
    """Two integer weights: inside a public set of K outputs, and outside it.

    Args:
        space: the vocabulary.
        epsilon: LDP epsilon in nats.
        k: size K of the sets; 0 makes the law uniform.
        outputs: M, the first M words are outputs.
    """

    def __init__(self, space: MetricSpace, epsilon: float, k: int, outputs: int) -> None:
        self.space = space
        self.k, self.outputs = k, outputs
        self.inside, self.outside = integer_weights(epsilon, k, outputs)
        self.total = k * self.inside + (outputs - k) * self.outside
        self._sets = np.full((space.n, k), -1, dtype=np.int32)
        if space.eager(outputs) and k:
            self._sets = space.table(f"neighbors-{k}-{outputs}", self._build)["sets"]

    @property
    def certified_epsilon(self) -> float:
        """The exact loss of the integer law, rounded up."""
        return math.log(self.inside / self.outside) * (1 + 2.0**-50) if self.k else 0.0

    def _build(self) -> dict[str, NDArray[np.int32]]:
        sets = np.empty((self.space.n, self.k), dtype=np.int32)
        for at in range(0, self.space.n, 8192):
            ids = np.arange(at, min(at + 8192, self.space.n))
            sets[ids] = self.space.neighbors(ids, self.k, self.outputs)
        return {"sets": sets}

    def sets(self, ids: NDArray[np.int64]) -> NDArray[np.int32]:
        """S_w of words, shape (m, K), nearest first; computed on demand for large vocabularies."""
        missing = np.unique(ids[self._sets[ids, 0] < 0]) if self.k else ids[:0]
        for at in range(0, len(missing), 8192):
            part = missing[at : at + 8192]
            self._sets[part] = self.space.neighbors(part, self.k, self.outputs)
        return self._sets[ids]

    def sample(self, ids: NDArray[np.int64], streams: Streams) -> NDArray[np.int64]:
        """See :class:`Sampler`."""
        known = ids < self.space.n
        bounds = np.where(known, np.uint64(self.total), np.uint64(self.outputs))
        drawn = streams.integers("response", bounds)
        out = drawn.astype(np.int64)  # ⊥: uniform over the outputs
        threshold = self.k * self.inside
        inside = np.flatnonzero(known & (drawn < threshold))
        place = (drawn[inside] // np.uint64(self.inside)).astype(np.int64)
        out[inside] = self.sets(ids[inside])[np.arange(len(inside)), place]
        outside = np.flatnonzero(known & (drawn >= threshold))
        rank = (drawn[outside] - np.uint64(threshold)) // np.uint64(self.outside)
        out[outside] = self._outside(ids[outside], rank.astype(np.int64))
        return out

    def _outside(self, ids: NDArray[np.int64], rank: NDArray[np.int64]) -> NDArray[np.int64]:
        """The rank-th output that is not in S_w."""
        members = np.sort(self.sets(ids), axis=1).astype(np.int64)
        # The i-th member is skipped iff it is at most rank + i.
        skipped = (members - np.arange(self.k) <= rank[:, None]).sum(axis=1)
        return np.asarray(rank + skipped, dtype=np.int64)

    def probabilities(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """See :class:`Sampler`."""
        out = np.zeros((len(ids), self.space.n))
        out[:, : self.outputs] = self.outside / self.total
        unknown = ids == self.space.n
        out[unknown, : self.outputs] = 1 / self.outputs
        rows = np.flatnonzero(~unknown)
        out[rows[:, None], self.sets(ids[rows])] = self.inside / self.total
        return out


@dataclass(frozen=True)
class KnnResponse(Mechanism):
    """Nearest-K randomized response."""

    name: ClassVar[str] = "knn-response"
    family: ClassVar[str] = "table"
    status: ClassVar[Status] = Status.PROVED
    summary: ClassVar[str] = "randomized response among the K nearest words: pure LDP, near words"
    epsilon_unit: ClassVar[str] = "nats"
    source: ClassVar[str] = "dpsan §knn-response"

    k: int = parameter(
        20, "size of each word's set of near words", convert=int, unit="words", low=1
    )
    outputs: int | str = parameter(
        "all",
        "only this many most frequent words can come out",
        convert=int,
        unit="words",
        low=2,
        words=("all",),
    )

    def sizes(self, space: MetricSpace) -> tuple[int, int]:
        """K and M on a vocabulary.  Raises UsageError where K >= M."""
        m = space.n if isinstance(self.outputs, str) else min(self.outputs, space.n)
        if self.k >= m:
            raise UsageError(f"k must be < outputs (got k={self.k}, outputs={m})")
        return self.k, m

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Pure LDP; no metric needed."""
        k, m = self.sizes(space)
        inside, outside = integer_weights(self.epsilon, k, m)
        return Guarantee(
            status=self.status,
            # The exact integer law; never above epsilon.
            epsilon_ldp=min(self.epsilon, math.log(inside / outside) * (1 + 2.0**-50)),
            claimed=Claim(self.epsilon),
            why="two weights with ratio e^epsilon and the same total for every word",
            source=self.source,
        )

    def prepare(self, space: MetricSpace) -> SetResponseSampler:
        """A two-weight sampler over the neighbour table."""
        return SetResponseSampler(space, self.epsilon, *self.sizes(space))
