"""``tldp``: keep or perturb the coordinates of a word on a public grid, certified.

Definition
    The vocabulary is projected once to its first D = ``dimensions`` principal components.
    Coordinate i has k = ``levels`` equally spaced levels between its 5 % and 95 % quantiles; the
    input's level x is the nearest one.  P(y|x) = p·1[y=x] + (1-p)·g(y|x) with g proportional to
    exp(-s·|y-x|/(k-1)) on the grid; the output is the word nearest to the grid point drawn.
    The slope s in [0, epsilon_i] and p are those of least mean squared error at loss epsilon_i.
    A word of weight w draws from (1-w)·P(.|x) + w·mean of P(.|x') over all levels x' instead.
Guarantee
    PROVED: pure epsilon-LDP.  Everything before the table and after it is a public function, and
    epsilon_i is the exact largest log-ratio within a column of the integers that are sampled; one
    input meets D independent tables, so the sum of epsilon_i, at most epsilon, bounds the loss.
    Weights may depend on the private word: every distribution above is a mixture of rows of one
    table, so it lies between the smallest and largest entry of each column, which the certificate
    compares. The loss between two words of large weight is smaller; the bound for all pairs is not.
Proof
    docs/proofs.md 2.8
Source
    [TLDP] made sound: its atoms are kept on a grid where the noise reaches every level.
    Deviations: the paper's weights act on the distribution of a word and never on the split of the
    budget, which coordinates share evenly. A split epsilon·v(x_i)/sum v(x_j) by the weights of
    private words shows in the noise of the other words, and its loss exceeds epsilon.
Parameters
    dimensions, levels
        D and k.  At epsilon 8 per word three to five dimensions carry something; with sixteen, or
        with all 300 of a word vector, the result is noise.
    weights
        ``none``, or ``frequency`` (rarer is more sensitive); ⊥ has the largest weight.
Cost
    One 62-bit number per coordinate and one exact search in D dimensions per word.
Not to be confused with
    ``tldp-paper-l``, which adds the same noise without a grid and has no such guarantee.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.base import Arithmetic, Guarantee, Mechanism, Status, parameter
from dpsan.mechanisms.noise import NO_WEIGHTS, weights_parameter, word_weights
from dpsan.mechanisms.tables import Sampler, nearest
from dpsan.privacy.noise_formulas import TOTAL, certified_loss, grid_table, mixed_loss
from dpsan.privacy.randomness import Streams
from dpsan.space.metric_space import Floats, Ids, MetricSpace

_TAIL: Final = 0.05
"""Share of words beyond either end of a coordinate's grid."""
_CELLS: Final = 1 << 16
"""Largest number of grid points for which the distribution over words is computed."""


class Lattice(NamedTuple):
    """A public grid in the space of the first principal components."""

    space: MetricSpace
    low: Floats
    step: Floats
    """Shape (D,); 0 where a coordinate is constant."""
    levels: int

    def encode(self, ids: Ids) -> Ids:
        """Return the levels of inputs (⊥ allowed), (m, D)."""
        step = np.where(self.step > 0, self.step, 1.0)
        raw = np.rint((self.space.points(ids) - self.low) / step)
        return np.asarray(np.clip(raw, 0, self.levels - 1), dtype=np.int64)

    def decode(self, levels: Ids) -> Floats:
        """Return the points of levels, (m, D)."""
        return self.low + self.step * levels


def principal_components(space: MetricSpace, dimensions: int) -> NDArray[np.float32]:
    """Centred vectors projected to the directions of largest variance, (n, D), cached."""

    def build() -> dict[str, NDArray[Any]]:
        axes = space.variance()[1][:, ::-1][:, :dimensions]
        return {"points": space.moved(axes, space.centroid)}

    return space.table(f"components-{dimensions}", build)["points"]


