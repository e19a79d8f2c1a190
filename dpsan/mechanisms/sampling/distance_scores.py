"""Weights that fall with the distance: scores, what they guarantee, and their certificate.

Knows distances and integer weights.  Must not know mechanisms.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.sampling.blocked import DistanceSampler
from dpsan.mechanisms.sampling.samplers import SCORE_CAP, WEIGHT_ERROR
from dpsan.privacy.certificate import Certificate, exp_certificate
from dpsan.space.metric_space import MetricSpace

__all__ = ["COARSE", "DistanceScores", "coarse", "distance_guarantee"]

COARSE: Final = 0.01
"""Nats: where the rounding of distances costs more, an epsilon per unit would mean little."""


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
        """The exact loss of the integer weights of these scores; LDP alone where it is so."""
        sampler = DistanceSampler(self.space, self)
        found = exp_certificate(
            self.space,
            sampler.weights,
            self.space.distances,
            self.of,
            key=key,
            metric="euclidean",
            unknown=self.space.diameter / 2,
            error=WEIGHT_ERROR + self.factor * self.space.distance_error,
            block=sampler.block,
            distance_error=self.space.distance_error,
        )
        proved, per_unit, _ = distance_guarantee(self.space, 2 * self.factor, self.cap)
        if found is None or per_unit is not None:
            return found
        ldp = min(found.epsilon_ldp, proved)
        return replace(found, epsilon_ldp=ldp, epsilon_metric=None, metric=None)


def distance_guarantee(
    space: MetricSpace, epsilon: float, cap: float = SCORE_CAP
) -> tuple[float, float | None, float]:
    """LDP epsilon, epsilon per unit and slack of integer weights by exp(-min(epsilon·d/2, cap)).

    Distances are rounded to the lattice of the vocabulary, whose step grows with its farthest
    word.  Where that costs more than :data:`COARSE` nats, no epsilon per unit is promised (None).
    """
    # A weight and a sum, for each of two inputs: four times the error of one log-weight.
    slack = 4 * (WEIGHT_ERROR + 0.5 * epsilon * space.distance_error)
    # Capped scores change by at most the cap, in the weight and in the sum, whatever the distances.
    cap = min(cap, SCORE_CAP)
    ldp = min(epsilon * space.diameter + slack, 2 * cap + 4 * WEIGHT_ERROR)
    return (ldp, epsilon, slack) if slack <= COARSE else (ldp, None, 0.0)


def coarse(space: MetricSpace) -> str:
    """Why no epsilon per unit is promised."""
    return (
        f"; no epsilon per unit of distance: a word lies so far out ({space.diameter:.3g} across) "
        f"that distances are exact to {space.distance_error:.2g} only, too coarse for this epsilon"
    )
