"""Public base distributions, solved for a grid of epsilon, as integers that are kept."""

import math
from decimal import Context, Decimal
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.tables.solver import Problem, solve
from dpsan.space.arrays import Floats, Ids, cosine_unit, directions, favoured
from dpsan.space.metric_space import MetricSpace

Arrays = dict[str, NDArray[Any]]

GRID: Final = tuple(step / 2 for step in range(2, 25))
"""Values of epsilon for which a base is solved; between them the nearest one serves."""
TOTAL: Final = 1 << 20
"""The integer base weights sum to about this."""
_FREQUENT: Final = 8000
_RARE: Final = 3000
"""Inputs that the solver looks at: the most frequent words, and some of the others."""
MOST_FREQUENT: Final = 8000
"""The most frequent words, among which the outputs are found."""
_ROUNDS: Final = 48
_EXACT: Final = Context(prec=20)
_USUAL: Final = 1000
"""A word that is neither favoured nor the contrary."""
_UNCLEAR: Final = 1e-4
"""Distance from a half below which a logarithm in float64 does not round safely."""
_MOST_FAVOUR: Final = 0.9
"""Bound on what outputs are favoured by, so that products stay exact."""
_SPARED: Final = 100
"""Number of the most frequent words, mostly function words, that keep their weight as outputs."""
_EVEN: Final = 3000
"""Largest number of frequent words that share the even part of the mass."""
_EVEN_RATIO: Final = 2
"""Nor more than this times the outputs that the solver left: near sets would be long."""
_FEW: Final = 1000
"""Names of groups come in where more words than this share the even part; else sets are long."""
_FIRST_MASSES: Final = (0.25, 0.2, 0.11, 0.073, 0.046, 0.025, 0.0125, 0.0061)
_LAST_MASSES: Final = (0.003, 0.0014, 0.00066, 0.00033, 0.00017)
_MASSES: Final = _FIRST_MASSES + _LAST_MASSES
"""Masses of near sets to begin with, at epsilon 1, 2, ..."""


def nearest_epsilon(epsilon: float) -> float:
    """Return the grid point whose base is used; of two equally near ones the larger."""
    return min(GRID, key=lambda point: (abs(point - epsilon), -point))


def first_mass(epsilon: float) -> float:
    """Return a mass of near sets to begin with, as a share of the base."""
    low = min(max(math.floor(epsilon), 1), len(_MASSES) - 1)
    here, there = _MASSES[low - 1], _MASSES[low]
    return max(here + (there - here) * min(max(epsilon - low, 0.0), 1.0), there)


