"""Mean cosine of input and output under a base, and an upper bound for every base."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from dpsan.mechanisms.optimal.public_base import public_inputs
from dpsan.mechanisms.optimal.similarity_bound import similarity_bound
from dpsan.mechanisms.optimal.solver import Problem, solve
from dpsan.mechanisms.tables.directions import cosine_unit, directions
from dpsan.mechanisms.tables.sparse import SparseTable
from dpsan.space.arrays import Floats
from dpsan.space.metric_space import MetricSpace

_INPUTS: Final = 40_000
"""Inputs whose thresholds are found; that of rarer words is 1, which certifies as well."""
_COUNTS: Final = 1 << 26
_ROUNDS: Final = 40
_SMOOTH: Final = (0.2, 0.06)
_LOWERED: Final = 0.015
"""Distance of the bound's first thresholds below the solver's."""
_ENTRIES: Final = 1 << 16
_CERTAIN: Final = 30.0
"""Epsilon from which nothing is looked for: the bound is 1, which no cosine exceeds."""
_COSINE: Final = "cosine"
"""The one array of the tables."""


class Optimum(NamedTuple):
    """Frequency-weighted mean cosines of input and output, over all words as inputs."""

    achieved: float
    bound: float
    """No epsilon-LDP distribution has a larger mean."""


def mean_cosine(sampler: SparseTable) -> float:
    """Return the mean cosine of input and output of what is sampled, weighted by public counts."""
    space, base = sampler.space, sampler.base
    _, shares = public_inputs(space.counts, space.n, space.n, 0, 1.0)
    rows = directions(space.vectors)
    mean_input = shares @ rows.astype(np.float64)
    outside = float(base.weights @ (rows[base.words] @ mean_input)) * sampler.scale
    owners, indices, masses = sampler.entries()
    weights = shares[owners] * masses
    inside = 0.0
    for at in range(0, len(owners), _ENTRIES):
        part = slice(at, at + _ENTRIES)
        left, right = rows[owners[part]], rows[base.words[indices[part]]]
        inside += float(weights[part] @ np.einsum("ed,ed->e", left, right))
    # A public word's near set is the word itself.
    inside += float(shares[sampler.public].sum()) * base.mass * cosine_unit(space.d)
    total = sampler.scale * base.total + sampler.increment * base.mass
    return (outside + sampler.increment * inside) / total / cosine_unit(space.d)


def optimum(sampler: SparseTable, epsilon: float) -> Optimum:
    """Return the mean cosine of a base and its certified bound.

    Args:
        sampler: with near sets of equal mass.
        epsilon: nats.
    """
    space = sampler.space

    def bound() -> dict[str, Floats]:
        with space.watch(f"looking for a bound at epsilon {epsilon:g}") as progress:
            return {_COSINE: np.array([_bound(sampler, epsilon, progress)])}

    name = f"mean-cosine-1-{epsilon!r}-{sampler.key}"
    mean = space.table(name, lambda: {_COSINE: np.array([mean_cosine(sampler)])}, of_mechanism=True)
    most = 1.0
    if epsilon < _CERTAIN:
        most = min(most, float(space.table(bound_name(epsilon), bound)[_COSINE][0]))
    # Directions are rounded to integers: the cosine of a word with itself may exceed 1 by a little.
    return Optimum(min(float(mean[_COSINE][0]), 1.0), most)


def has_bound(space: MetricSpace, epsilon: float) -> bool:
    """Return True if the bound is stored, so that :func:`optimum` is quick."""
    return epsilon >= _CERTAIN or space.find_table(bound_name(epsilon)) is not None


def bound_name(epsilon: float) -> str:
    """Return the name of the table that stores the bound."""
    return f"cosine-bound-1-{epsilon!r}"


def _bound(sampler: SparseTable, epsilon: float, progress: Callable[[float], None] | None) -> float:
    space, base = sampler.space, sampler.base
    _, every = public_inputs(space.counts, space.n, space.n, 0, 1.0)
    rows, unit = directions(space.vectors), cosine_unit(space.d)
    # Rounded to integers of which the least is 1: off by at most n/2^27 in the sum.
    counts = np.maximum(np.rint(every * _COUNTS), 1).astype(np.int64)
    m = min(space.n, _INPUTS)
    share = float(counts[:m].sum() / counts.sum())
    start = np.zeros(space.n)
    start[base.words] = base.weights
    shares = counts[:m] / float(counts[:m].sum())
    problem = Problem(rows[:m], shares, rows, unit, math.expm1(epsilon))
    mass = base.mass / base.total
    found = solve(problem, start, mass, rounds=_ROUNDS, smooth=_SMOOTH, progress=progress)
    guess = found.thresholds - _LOWERED
    bound, _ = similarity_bound(rows[:m], counts[:m], rows, epsilon, guess, unit)
    return share * bound + (1 - share)
