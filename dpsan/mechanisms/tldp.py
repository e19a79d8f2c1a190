"""``tldp``: keep or perturb the coordinates of a word on a public grid, certified.

Definition
    The vocabulary is projected once to its first D = ``dimensions`` principal components.
    Coordinate i has k = ``levels`` equally spaced levels between its 5 % and 95 % quantiles; the
    input's level x is the nearest one.  P(y|x) = p·1[y=x] + (1-p)·g(y|x) with g proportional to
    exp(-s·|y-x|/(k-1)) on the grid; the output is the word nearest to the grid point drawn.
    The slope s in [0, epsilon_i] and p are those of least mean squared error at loss epsilon_i.
Guarantee
    PROVED: pure epsilon-LDP.  Everything before the table and after it is a public function, and
    epsilon_i is the exact largest log-ratio within a column of the integers that are sampled; one
    input meets D independent tables, so the sum of epsilon_i, at most epsilon, bounds the loss.
Proof
    docs/proofs.md 2.8
Source
    [TLDP] made sound: its atoms are kept on a grid where the noise reaches every level.
    Deviations: there are no weights, and coordinates share the budget evenly. The paper's split
    epsilon·v(x_i)/sum v(x_j) by the weights of private words shows in the noise of the other
    words, and its loss exceeds epsilon.
Parameters
    dimensions, levels: D and k.  At epsilon 8 per word three to five dimensions carry something;
    with sixteen, or with all 300 of a word vector, the result is noise.
Cost
    One 62-bit number per coordinate and one exact search in D dimensions per word.
Not to be confused with
    ``tldp-paper-l``, which adds the same noise without a grid and has no such guarantee.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.mechanism import Arithmetic, Guarantee, Mechanism, parameter
from dpsan.mechanisms.tables import Sampler, nearest
from dpsan.privacy.noise_formulas import TOTAL, certified_loss, grid_table
from dpsan.privacy.randomness import Streams
from dpsan.space.metric_space import Floats, Ids, MetricSpace

_TAIL: Final = 0.05
"""Share of words beyond either end of a coordinate's grid."""
_CELLS: Final = 1 << 16
"""Largest number of grid points for which the distribution over words is computed."""


def principal_components(space: MetricSpace, dimensions: int) -> NDArray[np.float32]:
    """Centred vectors projected to the directions of largest variance, (n, D), cached."""

    def build() -> dict[str, NDArray[Any]]:
        axes = space.variance()[1][:, ::-1][:, :dimensions]
        return {"points": space.moved(axes, space.centroid)}

    return space.table(f"components-{dimensions}", build)["points"]


class GridSampler(Sampler):
    """A randomized table for each coordinate of a public grid, then the nearest word.

    Args:
        space: of the first principal components.
        low: the first level of each coordinate, (D,).
        step: between two levels, (D,); 0 where a coordinate is constant.
        levels: of each coordinate.
    """

    def __init__(
        self, space: MetricSpace, low: Floats, step: Floats, levels: int, epsilon: float
    ) -> None:
        self.space, self.low, self.step, self.levels = space, low, step, levels
        # The budget of a coordinate, rounded down so that their sum is at most epsilon.
        self.table = grid_table(epsilon / space.d * (1 - 2.0**-48), levels)

    @property
    def certified_epsilon(self) -> float:
        """Exact loss of a word, rounded up: each coordinate has the same table."""
        return self.space.d * certified_loss(self.table) * (1 + 2.0**-50)

    def encode(self, ids: Ids) -> Ids:
        """Return the levels of inputs (⊥ allowed), (m, D)."""
        step = np.where(self.step > 0, self.step, 1.0)
        raw = np.rint((self.space.points(ids) - self.low) / step)
        return np.asarray(np.clip(raw, 0, self.levels - 1), dtype=np.int64)

    def decode(self, levels: Ids) -> Floats:
        """Return the points of levels, (m, D)."""
        return self.low + self.step * levels

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        return nearest(self.space, self.decode(self.perturb(ids, streams)), streams)

    def perturb(self, ids: Ids, streams: Streams) -> Ids:
        """Return the levels that are released, (m, D)."""
        drawn = streams.bits("grid", self.space.d) >> np.uint64(2)
        cumulative = np.cumsum(self.table, axis=1)[self.encode(ids)]
        return np.asarray((cumulative <= drawn[:, :, None]).sum(axis=2))

    def probabilities(self, ids: Ids) -> Floats | None:
        """Return None for grids of more than 65,536 points."""
        shape = (self.levels,) * self.space.d
        if (points := math.prod(shape)) > _CELLS:
            return None
        grid = np.stack(np.unravel_index(np.arange(points), shape), axis=1)
        words = self.space.search(self.decode(grid), 1)[0][:, 0]
        rows = self.table / float(TOTAL)
        out = np.empty((len(ids), self.space.n))
        for row, levels in enumerate(self.encode(ids)):
            pmf = reduce(np.multiply.outer, rows[levels]).ravel()
            out[row] = np.bincount(words, weights=pmf, minlength=out.shape[1])
        return out


class TLDP(Mechanism):
    """Certified tables on a public grid."""

    arithmetic = Arithmetic.INTEGERS

    dimensions: int = parameter(
        4, "principal components kept, at most all", unit="coordinates", low=1, high=64
    )
    levels: int = parameter(8, "grid points per coordinate", unit="levels", low=2, high=256)

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Return the sum of the tables' exact losses."""
        return self.promise(self.prepare(space).certified_epsilon)

    def noise_scale(self, space: MetricSpace) -> float | None:
        """Root mean square over components and levels."""
        sampler = self.prepare(space)
        index = np.arange(self.levels)
        apart = (index[:, None] - index).astype(np.float64) ** 2
        error = float((sampler.table * apart).sum()) / TOTAL / self.levels
        return math.sqrt(error * float(np.mean(sampler.step**2)))

    def prepare(self, space: MetricSpace) -> GridSampler:
        """Return a sampler on the public grid of a vocabulary."""
        dimensions = min(self.dimensions, space.d)
        points = principal_components(space, dimensions)
        low, high = np.quantile(points.astype(np.float64), (_TAIL, 1 - _TAIL), axis=0)
        reduced = space.transformed(f"components-{dimensions}", points)
        step = (high - low) / (self.levels - 1)
        return GridSampler(reduced, low, step, self.levels, self.epsilon)
