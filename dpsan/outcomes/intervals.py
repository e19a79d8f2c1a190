"""Confidence intervals of shares and medians, and bounds on tail probabilities.

A tail bound holds for every number of draws.  Let D be the relative entropy.  N draws of an event
of probability p have a share of at least a > p with probability at most exp(-N·D(a|p)) (Chernoff),
and likewise below p.  The bound also holds for N independent events with mean probability p
[Hoeffding 1956].  No bound is asymptotic: a p-value that is printed is never too small, however
few draws a cell expects.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.space.arrays import Floats

CONFIDENCE: Final = 0.95
ROUNDING: Final = 1e-6
"""Nats of each draw that float64 probabilities may be off by; subtracted from every deviation."""


def clopper_pearson(hits: int, draws: int, alpha: float) -> tuple[float, float]:
    """Return one-sided lower and upper bounds of a probability, each at level 1 - alpha.

    Args:
        alpha: error probability of each bound.
    """
    from scipy.special import betaincinv  # heavy import

    low = float(betaincinv(hits, draws - hits + 1, alpha)) if hits else 0.0
    high = float(betaincinv(hits + 1, draws - hits, 1 - alpha)) if hits < draws else 1.0
    return low, high


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate and its confidence limits, all three equal if the value is exact."""

    value: float
    low: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Estimate:
        """Return an exact value."""
        return cls(value, value, value)

    @classmethod
    def of_draws(cls, hits: int, draws: int, tail: float) -> Estimate:
        """Estimate a probability; each limit is wrong with probability ``tail``."""
        return cls(hits / draws, *clopper_pearson(hits, draws, tail))


def median(values: NDArray[np.int64]) -> Estimate:
    """Return the median of a sample (m,), m >= 1, with its interval at :data:`CONFIDENCE`.

    The limits are order statistics, whose ranks are binomial whatever the distribution is.
    """
    from scipy.special import bdtr  # heavy import

    ordered = np.sort(values)
    m = len(ordered)
    # The k-th smallest is above the median with probability P(Binomial(m, 1/2) < k).
    below = int((bdtr(np.arange(m // 2 + 1), m, 0.5) <= (1 - CONFIDENCE) / 2).sum())
    low, high = (below - 1, m - below) if below else (0, m - 1)
    return Estimate(float(np.median(ordered)), float(ordered[low]), float(ordered[high]))


@dataclass(frozen=True, slots=True)
class Share:
    """``hits`` of ``total``."""

    hits: int
    total: int

    @property
    def value(self) -> float | None:
        """Share of hits; None if there is nothing to count."""
        return self.hits / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float]:
        """Clopper-Pearson interval at :data:`CONFIDENCE`, as if all were independent."""
        return clopper_pearson(self.hits, self.total, (1 - CONFIDENCE) / 2)

    def as_json(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "share": self.value,
            "interval": list(self.interval) if self.total else None,
            "hits": self.hits,
            "of": self.total,
        }


def surprise(seen: Floats, expected: Floats) -> Floats:
    """Return seen·ln(seen/expected): 0 where seen is 0, inf where expected is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        out = seen * np.log(seen / expected)
    return np.asarray(np.where(seen > 0, out, 0.0), dtype=np.float64)


def log_tail_of_share(hits: Floats, draws: int, p: Floats) -> Floats:
    """Return bounds on ln P(a share as far from p as hits/draws, on either side), at most 0, (k,).

    Args:
        hits: number of draws that had each event, (k,).
        p: probability of each event, or its mean over the draws, (k,).
    """
    hits, p = np.asarray(hits, dtype=np.float64), np.clip(p, 0, 1)
    seen = surprise(hits, draws * p) + surprise(draws - hits, draws * (1 - p))
    return np.minimum(0.0, math.log(2) - (seen - draws * ROUNDING))


def log_tail_of_cells(counts: NDArray[np.integer], p: Floats) -> Floats:
    """Return a bound on ln P(counts as far from p by the G statistic), at most 0, shape (rows,).

    G/2 = N·D(counts/N | p) is a sum of k-1 terms of binomial counts, each given those before.
    A term X has P(X >= x) <= 2·e^-x, so E e^(tX) <= 2^t/(1 - t).  By Markov at the best t,
    P(G/2 >= x) <= exp(-(y - f - f·ln(y/f))), with f = k - 1 and y = x - f·ln 2 > f.

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
    """Return an upper bound of a mean probability, too low with probability <= e^log_error < 1."""
    low, high = hits / draws, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        seen, expected = np.array([hits, draws - hits]), draws * np.array([middle, 1 - middle])
        below = -float(surprise(seen, expected).sum()) > log_error
        low, high = (middle, high) if below else (low, middle)
    return high
