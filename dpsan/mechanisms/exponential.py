"""``exponential``: the exponential mechanism over the whole vocabulary (SanText).

Definition
    P(u|w) proportional to exp(-epsilon·d(w, u)/2) over all n words; ⊥ gives a uniform word.
    Sampled from integer weights, scores capped at 30 nats.
Guarantee
    PROVED: epsilon·d_X for the Euclidean distance d; LDP epsilon·diameter.  By the triangle
    inequality each weight changes by at most exp(epsilon·d/2) between two inputs, and so does
    their sum.  min(d, cap) is a metric, so the cap keeps both; ⊥ counts as a point at
    half a diameter from every word.  Integer rounding adds at most ``slack`` nats.
Source
    [SanText] §3.1, over the whole vocabulary; without the ½ the loss is up to 2·epsilon.
Cost
    n weights per distinct word once, and about sqrt(n) per word; exact certificate in O(n²·d).
Not to be confused with
    exponential selection among the nearest few words only, whose supports differ (infinite loss).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpsan.certificate import Certificate, exp_certificate
from dpsan.guarantee import Claim, Guarantee, Status
from dpsan.mechanisms.base import SCORE_CAP, WEIGHT_ERROR, Mechanism
from dpsan.mechanisms.blocks import DistanceSampler
from dpsan.space import MetricSpace

__all__ = ["DistanceScores", "Exponential"]


@dataclass(frozen=True)
class DistanceScores:
    """Scores proportional to Euclidean distance, up to a cap (min(d, cap) is a metric too)."""

    space: MetricSpace
    factor: float
    cap: float = SCORE_CAP

    def __call__(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Scores of words (m,) against every word, (m, n)."""
        return self.of(self.space.distances(ids))

    def of(self, distances: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scores of distances."""
        scores = distances * self.factor
        return np.minimum(scores, self.cap, out=scores)

    def certificate(self, key: str) -> Certificate | None:
        """The exact loss of the integer weights of these scores."""
        sampler = DistanceSampler(self.space, self)
        return exp_certificate(
            self.space,
            sampler.weights,
            self.space.distances,
            self.of,
            key=key,
            metric="euclidean",
            unknown=self.space.diameter / 2,
            error=WEIGHT_ERROR + self.factor * self.space.distance_error,
            block=sampler.block,
        )


@dataclass(frozen=True)
class Exponential(Mechanism):
    """Exponential mechanism with the Euclidean distance."""

    name: ClassVar[str] = "exponential"
    family: ClassVar[str] = "table"
    status: ClassVar[Status] = Status.PROVED
    summary: ClassVar[str] = "exponential mechanism over the whole vocabulary (SanText)"
    epsilon_unit: ClassVar[str] = "1/distance"
    source: ClassVar[str] = "SanText §3.1"

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """epsilon·d_X and epsilon·diameter LDP, with the integer rounding bounded."""
        # A weight and a sum, for each of two inputs: four times the error of one log-weight.
        slack = 4 * (WEIGHT_ERROR + 0.5 * self.epsilon * space.distance_error)
        # Capped scores change by at most the cap, in the weight and in the sum.
        loss = min(self.epsilon * space.diameter, 2 * SCORE_CAP)
        return Guarantee(
            status=self.status,
            epsilon_ldp=loss + slack,
            metric="euclidean",
            epsilon_metric=self.epsilon,
            slack=slack,
            claimed=Claim(self.epsilon, metric="euclidean"),
            why="each weight and their sum change by at most exp(epsilon d / 2)",
            source=self.source,
        )

    def certificate(self, space: MetricSpace) -> Certificate | None:
        """See :class:`Mechanism`."""
        return DistanceScores(space, 0.5 * self.epsilon).certificate(repr(self))

    def prepare(self, space: MetricSpace) -> DistanceSampler:
        """A sampler by blocks of words."""
        return DistanceSampler(space, DistanceScores(space, 0.5 * self.epsilon))