def public_inputs(
    counts: NDArray[np.integer[Any]] | None, n: int, frequent: int, rare: int, prior: float
) -> tuple[Ids, Floats]:
    """Return words that stand for all inputs, and their shares with sum 1: proportional to
    count^prior.

    The frequent ones and every s-th other, which stands for s.

    Args:
        counts: public counts, shape (n,); None takes Zipf's distribution by rank.
    """
    frequent = min(n, frequent)
    step = max(1, -(-(n - frequent) // max(rare, 1)))
    ids = np.concatenate([np.arange(frequent), np.arange(frequent, n, step)])
    shares = 1 / (ids + 2.7) if counts is None else np.maximum(counts[ids], 1).astype(np.float64)
    if prior != 1:  # correctly rounded everywhere, which pow of the C library is not
        power = Decimal(prior)
        shares = np.array(
            [float(_EXACT.power(Decimal(weight), power)) for weight in shares.tolist()]
        )
    shares[frequent:] *= step
    return ids, shares / math.fsum(shares.tolist())


def _logarithms(values: Floats) -> Floats:
    """Correctly rounded everywhere, which log of the C library is not."""
    return np.array([float(_EXACT.ln(Decimal(value))) for value in values.tolist()])


def favours(
    counts: NDArray[np.integer[Any]] | None, n: int, k: int, frequency: float, unit: float
) -> tuple[NDArray[np.float32] | None, float]:
    """Return what the frequency of the first k outputs adds to their products.

    Args:
        frequency: cosine for each factor of e in the public count.
        unit: the product that stands for cosine 1.

    Returns:
        Integers from -2^23 to 0, shape (k,), None for a frequency of 0; and what makes that of
        the 1,000th word 0 (of the last one, where there are fewer), as a cosine.
    """
    if frequency == 0:
        return None, 0.0
    shares, indices = np.unique(public_inputs(counts, n, k, 0, 1.0)[1][:k], return_inverse=True)
    ratios = shares / shares[-1]
    added = frequency * np.log(ratios) * unit
    # The C library's logarithm is good enough, but where it does not say which integer is nearest.
    unclear = np.abs(added - np.floor(added) - 0.5) < _UNCLEAR
    added[unclear] = frequency * _logarithms(ratios[unclear]) * unit
    usual = frequency * _logarithms(ratios[indices[min(k, _USUAL) - 1], None])
    least = -_MOST_FAVOUR
    rounded = np.rint(np.maximum(added, least * unit))[indices]
    return rounded.astype(np.float32), -float(max(usual[0], least))


class BaseTask(NamedTuple):
    """Epsilon and settings that a base is solved for; see :func:`base_table`."""

    epsilon: float
    prior: float
    power: int
    """Power of the cosine, whose mean is made large."""
    frequency: float = 0.0
    """See :func:`favours`."""

    @property
    def name(self) -> str:
        """Return the name of the table that stores the base."""
        frequency = f"-{self.frequency!r}" if self.frequency else ""
        return f"base-2-{self.epsilon:g}-{self.prior!r}-{self.power}{frequency}"


def base_table(space: MetricSpace, task: BaseTask, *, rounds: int = _ROUNDS) -> Arrays:
    """Solve for a base at a grid point.

    Returns:
        ``words``: outputs in use, ascending; ``base``: their integer weights; ``mass``: that of
        every near set, shape (1,).
    """
    ids, shares = public_inputs(space.counts, space.n, _FREQUENT, _RARE, task.prior)
    k = min(space.n, MOST_FREQUENT)
    unit = cosine_unit(space.d)
    added, shift = favours(space.counts, space.n, k, task.frequency, unit)
    scale = None if added is None else 1.0
    _, usual = public_inputs(space.counts, space.n, k, 0, task.prior)
    problem = Problem(
        inputs=favoured(directions(space.vectors[ids]), scale),
        shares=shares,
        outputs=favoured(directions(space.vectors[:k]), added),
        unit=unit,
        growth=float(Decimal(task.epsilon).exp() - 1),  # correctly rounded everywhere
        power=task.power,
        shift=shift,
    )
    first = first_mass(task.epsilon)
    solved = solve(problem, np.sqrt(usual[:k]), first, rounds=rounds)
    base = solved.base * (TOTAL / math.fsum(solved.base.tolist()))
    weights = np.floor(base + 0.5).astype(np.int64)
    keep = weights > 0
    total = int(weights.sum())
    return {
        "words": solved.indices[keep].astype(np.int32),
        "base": weights[keep].astype(np.uint32),
        "mass": np.array([min(max(1, round(solved.mass * total)), total)], dtype=np.int64),
    }


def softened(
    solved: Arrays,
    counts: NDArray[np.integer[Any]] | None,
    n: int,
    spread: float,
    even: float,
    always: Ids | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.int64], int]:
    """Return a base in which more outputs stand for each word of rank above 100; frequent ones
    stay.

    Args:
        solved: see :func:`base_table`.
        spread: such an output weighs so many times less, and near sets have the same mass.
        even: share of these outputs' mass that goes to the most frequent words, 3,000 at most and
            twice as many as the solver left, by the square root of their counts.
        always: words that share it whatever their counts are, ascending row numbers.

    Returns:
        Outputs in use, ascending, their integer weights, and the mass of every near set.
    """
    full = np.zeros(n, dtype=np.int64)
    full[solved["words"]] = solved["base"]
    spared, others = int(full[:_SPARED].sum()), int(full[_SPARED:].sum())
    scale = TOTAL / (spared + others / spread)
    base = full * scale
    base[_SPARED:] /= spread
    m = min(n, _EVEN, _EVEN_RATIO * len(solved["words"]))
    chosen, among = np.arange(_SPARED, m), m
    if always is not None and m > _FEW:
        times = np.bincount(np.append(chosen, always[always >= _SPARED]))
        chosen, among = np.flatnonzero(times), n  # np.unique would import numpy.ma
    usual = np.sqrt(public_inputs(counts, n, among, 0, 1.0)[1][chosen])
    if len(usual):
        share = even * others / spread * scale / math.fsum(usual.tolist())
        base[_SPARED:] *= 1 - even
        base[chosen] += usual * share
    weights = np.floor(base + 0.5).astype(np.int64)
    words = np.flatnonzero(weights).astype(np.int32)
    weights = weights[words]
    total = int(weights.sum())
    return words, weights, min(max(1, round(int(solved["mass"][0]) * scale)), total)


def solved_base(space: MetricSpace, task: BaseTask) -> Arrays:
    """Return the kept base of a grid point."""
    return space.table(task.name, lambda: base_table(space, task))
