"""Weights that fall with the distance: what they guarantee, and their certificate."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import ClassVar, Final

import numpy as np

from dpsan.mechanisms.base import IntegerResponse
from dpsan.mechanisms.tables.dense import (
    SCORE_CAP,
    WEIGHT_ERROR,
    DenseTable,
    distance_rows,
    rows_at_once,
)
from dpsan.privacy.certificate import Certificate, exp_certificate
from dpsan.privacy.guarantee import Claim, Guarantee
from dpsan.space.arrays import Floats
from dpsan.space.metric_space import MetricSpace

COARSE: Final = 0.01
"""Nats: where the rounding of distances costs more, an epsilon per unit would mean little."""


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


class DistanceWeights(IntegerResponse):
    """Weights exp(-epsilon·min(d, gamma)/2) of all words, ⊥ uniform."""

    epsilon_unit = "1/distance"
    why: ClassVar[str]
    """Reason of the guarantee."""

    def cut(self, n: int) -> float:
        """Largest score epsilon·gamma/2 for n words, nats."""
        return SCORE_CAP

    def score(self, distances: Floats) -> Floats:
        """Return the scores of distances: min(epsilon·d/2, cap), a metric as d is."""
        scores = distances * (0.5 * self.epsilon)
        return np.minimum(scores, min(self.cut(distances.shape[-1]), SCORE_CAP), out=scores)

    def table(self, space: MetricSpace) -> DenseTable:
        """Return the table of these scores."""
        cap = min(self.cut(space.n), SCORE_CAP)
        return DenseTable(space, partial(distance_rows, space, 0.5 * self.epsilon, cap))

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """epsilon·d_X and LDP by the largest score, with the integer rounding bounded."""
        loss, per_unit, slack = distance_guarantee(space, self.epsilon, self.cut(space.n))
        return self.promise(
            epsilon_ldp=loss,
            metric=None if per_unit is None else "euclidean",
            epsilon_metric=per_unit,
            slack=slack,
            claimed=Claim(self.epsilon, metric="euclidean"),
            why=self.why + (_coarse(space) if per_unit is None else ""),
        )

    def certificate(self, space: MetricSpace) -> Certificate | None:
        """Return the exact loss of the integer weights; LDP alone where the guarantee is."""
        table = self.table(space)
        found = exp_certificate(
            space,
            table.weights,
            space.distances,
            self.score,
            key=repr(self),
            metric="euclidean",
            unknown=space.diameter / 2,
            error=WEIGHT_ERROR + 0.5 * self.epsilon * space.distance_error,
            block=rows_at_once(space.n) // 4,
            distance_error=space.distance_error,
        )
        proved, per_unit, _ = distance_guarantee(space, self.epsilon, self.cut(space.n))
        if found is None or per_unit is not None:
            return found
        ldp = min(found.epsilon_ldp, proved)
        return replace(found, epsilon_ldp=ldp, epsilon_metric=None, metric=None)


def _coarse(space: MetricSpace) -> str:
    """Why no epsilon per unit is promised."""
    return (
        f"; no epsilon per unit of distance: a word lies so far out ({space.diameter:.3g} across) "
        f"that distances are exact to {space.distance_error:.2g} only, too coarse for this epsilon"
    )
