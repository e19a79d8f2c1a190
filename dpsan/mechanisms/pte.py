"""``pte``: a fixed random projection to few dimensions, Laplace noise there, the nearest word.

Definition
    Phi is a public m × d matrix of independent N(0, 1/m) entries, the same for every run.  The
    output is the word u whose Phi·phi(u) is nearest to Phi·phi(w) + z, z multivariate Laplace
    noise in m dimensions with epsilon' = epsilon/F.
Guarantee
    PROVED: epsilon·d_X for the Euclidean distance of the original vectors.  F is at least
    |Phi s|/|s| for every difference s of two inputs (the exact maximum over all pairs, or the
    largest singular value of Phi), so epsilon'·|Phi s| <= epsilon·|s|.  LDP epsilon'·(diameter of
    the projected points).  F is that of the projected points as they are used, rounded to 32 bits;
    with the singular value, ``slack`` covers that rounding.
Proof
    docs/proofs.md 1.4
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

from typing import Final

import numpy as np

from dpsan.errors import UsageError
from dpsan.mechanisms.mechanism import Guarantee, PointSampler, parameter
from dpsan.mechanisms.noise import LaplaceNoise
from dpsan.privacy.randomness import seeded_key, streams_for
from dpsan.privacy.rounding import SphericalLaplace
from dpsan.space.arrays import Floats, largest_norm
from dpsan.space.diameters import largest_stretch
from dpsan.space.metric_space import MetricSpace

_UP: Final = 1 + 1e-6


def projection(d: int, m: int) -> Floats:
    """Return the public matrix Phi, transposed: shape (d, m), entries N(0, 1/m)."""
    streams = streams_for(seeded_key("dpsan pte 1"), [0], [d])
    return np.asarray(streams.normal("projection", m) / np.sqrt(m), dtype=np.float64)


class ProjectedLaplace(LaplaceNoise):
    """Multivariate Laplace noise after a public random projection, nearest projected word."""

    dimensions: int = parameter(
        16, "dimensions after the projection (at most those of the vectors)", low=1
    )

    def _stretch(self, space: MetricSpace) -> tuple[float, float]:
        """F, and a bound on what rounding moves a projected point by beyond that.

        F is the largest factor of a difference of two inputs, ⊥ included, to the projected points
        as they are used: rounding is in it.  Where that takes too long, or equal vectors have
        different images, it is the largest singular value of Phi, and rounding comes on top.
        """
        moved, inputs = self.projected(space), np.arange(space.n + 1)
        if space.eager(space.n):
            exact = space.number(
                f"pte-factor-2-{moved.d}",
                lambda: largest_stretch(space.points(inputs), moved.points(inputs)),
            )
            if 0 < exact < np.inf:  # 0: all words at one point
                return exact, 0.0
        sound = float(np.linalg.norm(projection(space.d, moved.d), 2)) * _UP
        # Half a unit of float32 in each coordinate, relative or of the denormal numbers.
        return sound, 2.0**-23 * largest_norm(moved.vectors) + moved.d * 2.0**-149

    def factor(self, space: MetricSpace) -> float:
        """F: the largest stretch of a difference of two inputs, ⊥ included; rounded up."""
        return self._stretch(space)[0]

    def projected(self, space: MetricSpace) -> MetricSpace:
        """Noise in m dimensions."""
        m = min(self.dimensions, space.d)
        moved = space.moved(projection(space.d, m))
        if not np.isfinite(moved).all():
            raise UsageError("pte: vectors too long to be projected in 32 bits")
        return space.transformed(f"pte-{m}", moved)

    def noise(self, space: MetricSpace) -> PointSampler:
        """Noise of rate epsilon' on the projected points."""
        noise = SphericalLaplace(self.epsilon / self.factor(space))
        return PointSampler(self.projected(space), noise)

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """epsilon·d_X on the original distances, and LDP from the projected diameter."""
        factor, rounding = self._stretch(space)
        inner = self.epsilon / factor
        slack = 2 * inner * rounding
        return self.promise(
            epsilon_ldp=min(
                inner * self.projected(space).diameter, self.epsilon * space.diameter + slack
            ),
            metric="euclidean",
            epsilon_metric=self.epsilon,
            slack=slack,
        )
