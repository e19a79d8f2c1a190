"""Closed forms of epsilon, delta and noise for distributions in d dimensions.

Every result that a guarantee rests on is rounded to the safe side.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.space.arrays import Floats

_UP: Final = 1 + 1e-9
_PAD: Final = 100
_MOST_DIMENSIONS: Final = 1 << 60
"""In units of _PAD."""
_CELLS: Final = 20_000


# -- Gaussian ------------------------------------------------------------------------------------


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Exact delta at ``epsilon`` of Gaussian noise, mu = distance / sigma; rounded up.

    [BW18] Theorem 8: ndtr(-epsilon/mu + mu/2) - e^epsilon·ndtr(-epsilon/mu - mu/2), in logarithms.
    """
    from scipy.special import log_ndtr  # heavy import

    if mu == 0:
        return 0.0
    first = float(log_ndtr(-epsilon / mu + mu / 2))
    second = epsilon + float(log_ndtr(-epsilon / mu - mu / 2))
    delta = math.exp(first) * -math.expm1(min(second - first, 0.0))
    # Rounding of the two logarithms and of their arguments, safe side.
    error = math.exp(first) * 1e-15 * (1 + epsilon + abs(first) + abs(second))
    return min(1.0, delta + error)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the largest mu = distance / sigma with :func:`gaussian_delta` <= delta; rounded
    down.
    """
    return _edge(lambda mu: gaussian_delta(epsilon, mu) <= delta)[0]


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the smallest epsilon at which Gaussian noise has this delta, mu = distance / sigma;
    up.
    """
    return _edge(lambda epsilon: gaussian_delta(epsilon, mu) > delta)[1]


def _edge(holds: Callable[[float], bool]) -> tuple[float, float]:
    """Return the numbers next to each other up to which something holds, from 0 on, and not."""
    low, high = 0.0, 1.0
    while holds(high):
        low, high = high, 2 * high
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low, high


# -- truncated Laplace ---------------------------------------------------------------------------


def truncated_laplace_std(alpha: float, bound: float) -> float:
    """Standard deviation of the density ~ e^(-alpha|x|) on [-bound, bound]."""
    reach = alpha * bound
    if reach < 1e-3:  # series: the closed form cancels
        return bound * math.sqrt(1 / 3 - reach / 12)
    if reach > 700:
        return math.sqrt(2) / alpha
    return math.sqrt(2 - reach * (reach + 2) / math.expm1(reach)) / alpha


def escape(shift: Floats | float, alpha: float, bound: float) -> Floats:
    """Mass q(t) of truncated Laplace noise that lies outside its own support shifted by t >= 0.

    q(t) = (e^(alpha t) - 1)·e^(-alpha A) / (2(1 - e^(-alpha A))) for t <= A, the other tail beyond.
    """
    shift = np.asarray(shift, dtype=np.float64)
    near = np.minimum(shift, bound)
    norm = -2 * math.expm1(-alpha * bound)
    tail = np.exp(alpha * (near - bound)) * -np.expm1(-alpha * near) / norm
    body = -np.expm1(-alpha * np.maximum(shift - bound, 0.0)) / norm
    return np.asarray(np.where(shift < 2 * bound, np.minimum(tail + body, 1.0), 1.0))


def largest_escape(alpha: float, bound: float, d: int, radius: float) -> float:
    """Max over |s|_2 <= radius of 1 - prod_i (1 - q(|s_i|)): the mass outside a shifted box.

    With f(v) = -ln(1 - q(sqrt v)) this maximises sum f(v_i) under sum v_i <= radius².  Where f is
    concave up to radius², equal shifts are worst and the value is exact; elsewhere d times the
    concave envelope of f at radius²/d is an upper bound for any f, here within 0.2 %.
    """
    spread = -d * math.log1p(-float(escape(radius / math.sqrt(d), alpha, bound)))
    if d > 1 and not _concave(alpha, bound, radius):
        spread = max(spread, d * _envelope(alpha, bound, radius, radius**2 / d))
    return min(1.0, -math.expm1(-spread) * _UP)


def _concave(alpha: float, bound: float, radius: float) -> bool:
    """Return True if f is concave on (0, radius²].

    f'(v) = q'/(2t(1 - q)) falls iff t·(q''/q' + q'/(1 - q)) <= 1; for t <= A, q'' = alpha·q' and
    the left side grows with t.
    """
    if radius > bound:
        return False
    slope = alpha * math.exp(alpha * (radius - bound)) / (-2 * math.expm1(-alpha * bound))
    hazard = slope / (1 - float(escape(radius, alpha, bound)))
    return radius * (alpha + hazard) <= 1


