"""Bounds on the probability of what was counted: they hold for every number of draws.

With D the relative entropy, N draws of an event of probability p have a share of at least a > p
with probability at most exp(-N·D(a|p)), by Chernoff, and so on the other side.  It holds as well
for N independent events whose probabilities have the mean p [Hoeffding 1956].  No bound here is
asymptotic: a p-value that is printed is never too small, however few draws a cell expects.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.space.arrays import Floats

ROUNDING: Final = 1e-6
"""Nats of each draw that float64 probabilities may be off by; taken off what was seen."""


def surprise(seen: Floats, expected: Floats) -> Floats:
    """seen·ln(seen/expected), 0 where nothing was seen and inf where nothing was expected."""
    with np.errstate(divide="ignore", invalid="ignore"):
        out = seen * np.log(seen / expected)
    return np.asarray(np.where(seen > 0, out, 0.0), dtype=np.float64)


def log_tail_of_share(hits: Floats, draws: int, p: Floats) -> Floats:
    """Bounds on ln P(a share as far from p as hits/draws, on either side), at most 0, shape (k,).

    Args:
        hits: how many of the independent draws had each event, (k,).
        p: probability of each event, or its mean over the draws, (k,).
    """
    hits, p = np.asarray(hits, dtype=np.float64), np.clip(p, 0, 1)
    seen = surprise(hits, draws * p) + surprise(draws - hits, draws * (1 - p))
    return np.minimum(0.0, math.log(2) - (seen - draws * ROUNDING))


def log_tail_of_cells(counts: NDArray[np.integer], p: Floats) -> Floats:
    """Bound on ln P(counts as far from p as these by the G statistic), at most 0, shape (rows,).

    G/2 = N·D(counts/N | p) is a sum of k-1 terms of binomial counts, each given those before.
    Such a term X has P(X >= x) <= 2·e^-x, so E e^(tX) <= 2^t/(1 - t); by Markov at the best t,
    P(G/2 >= x) <= exp(-(y - f - f·ln(y/f))) with f = k - 1 and y = x - f·ln 2 > f.

    Args:
        counts: shape (rows, k).
        p: probabilities of the cells, shape (rows, k); rows sum to 1, cells may be 0.
    """
    draws = counts.sum(axis=1, keepdims=True)
    seen = surprise(counts.astype(np.float64), draws * p).sum(axis=1)
    free = np.maximum((p > 0).sum(axis=1) - 1, 1)
    left = seen - draws[:, 0] * ROUNDING - free * math.log(2)
    over = np.maximum(left, free)  # at most free: the bound says nothing
    with np.errstate(invalid="ignore"):
        out = -(over - free - free * np.log(over / free))
    return np.asarray(np.where(np.isinf(left), -np.inf, out))


def share_at_most(hits: float, draws: int, log_error: float) -> float:
    """Upper bound of a mean probability, too low with probability at most e^log_error < 1."""
    low, high = hits / draws, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        seen, expected = np.array([hits, draws - hits]), draws * np.array([middle, 1 - middle])
        below = -float(surprise(seen, expected).sum()) > log_error
        low, high = (middle, high) if below else (low, middle)
    return high
