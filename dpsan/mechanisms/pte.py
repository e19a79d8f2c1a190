"""``pte``: a fixed random projection to few dimensions, Laplace noise there, the nearest word.

Definition
    Phi is a public m × d matrix of independent N(0, 1/m) entries, the same for every run.  The
    output is the word u whose Phi·phi(u) is nearest to Phi·phi(w) + z, z multivariate Laplace
    noise in m dimensions with epsilon' = epsilon/F.
Guarantee
    PROVED: epsilon·d_X for the Euclidean distance of the original vectors.  F is at least
    |Phi s|/|s| for every difference s of two inputs (the exact maximum over all pairs, or the
    largest singular value of Phi), so epsilon'·|Phi s| <= epsilon·|s|.  LDP epsilon'·(diameter of
    the projected points).  ``slack`` covers the float32 rounding of the projected points.
Source
    [PTE] §3.  Deviation: the published statement holds with high probability over Phi; here the
    factor of the one Phi that is used is computed, and the statement holds with certainty.
Parameters
    dimensions: m, at most d.
Cost
    All pairs of words once per vocabulary where that is cheap; then 2·n·m operations per word.
Not to be confused with
    a projection drawn afresh and kept secret, for which no such factor can be computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.analytic import radial_std
from dpsan.guarantee import Claim, Guarantee, Status
from dpsan.mechanisms.base import Mechanism, PointSampler, parameter
from dpsan.noise import multivariate_laplace
from dpsan.rng import seeded_key, streams_for
from dpsan.sensitivity import largest_norm, largest_stretch
from dpsan.space import Arrays, MetricSpace

__all__ = ["ProjectedLaplace", "projection"]

_UP: Final = 1 + 1e-6


def projection(d: int, m: int) -> NDArray[np.float64]:
    """The public matrix Phi, transposed: shape (d, m), entries N(0, 1/m)."""
    streams = streams_for(seeded_key("dpsan pte 1"), [0], [d])
    return np.asarray(streams.normal("projection", m) / np.sqrt(m), dtype=np.float64)


@dataclass(frozen=True)
class ProjectedLaplace(Mechanism):
    """Multivariate Laplace noise after a public random projection, nearest projected word."""

    name: ClassVar[str] = "pte"
    family: ClassVar[str] = "point"
    status: ClassVar[Status] = Status.PROVED
    summary: ClassVar[str] = "public random projection to few dimensions, Laplace noise, nearest"
    epsilon_unit: ClassVar[str] = "1/distance"
    source: ClassVar[str] = "PTE §3"

    dimensions: int = parameter(
        16, "dimensions after the projection (at most those of the vectors)", convert=int, low=1
    )

    def factor(self, space: MetricSpace) -> float:
        """F: the largest stretch of a difference of two inputs, ⊥ included; rounded up."""
        m = min(self.dimensions, space.d)
        phi = projection(space.d, m)
        sound = float(np.linalg.norm(phi, 2)) * _UP

        def build() -> Arrays:
            centred = np.zeros((space.n + 1, space.d))  # the last row is ⊥, the centroid
            centred[:-1] = space.vectors - space.centroid
            return {"factor": np.array([largest_stretch(centred, phi)])}

        if not space.eager(space.n):
            return sound
        exact = float(space.table(f"pte-factor-{m}", build)["factor"][0])
        return min(sound, exact) if exact > 0 else sound  # 0: all words at one point

    def projected(self, space: MetricSpace) -> MetricSpace:
        """The words in m dimensions."""
        m = min(self.dimensions, space.d)
        phi = projection(space.d, m)
        moved = np.empty((space.n, m), dtype=np.float32)
        for at in range(0, space.n, 8192):
            moved[at : at + 8192] = space.vectors[at : at + 8192].astype(np.float64) @ phi
        return space.transformed(f"pte-{m}", moved, lipschitz=self.factor(space))

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """epsilon·d_X on the original distances, and LDP from the projected diameter."""
        inner = self.epsilon / self.factor(space)
        projected = self.projected(space)
        slack = inner * 4 * 2.0**-24 * largest_norm(projected.vectors)
        return Guarantee(
            status=self.status,
            epsilon_ldp=min(inner * projected.diameter, self.epsilon * space.diameter + slack),
            metric="euclidean",
            epsilon_metric=self.epsilon,
            slack=slack,
            claimed=Claim(self.epsilon, metric="euclidean"),
            why="epsilon is divided by the largest stretch of the public projection on any pair",
            source=self.source,
        )

    def noise_scale(self, space: MetricSpace) -> float:
        """Per projected coordinate."""
        return radial_std(min(self.dimensions, space.d), self.epsilon / self.factor(space))

    def prepare(self, space: MetricSpace) -> PointSampler:
        """A point sampler among the projected words."""
        inner = self.epsilon / self.factor(space)
        return PointSampler(self.projected(space), partial(multivariate_laplace, epsilon=inner))
