"""Distributions on small grids: random tables of integers, and composed losses of Laplace noise."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.space.arrays import Floats

TOTAL: Final = 1 << 62
"""Every row of a table sums to this: 62 uniform bits are an exact draw, without rejection."""
_STEEPEST: Final = 45.0
"""No table of integers up to 2^62 has a loss above 43 nats."""
_SLOPES: Final = 65

Table = NDArray[np.uint64]


def grid_pmf(epsilon: float, levels: int, slopes: int = _SLOPES) -> Floats:
    """P(y|x) = p·1[y = x] + (1-p)·g(y|x) on ``levels`` points with loss epsilon, shape (k, k).

    g(y|x) is proportional to exp(-slope·|y-x|/(k-1)), renormalised on the grid.  In column y the
    largest entry is P(y|y) = p + (1-p)·g(y|y), because g(y|x) <= g(y|y), and the smallest is
    (1-p)·min g(y|x).  So the loss is at most epsilon iff p/(1-p) <= e^epsilon·min_x g(y|x) -
    g(y|y) for every y: p has a closed form for each slope.  The slope in [0, epsilon] (0 is k-ary
    randomized response) is the one with the least mean squared error over the levels.
    """
    epsilon = min(epsilon, _STEEPEST)
    level = np.arange(levels)
    apart = np.abs(level[:, None] - level).astype(np.float64)
    slope = np.linspace(0.0, epsilon, slopes)[:, None, None]
    noise = np.exp(-slope * apart / (levels - 1))
    noise /= noise.sum(axis=2, keepdims=True)
    peak = noise[:, level, level]
    room = (math.exp(epsilon) * noise.min(axis=1) - peak).min(axis=1)
    odds = np.maximum(room, 0.0)
    kept = (odds / (1 + odds))[:, None, None]
    pmf = kept * np.eye(levels) + (1 - kept) * noise
    error = (pmf * apart**2).sum(axis=(1, 2))
    error[room < -1e-9] = math.inf  # this slope alone costs more than epsilon
    return np.asarray(pmf[int(np.argmin(error))], dtype=np.float64)


@lru_cache(maxsize=4096)
def grid_table(epsilon: float, levels: int) -> Table:
    """Return the distribution of :func:`grid_pmf` as integers, row sums :data:`TOTAL`, shape (k,
    k).

    The integers are the distribution that is sampled: :func:`certified_loss` of them is <= epsilon,
    checked here; entries are >= 1.  Read-only.
    """
    for attempt in range(14):
        pmf = grid_pmf(epsilon * (1 - 8.0**attempt * 2.0**-44), levels)
        table = np.maximum(np.floor(pmf * 2.0**62), 1).astype(np.int64)
        # What the rounding left over goes to the diagonal, the largest entry of its column.
        level = np.arange(levels)
        table[level, level] += TOTAL - table.sum(axis=1)
        out = table.astype(np.uint64)
        if (table >= 1).all() and certified_loss(out) <= epsilon:
            break
    else:
        out = np.full((levels, levels), TOTAL // levels, dtype=np.uint64)
        out[:, 0] += np.uint64(TOTAL - levels * (TOTAL // levels))  # identical rows: no loss at all
    out.flags.writeable = False
    return out


def certified_loss(table: Table) -> float:
    """Exact largest log-ratio of two entries of one column, rounded up.

    Rows have equal totals, so it is the pure LDP epsilon of the table, and of every distribution
    that mixes its rows: a mixture lies between the smallest and the largest entry of each column.
    """
    worst = 0.0
    for column in table.T.tolist():
        low, high = min(column), max(column)
        if low < 1:
            return math.inf
        # Integers: the difference and the quotient are correctly rounded, log1p within one unit.
        worst = max(worst, math.log1p((high - low) / low) * (1 + 2.0**-50))
    return worst


def mixed_loss(table: Table, weight: float) -> float:
    """Loss between rows that are each mixed with the mean row: (1-weight)·row + weight·mean."""
    pmf = table / float(TOTAL)
    mixed = (1 - weight) * pmf + weight * pmf.mean(axis=0)
    return float(np.log(mixed.max(axis=0) / mixed.min(axis=0)).max())


_CELLS: Final = 1 << 18


@lru_cache(maxsize=1024)
def laplace_delta(epsilon: float, unit: float, count: int, cells: int = _CELLS) -> float:
    """Delta at ``epsilon`` of ``count`` Laplace noises, each shifted by ``unit`` times its scale.

    The loss of one noise is ``unit`` with probability 1/2, ``-unit`` with probability e^-unit/2,
    and has density exp(-(unit - l)/2)/4 between.  It is put on a grid so that the masses under
    both inputs are kept in every cell (pessimistic, error of second order in the cell), composed
    by a Fourier transform, and summed: E(1 - e^(epsilon - l))+.  Never below the truth by more
    than the transform's rounding, about 1e-12.
    """
    from scipy import fft  # heavy import

    half = int(np.clip(cells // (2 * count), 4, 4000))
    step = unit / half
    edges = np.arange(-half, half) * step
    mass = 0.5 * np.exp((edges - unit) / 2) * math.expm1(step / 2)
    single = np.zeros(2 * half + 1)
    # Shares of a cell's two ends that keep its mass under both inputs, in closed form.
    single[:-1] += mass / (math.exp(step / 2) + 1)
    single[1:] += mass / (math.exp(-step / 2) + 1)
    single[0] += 0.5 * math.exp(-unit)
    single[-1] += 0.5
    size = 2 * half * count + 1
    width = fft.next_fast_len(size, real=True)
    composed = fft.irfft(fft.rfft(single, width) ** count, width)[:size]
    losses = (np.arange(size) - half * count) * step
    above = losses > epsilon
    gain = -np.expm1(epsilon - losses[above])
    return float(np.clip(np.dot(np.maximum(composed[above], 0.0), gain), 0.0, 1.0))
