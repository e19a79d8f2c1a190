"""A bound on the mean cosine of word and output that no epsilon-LDP distribution can pass."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.optimal_response import OptimalResponse
from dpsan.mechanisms.tables.public_base import public_inputs
from dpsan.mechanisms.tables.solver import Problem, solve
from dpsan.space.arrays import UNIT, Floats, cosine_unit, directions
from dpsan.space.metric_space import MetricSpace

# A bound that no epsilon-LDP distribution can pass: the dual of the linear programme.
#
# Thresholds tau certify ``sum_w p(w)·s(w, u) of any distribution <= sum_w p(w)·tau_w`` if for
# every output u
#
#     A(u) = sum_w p(w)·(s(w,u) - tau_w) + (e^epsilon - 1)·sum_w p(w)·max(0, s(w,u) - tau_w) <= 0
#
# (docs/proofs.md 2.9.4).  Good thresholds are those of the solver, lowered a little.  An output
# that then breaks its condition has the thresholds of the words near it raised by the same amount,
# no further than their similarity to it: that costs e^epsilon times less than raising all of them,
# and no other A(u) grows.  Counts, products and thresholds are integers and every sum is below
# 2^53, so the conditions are checked without rounding.

Rows = NDArray[np.float32]

_LARGEST: Final = 1 << 27
"""Bound on the sum of the counts: times 2·UNIT it is below 2^53."""
_PRODUCTS: Final = 1 << 23
"""Products held at once."""


def similarity_bound(
    inputs: Rows,
    counts: NDArray[np.integer[Any]],
    outputs: Rows,
    epsilon: float,
    thresholds: Floats,
    unit: float,
) -> tuple[float, Floats]:
    """Return an upper bound on the mean similarity of input and output for every epsilon-LDP
    distribution.

    Args:
        inputs: integer directions of all words that have weight, shape (m, d).
        counts: their frequencies, shape (m,), of sum below 2^27.
        outputs: integer directions of every output, shape (k, d).
        epsilon: nats.
        thresholds: a first guess of tau, shape (m,), in units of similarity.
        unit: the product that stands for similarity 1.

    Returns:
        The bound, and thresholds that certify it.

    Raises:
        ValueError: the counts are too large.
    """
    weights = counts.astype(np.float64)
    size = float(weights.sum())
    if not 0 < size < _LARGEST:
        raise ValueError("the sum of the counts must be below 2^27")
    # e^epsilon - 1 rounded up: the condition is harder than the true one.
    growth = float(Decimal(epsilon).exp()) * (1 + 2.0**-50) - 1 + 2.0**-50
    tau = np.clip(np.ceil(thresholds * unit), -UNIT, UNIT)
    excess = _conditions(inputs, weights, outputs, tau, growth)
    for u in np.argsort(-excess, kind="stable"):
        if excess[u] <= 0:
            break
        products = (inputs @ outputs[u]).astype(np.float64)
        _raise(products, weights, tau, growth)
    return math.nextafter(float(weights @ tau) / size / unit, math.inf), tau / unit


def _condition(products: Floats, weights: Floats, tau: Floats, growth: float) -> float:
    """Return a bound on A(u), not below it; exact but for the last two operations."""
    apart = products - tau
    loss, gain = float(weights @ apart), float(weights @ np.maximum(apart, 0))
    return loss + growth * gain * (1 + 2.0**-50)


def _conditions(inputs: Rows, weights: Floats, outputs: Rows, tau: Floats, growth: float) -> Floats:
    """:func:`_condition` of every output, shape (k,)."""
    out = np.empty(len(outputs))
    step = max(1, _PRODUCTS // len(inputs))
    limits = tau.astype(np.float32)  # integers of at most 2^23: exact, and so is the difference
    level = float(weights @ tau)
    # By Cauchy-Schwarz at most sum(counts)·2^23: exact in float64.
    means = outputs.astype(np.float64) @ (weights @ inputs.astype(np.float64))
    for at in range(0, len(outputs), step):
        apart = outputs[at : at + step] @ inputs.T
        apart -= limits
        np.maximum(apart, 0, out=apart)
        gains = apart.astype(np.float64) @ weights
        part = slice(at, at + step)
        out[part] = means[part] - level + growth * gains * (1 + 2.0**-50)
    return out


def _raise(products: Floats, weights: Floats, tau: Floats, growth: float) -> None:
    """Raise thresholds of the words near one output until its condition holds."""
    while (excess := _condition(products, weights, tau, growth)) > 0:
        near = np.flatnonzero(products > tau)
        if not len(near):  # all similarities are reached, and means are no larger
            tau += math.ceil(excess / float(weights.sum()))
            continue
        room = products[near] - tau[near]
        order = np.argsort(room, kind="stable")
        gaps, sizes = room[order], weights[near][order]
        beyond = np.cumsum(sizes[::-1])[::-1]
        # What raising by gaps[i], each no further than its own room, takes off.
        taken = np.cumsum(sizes * gaps) - sizes * gaps + gaps * beyond
        need = excess / (growth + 1)
        at = int(np.searchsorted(taken, need))
        if at == len(gaps):
            step = float(gaps[-1])
        else:
            before = (float(gaps[at - 1]), float(taken[at - 1])) if at else (0.0, 0.0)
            step = before[0] + math.ceil((need - before[1]) / float(beyond[at]))
        tau[near] += np.minimum(step, room)


_INPUTS: Final = 40_000
"""Inputs whose thresholds are found; that of rarer words is 1, which certifies as well."""
_COUNTS: Final = 1 << 26
_ROUNDS: Final = 40
_SMOOTH: Final = (0.2, 0.06)
_LOWERED: Final = 0.015
"""Distance of the bound's first thresholds below the solver's."""
CERTAIN: Final = 30.0
"""Epsilon from which nothing is looked for: the bound is 1, which no cosine exceeds."""
COSINE: Final = "cosine"
"""The one array of the tables."""


def bound_name(epsilon: float) -> str:
    """Return the name of the table that stores a bound."""
    return f"cosine-bound-1-{epsilon!r}"


def certified(space: MetricSpace, epsilon: float) -> float:
    """Return the bound, at most 1; it is kept."""
    if epsilon >= CERTAIN:
        return 1.0

    return min(1.0, space.number(bound_name(epsilon), lambda: _bound(space, epsilon)))


def _bound(space: MetricSpace, epsilon: float) -> float:
    base = OptimalResponse(epsilon).base(space)
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
    solved = solve(problem, start, mass, rounds=_ROUNDS, smooth=_SMOOTH)
    guess = solved.thresholds - _LOWERED
    bound, _ = similarity_bound(rows[:m], counts[:m], rows, epsilon, guess, unit)
    return share * bound + (1 - share)
