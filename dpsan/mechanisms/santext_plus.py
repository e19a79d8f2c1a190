"""``santext-plus``: exponential mechanism into the sensitive words; frequent words mostly kept.

Definition
    The ``sensitive`` share of least frequent words is V_S, the others are V_N.  A word of V_S
    becomes u in V_S with probability proportional to exp(-epsilon·d(w, u)/2).  A word of V_N is
    kept with probability 1-p and drawn in the same way, from V_S, with probability p.
    ⊥ gives a uniform word of the whole vocabulary.
    Scores are counted from the nearest word of V_S and capped at 30 nats.
Guarantee
    NONE for all strings: an output in V_N comes from that word or from ⊥ alone, so it is an
    infinite loss with mass 1-p.  Within V_S the law is the exponential mechanism and keeps
    epsilon·d_X; the paper's own claim is of this kind ("utility-optimized" metric privacy: V_N is
    declared harmless) and is not refuted.
Source
    [SanText] §3.2, Algorithm 2 (SanText+), and the authors' code for V_N and unknown words.
Parameters
    sensitive: share of the vocabulary, 0.9 in the paper.  p: 0.3 in the paper.
Cost
    One row of n weights per distinct word.
Not to be confused with
    ``exponential``, which is SanText and draws every word from the whole vocabulary.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpsan.certificate import MATRIX_WORDS, Certificate, support_certificate
from dpsan.guarantee import Claim, Guarantee, Status
from dpsan.mechanisms.base import Mechanism, RowSampler, parameter
from dpsan.rng import Streams
from dpsan.space import MetricSpace

__all__ = ["SanTextPlus", "SanTextPlusSampler"]


class SanTextPlusSampler(RowSampler):
    """Rows over V_S only, and the coin of the words of V_N.

    Args:
        space: words in order of frequency.
        factor: nats per unit of distance.
        first: the first row of V_S.
        p: probability with which a word of V_N is drawn anew.
    """

    def __init__(self, space: MetricSpace, factor: float, first: int, p: float) -> None:
        super().__init__(space, self._scores)
        self.factor, self.first, self.p = factor, first, p

    def _scores(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        scores = self.space.distances(ids) * self.factor
        scores -= scores[:, self.first :].min(axis=1, keepdims=True)
        return np.maximum(scores, 0, out=scores)

    def weights(self, ids: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Integer weights, 0 for the words of V_N."""
        out = super().weights(ids)
        out[np.flatnonzero(ids < self.space.n), : self.first] = 0
        return out

    def sample(self, ids: NDArray[np.int64], streams: Streams) -> NDArray[np.int64]:
        """See :class:`Sampler`."""
        out = super().sample(ids, streams)
        keep = (ids < self.first) & (streams.uniform("keep")[:, 0] >= self.p)
        return np.where(keep, ids, out)

    def probabilities(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """See :class:`Sampler`."""
        out = super().probabilities(ids)
        frequent = np.flatnonzero(ids < self.first)
        out[frequent] *= self.p
        out[frequent, ids[frequent]] += 1 - self.p
        return out


@dataclass(frozen=True)
class SanTextPlus(Mechanism):
    """SanText+ as published."""

    name: ClassVar[str] = "santext-plus"
    family: ClassVar[str] = "table"
    status: ClassVar[Status] = Status.NONE
    summary: ClassVar[str] = "SanText+: frequent words kept with probability 1-p, as published"
    epsilon_unit: ClassVar[str] = "1/distance"
    source: ClassVar[str] = "SanText §3.2, Algorithm 2"

    sensitive: float = parameter(
        0.9,
        "share of the vocabulary, least frequent words, that counts as sensitive",
        convert=float,
        low=0,
        high=1,
        open_low=True,
    )
    p: float = parameter(
        0.3, "probability with which a word that is not sensitive is drawn anew",
        convert=float, low=0, high=1,
    )  # fmt: skip

    def first(self, n: int) -> int:
        """The first row of V_S."""
        return n - max(1, math.ceil(self.sensitive * n - 1e-9))

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Infinite loss wherever a word may be kept, or ⊥ give a word of V_N."""
        first = self.first(space.n)
        mass = max(1 - self.p, first / space.n) if first else 0.0
        return Guarantee(
            status=self.status,
            epsilon_ldp=math.inf if first else self.epsilon * space.diameter,
            delta=mass,
            infinite_loss_mass=mass,
            claimed=Claim(self.epsilon, metric="euclidean"),
            why="a kept frequent word is an output that no other word can give; the paper claims "
            "utility-optimized metric privacy only, for which frequent words are harmless",
            source=self.source,
        )

    def certificate(self, space: MetricSpace) -> Certificate | None:
        """In closed form where the law matrix is too large: ``delta`` is a lower bound then."""
        first = self.first(space.n)
        if space.n <= MATRIX_WORDS or not first:
            return None
        kept, unknown = 1 - self.p, first / space.n
        worst = (0, space.n - 1) if kept >= unknown else (space.n, space.n - 1)
        return support_certificate(max(kept, unknown), worst, max(kept, unknown))

    def prepare(self, space: MetricSpace) -> SanTextPlusSampler:
        """The published sampler."""
        return SanTextPlusSampler(space, 0.5 * self.epsilon, self.first(space.n), self.p)