def _envelope(alpha: float, bound: float, radius: float, at: float) -> float:
    """Upper bound on the concave envelope of f over [0, radius²] at a point."""
    shifts = radius * np.geomspace(1e-6, 1.0, _CELLS)
    with np.errstate(divide="ignore"):
        values = -np.log1p(-escape(shifts, alpha, bound))
    if not np.isfinite(values).all():
        return math.inf
    # On the cell [v_j, v_j+1], f <= f(v_j+1) as f grows: a staircase from above.
    starts = np.concatenate(([0.0], shifts[:-1] ** 2))
    # Every slope >= 0 gives the bound slope·at + max(values - slope·starts); find the best.
    low, high = 0.0, float(values[0] / shifts[0] ** 2 * 1e6 + values[-1] / at)
    best = math.inf
    for _ in range(120):
        slope = (low + high) / 2 if low else high / 2
        gaps = values - slope * starts
        top = int(np.argmax(gaps))
        best = min(best, slope * at + float(gaps[top]))
        low, high = (slope, high) if starts[top] > at else (low, slope)
    return best


def published_root(delta: float | str, d: int) -> float:
    """delta^(1/d) of [TrLap]; 1/4 for the paper's own delta = 4^-d (``auto``)."""
    return 0.25 if isinstance(delta, str) else math.exp(math.log(delta) / d)


def padded_dimensions(epsilon: float, delta: float | str, d: int) -> int:
    """Dimensions d' >= d in which [TrLap] Theorem 3 is defined for this epsilon.

    d itself where epsilon < 2·delta^(1/d)·sqrt d, else the smallest multiple of 100 strictly inside
    that domain: 500 at epsilon 10 and 1700 at epsilon 20 for delta = 4^-d, as in the paper.  (On
    the edge itself, 400 and 1600, the support is unbounded.)
    """

    def inside(dimensions: int) -> bool:
        return epsilon < 2 * published_root(delta, dimensions) * math.sqrt(dimensions)

    if inside(d):
        return d
    # The domain grows with the dimension.
    return bisect_left(range(_MOST_DIMENSIONS), True, lo=1, key=lambda k: inside(k * _PAD)) * _PAD


def published_truncation(
    epsilon: float, delta: float | str, d: int, clip: float
) -> tuple[float, float]:
    """Alpha and A of [TrLap] Theorem 3, whose claim is false (see :func:`largest_escape`)."""
    alpha = epsilon / (2 * math.sqrt(d) * clip)
    return alpha, -math.log1p(-epsilon / (2 * published_root(delta, d) * math.sqrt(d))) / alpha


def sound_truncation(epsilon: float, delta: float, d: int, clip: float) -> tuple[float, float]:
    """Alpha and the A = ln(1 + S/(2 delta))/alpha for which (epsilon, delta) holds; A rounded up.

    sum_i q(|s_i|) = delta·sum_i (e^(alpha|s_i|) - 1)/S, and S is the largest value of that sum:
    d(e^(epsilon/d) - 1) while e^(alpha sqrt v) - 1 is concave in v (alpha sqrt v <= 1), otherwise
    bounded through e^y - 1 <= y + (e^x - 1 - x)(y/x)² for y <= x = epsilon/sqrt d.
    """
    alpha = epsilon / (2 * math.sqrt(d) * clip)
    x = epsilon / math.sqrt(d)
    if x <= 1:
        log_s = math.log(d) + math.log(math.expm1(epsilon / d))
    else:  # ln(epsilon - x + (e^x - 1)) without overflow
        log_s = x + math.log(-math.expm1(-x) + (epsilon - x) * math.exp(-x))
    reach = float(np.logaddexp(0.0, log_s - math.log(2 * delta)))
    return alpha, reach / alpha * (1 + 1e-12)


# Distributions on small grids: random tables of integers, and composed losses of Laplace noise.

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

    Rows have equal totals, so it is the pure LDP epsilon of the table.
    """
    worst = 0.0
    for column in table.T.tolist():
        low, high = min(column), max(column)
        if low < 1:
            return math.inf
        # Integers: the difference and the quotient are correctly rounded, log1p within one unit.
        worst = max(worst, math.log1p((high - low) / low) * (1 + 2.0**-50))
    return worst


_CELLS_OF_SUMS: Final = 1 << 18


@lru_cache(maxsize=1024)
def laplace_delta(epsilon: float, unit: float, count: int, cells: int = _CELLS_OF_SUMS) -> float:
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