class GridSampler(Sampler):
    """A randomized table for each coordinate, then the nearest word.

    Args:
        weights: of all inputs, (n + 1,).
    """

    def __init__(self, lattice: Lattice, epsilon: float, weights: Floats) -> None:
        self.lattice, self.width = lattice, len(lattice.low)
        # The budget of a coordinate, rounded down so that their sum is at most epsilon.
        self.table = grid_table(epsilon / self.width * (1 - 2.0**-48), lattice.levels)
        self.weighted = bool(weights.any())
        if self.weighted:  # the level that replaces the input's is uniform but for this
            self.probability_error = lattice.levels * 2.0**-31
        self._weights = weights
        # Rounded up: a little less of the word's own row.
        self._swap = np.ceil(weights * 2.0**62).astype(np.uint64)

    @property
    def certified_epsilon(self) -> float:
        """Exact loss of a word, rounded up: each coordinate has the same table."""
        return self.width * certified_loss(self.table) * (1 + 2.0**-50)

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        points = self.lattice.decode(self.perturb(ids, streams))
        return nearest(self.lattice.space, points, streams)

    def perturb(self, ids: Ids, streams: Streams) -> Ids:
        """Return the levels that are released, (m, D)."""
        width, k = self.width, self.lattice.levels
        levels = self.lattice.encode(ids)
        if self.weighted:
            swap = streams.bits("swap", width) >> np.uint64(2) < self._swap[ids][:, None]
            # Uniform but for 2^-26; any distribution of the level keeps the guarantee.
            other = (streams.bits("level", width) >> np.uint64(32)) * np.uint64(k) >> np.uint64(32)
            levels = np.where(swap, other.astype(np.int64), levels)
        drawn = streams.bits("grid", width) >> np.uint64(2)
        cumulative = np.cumsum(self.table, axis=1)[levels]
        return np.asarray((cumulative <= drawn[:, :, None]).sum(axis=2))

    def probabilities(self, ids: Ids) -> Floats | None:
        """Return None for grids of more than 65,536 points."""
        width, k = self.width, self.lattice.levels
        if k**width > _CELLS:
            return None
        grid = np.stack(np.unravel_index(np.arange(k**width), (k,) * width), axis=1)
        words = self.lattice.space.search(self.lattice.decode(grid), 1)[0][:, 0]
        rows = self.table / float(TOTAL)
        out = np.empty((len(ids), self.lattice.space.n))
        for row, levels in enumerate(self.lattice.encode(ids)):
            weight = self._weights[ids[row]]
            pmf = np.ones(1)
            for level in levels:
                mixed = (1 - weight) * rows[level] + weight * rows.mean(axis=0)
                pmf = np.multiply.outer(pmf, mixed).ravel()
            out[row] = np.bincount(words, weights=pmf, minlength=out.shape[1])
        return out


class TLDP(Mechanism):
    """Certified tables on a public grid."""

    name = "tldp"
    family = "tensor"
    status = Status.PROVED
    arithmetic = Arithmetic.INTEGERS
    summary = "keep or perturb coordinates on a grid: tldp-paper made sound"
    epsilon_unit = "nats"
    source = "TLDP, corrected"

    dimensions: int = parameter(
        4, "principal components kept, at most all", unit="coordinates", low=1, high=64
    )
    levels: int = parameter(8, "grid points per coordinate", unit="levels", low=2, high=256)
    weights: str = weights_parameter(NO_WEIGHTS)

    def lattice(self, space: MetricSpace) -> Lattice:
        """Return the public grid of a vocabulary."""
        dimensions = min(self.dimensions, space.d)
        points = principal_components(space, dimensions)
        low, high = np.quantile(points.astype(np.float64), (_TAIL, 1 - _TAIL), axis=0)
        reduced = space.transformed(f"components-{dimensions}", points)
        return Lattice(reduced, low, (high - low) / (self.levels - 1), self.levels)

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Return the sum of the tables' exact losses."""
        sampler = self.prepare(space)
        why = "exact largest log-ratio of the integer table of each coordinate, summed"
        if sampler.weighted:
            top = float(word_weights(self.weights, space).max())
            among = sampler.width * mixed_loss(sampler.table, top)
            why += (
                "; a weighted distribution mixes rows of one table and stays within its columns "
                f"(two words of the largest weight {top:g} differ by {among:.3g} only)"
            )
        return self.promise(sampler.certified_epsilon, why=why)

    def noise_scale(self, space: MetricSpace) -> float | None:
        """Root mean square over components and levels."""
        sampler = self.prepare(space)
        index = np.arange(self.levels)
        apart = (index[:, None] - index).astype(np.float64) ** 2
        error = float((sampler.table * apart).sum()) / TOTAL / self.levels
        return math.sqrt(error * float(np.mean(sampler.lattice.step**2)))

    def prepare(self, space: MetricSpace) -> GridSampler:
        """Return a grid sampler."""
        return GridSampler(self.lattice(space), self.epsilon, word_weights(self.weights, space))
