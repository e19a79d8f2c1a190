"""The public base distribution with which near sets of equal mass give the largest mean similarity.

Every epsilon-LDP distribution is ``P(u|w) = m(u)·(1 + (e^epsilon - 1)·lambda_w(u))`` with a public
m >= 0 of total M, ``0 <= lambda <= 1`` and the same ``sum_u m(u)·lambda_w(u)`` for all w
(docs/proofs.md 2.9).  For given m the best lambda fills up the outputs most similar to w; the value
is concave in m.  With thresholds ``t_w`` its gradient is

    A(u) = sum_w p(w)·[s(w,u) - t_w + (e^epsilon - 1)·max(0, s(w,u) - t_w)],

so at the optimum ``e^epsilon·gain(u) = loss(u)`` for every output in use, where gain sums the
positive and loss the negative parts of ``p(w)·(s(w,u) - t_w)``.  The solver multiplies m(u) by a
power of ``e^epsilon·gain/loss``, with momentum, until they agree.  ``max(0, x)`` is smoothed
(Huber) over a width that falls from round to round: without it the thresholds of frequent words
jump from one output to the next and nothing converges.  The width is a share of the mean threshold,
which is small for high powers of the cosine and small epsilon.

The result is a function of the input alone, to the last bit and on every machine: products of
directions are exact, sums are taken in a fixed order, and of the functions that are not correctly
rounded everywhere (exp, log, pow) none is used.
"""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.words import shown
from dpsan.space.arrays import Floats, Ids, ranking

_LEAST: Final = 2.0**-12
"""An output with less of the mass of a near set than this is dropped."""
_RATIO: Final = 32.0
"""Bound on the ratio by which an output's mass is judged too small or too large."""
_FIRST_LEVEL: Final = 0.3
"""A mean threshold before one is known."""
_LEAST_LEVEL: Final = 0.001
"""A mean threshold below this one (with small epsilon it may be negative) counts as this one."""


@dataclass(frozen=True)
class Problem:
    """Objective of the solver: the mean similarity of inputs and outputs."""

    inputs: NDArray[np.float32]
    """Integer directions, shape (m, d)."""
    shares: Floats
    """Public frequencies p of the inputs, shape (m,), with sum 1."""
    outputs: NDArray[np.float32]
    """Integer directions of the outputs, shape (k, d)."""
    unit: float
    """The product that stands for similarity 1."""
    growth: float
    """e^epsilon - 1."""
    power: int = 1
    """The similarity is this power of the cosine; above 1 it is 0 where the cosine is negative."""
    shift: float = 0.0
    """Added to the cosine, as what outputs are favoured by is 0 for the most favoured one."""

    def similarities(self, products: NDArray[np.float32]) -> NDArray[np.float32]:
        """Similarities of the same shape; changes its argument."""
        products *= np.float32(1 / self.unit)
        products += np.float32(self.shift)
        if self.power > 1:
            np.maximum(products, 0, out=products)
            cosines = products.copy()
            for _ in range(self.power - 1):
                products *= cosines
        return products

    def mean_similarities(self, indices: Ids) -> Floats:
        """Return the mean similarity of outputs to all inputs, weighted by their shares."""
        if self.power == 1:  # the product with the mean input
            mean = np.array([total(column) for column in self.inputs.T * self.shares])
            return column_sums(self.outputs[indices].T * mean[:, None]) / self.unit + self.shift
        # In integers, whose sums have no order: 2^30 for all shares, 2^24 for similarity 1.
        weights = np.rint(self.shares * 2.0**30).astype(np.int64)
        out = np.empty(len(indices))
        for at in range(0, len(out), 256):
            part = self.similarities(self.outputs[indices[at : at + 256]] @ self.inputs.T)
            out[at : at + 256] = np.rint(part * np.float32(2**24)).astype(np.int64) @ weights
        return out * 2.0**-54


@dataclass(frozen=True)
class Solution:
    """A base distribution."""

    indices: Ids
    """Outputs in use, ascending, shape (k',)."""
    base: Floats
    """m of these, shape (k',); the sum M is below 1."""
    mass: float
    """c: (1/M - 1)/growth, the base mass of every near set, where the base has mass 1."""
    thresholds: Floats
    """Averaged t_w, shape (m,): a start for the bound."""


def total(values: Floats) -> float:
    """Return the exact sum, rounded once: the same in every order."""
    return math.fsum(values.tolist())


def column_sums(rows: NDArray[np.floating[Any]]) -> Floats:
    """Sums over the first axis, row after row."""
    out = np.zeros(rows.shape[1:])
    for row in rows:
        out += row
    return out


def _root(values: Floats, times: int) -> Floats:
    for _ in range(times):
        values = np.sqrt(values)
    return values


class _Lists:
    """The outputs in use that are most similar to each input, best first."""

    def __init__(self, problem: Problem, indices: Ids, width: int) -> None:
        self.k = len(indices)
        width = min(width, self.k)
        self.order, products = ranking(problem.inputs, problem.outputs[indices], width)
        self.values = problem.similarities(products)
        self.columns = np.arange(len(problem.inputs))

    def thresholds(
        self, base: Floats, need: float, smooth: float, start: Floats | None
    ) -> tuple[Floats, Floats, Floats]:
        """Smoothed t_w; how much of the list the sharp set takes; what each entry gains."""
        weights = base.astype(np.float32)[self.order]
        before = np.cumsum(weights, axis=0)
        count = (before < np.float32(need)).sum(axis=0)
        sharp = self.values[np.minimum(count, len(self.values) - 1), self.columns]
        low, high = sharp - np.float32(smooth / 2), sharp + np.float32(smooth / 2)
        t = sharp if start is None else np.clip(start.astype(np.float32), low, high)
        part = np.empty_like(self.values)
        for _ in range(3 if start is not None else 8):  # Newton, within the bracket
            np.subtract(self.values, t, out=part)
            part *= np.float32(1 / smooth)
            part += np.float32(0.5)
            inside = (part > 0) & (part < 1)
            np.clip(part, 0, 1, out=part)
            part *= weights
            over = column_sums(part) - need
            slope = column_sums(weights * inside) / smooth
            low = np.where(over > 0, t, low)
            high = np.where(over > 0, high, t)
            step = t + over / np.maximum(slope, 1e-12 * need)
            t = np.where((step > low) & (step < high), step, (low + high) / 2).astype(np.float32)
        np.subtract(self.values, t, out=part)
        gains = np.maximum(part, 0)
        bend = np.abs(part) < np.float32(smooth / 2)
        curve = part + np.float32(smooth / 2)
        curve *= curve
        curve *= np.float32(0.5 / smooth)
        np.copyto(gains, curve, where=bend)
        return t.astype(np.float64), count, gains


def solve(
    problem: Problem,
    start: Floats,
    mass: float,
    *,
    rounds: int = 60,
    smooth: tuple[float, float] = (0.5, 0.15),
    width: int = 64,
) -> Solution:
    """Return a base distribution near the optimum.

    Args:
        start: a first base distribution over the outputs, shape (k,), any scale; zero leaves out.
        smooth: first and last width of the smoothing, as a share of the mean threshold.
        width: length of the first lists of near outputs.
    """
    growth, shares = problem.growth, problem.shares
    indices = np.flatnonzero(start > 0)
    base = start[indices].astype(np.float64)
    base *= 1 / (1 + growth * mass) / total(base)
    overall = np.zeros(len(start))
    overall[indices] = problem.mean_similarities(indices)
    speed = np.ones(len(indices))
    t: Floats | None = None
    level = _FIRST_LEVEL
    lists = _Lists(problem, indices, width)
    average, averaged = np.zeros(len(shares)), 0
    mean_base = np.zeros(len(problem.outputs))
    for done in shown("looking for the best distribution", range(rounds)):
        share = min(1.0, done / (0.7 * rounds))
        now = (smooth[0] * (1 - share) + smooth[1] * share) * max(level, _LEAST_LEVEL)
        need = (1 - total(base)) / growth
        t, count, gains = lists.thresholds(base, need, now, t)
        gains *= shares.astype(np.float32)
        gain = np.bincount(lists.order.ravel(), gains.ravel(), minlength=len(indices))
        level = total(shares * t)
        loss = gain + (level - overall[indices])
        ratio = np.clip((growth + 1) * gain / loss, 1 / _RATIO, _RATIO)
        # speed^(3/4)·ratio^(1/8): momentum in the logarithm.
        speed = speed / _root(speed, 2) * _root(ratio, 3)
        last = total(base)
        base = base * np.clip(speed, 0.25, 4)
        drift = total(base) / last
        mass = (1 / last - 1) / growth * float(_root(np.array(1 / drift), 4))
        base *= 1 / (1 + growth * mass) / total(base)
        if done >= rounds * 2 // 3:
            average += t
            mean_base[indices] += base
            averaged += 1
        if done + 1 < rounds and (done + 1) % 12 == 0:
            used = base > _LEAST * need
            indices, base, speed = indices[used], base[used], speed[used]
            reach = float(np.sort(count)[int(0.99 * len(count))]) * 1.5
            lists = _Lists(problem, indices, int(min(max(width, 2 * reach), 512)))
    keep = np.flatnonzero(mean_base > 0)
    base = mean_base[keep] / averaged
    return Solution(keep, base, (1 / total(base) - 1) / growth, average / averaged)
