"""Confidence intervals of shares, and bounds on tail probabilities.

A tail bound holds for every number of draws.  Let D be the relative entropy.  N draws of an event
of probability p have a share of at least a > p with probability at most exp(-N·D(a|p)) (Chernoff),
and likewise below p.  The bound also holds for N independent events with mean probability p
[Hoeffding 1956].  No bound is asymptotic: a p-value that is printed is never too small, however
few draws a cell expects.
"""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dpsan.space.arrays import Array, Floats, Ids, Mask

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
    def exactly(cls, value: float) -> "Estimate":
        """Return an exact value."""
        return cls(value, value, value)

    @classmethod
    def of_draws(cls, hits: int, draws: int, tail: float) -> "Estimate":
        """Estimate a probability; each limit is wrong with probability ``tail``."""
        return cls(hits / draws, *clopper_pearson(hits, draws, tail))


@dataclass(frozen=True, slots=True)
class Share:
    """``hits`` of ``total``."""

    hits: int
    total: int

    @classmethod
    def of(cls, hits: Mask) -> "Share":
        """Return the share of those that are true."""
        return cls(int(hits.sum()), len(hits))

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


def surprise(observed: Floats, expected: Floats) -> Floats:
    """Return seen·ln(seen/expected): 0 where seen is 0, inf where expected is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        out = observed * np.log(observed / expected)
    return np.asarray(np.where(observed > 0, out, 0.0), dtype=np.float64)


def log_tail_of_share(hits: Floats, draws: int, p: Floats) -> Floats:
    """Return bounds on ln P(a share as far from p as hits/draws, on either side), at most 0, (k,).

    Args:
        hits: number of draws that had each event, (k,).
        p: probability of each event, or its mean over the draws, (k,).
    """
    hits, p = np.asarray(hits, dtype=np.float64), np.clip(p, 0, 1)
    statistic = surprise(hits, draws * p) + surprise(draws - hits, draws * (1 - p))
    return np.minimum(0.0, math.log(2) - (statistic - draws * ROUNDING))


def log_tail_of_cells(counts: Array, p: Floats) -> Floats:
    """Return a bound on ln P(counts as far from p by the G statistic), at most 0, shape (rows,).

    G/2 = N·D(counts/N | p) is a sum of k-1 terms of binomial counts, each given those before.
    A term X has P(X >= x) <= 2·e^-x, so E e^(tX) <= 2^t/(1 - t).  By Markov at the best t,
    P(G/2 >= x) <= exp(-(y - f - f·ln(y/f))), with f = k - 1 and y = x - f·ln 2 > f.

    Args:
        counts: shape (rows, k).
        p: probabilities of the cells, shape (rows, k); rows sum to 1, cells may be 0.
    """
    draws = counts.sum(axis=1, keepdims=True)
    statistic = surprise(counts.astype(np.float64), draws * p).sum(axis=1)
    free = np.maximum((p > 0).sum(axis=1) - 1, 1)
    left = statistic - draws[:, 0] * ROUNDING - free * math.log(2)
    over = np.maximum(left, free)  # at most free: the bound says nothing
    with np.errstate(invalid="ignore"):
        out = -(over - free - free * np.log(over / free))
    return np.asarray(np.where(np.isinf(left), -np.inf, out))


# E-processes: sequential tests that combine many weak deviations into one p-value.
#
# An e-process multiplies a factor exp(t·f(x) - ln E exp(t·f)) for every draw x, with a statistic f
# and a tilt t.  The factor has mean 1 if x has the stated distribution, whatever was drawn before.
# So the product of a whole run exceeds 1/error with probability at most that error (Markov), and so
# does the mean of many such products.  The bound is Chernoff's at the best tilt, but for the factor
# that the other tilts cost.  It holds for any number of draws of any inputs, and earlier draws may
# decide which input is drawn next.
#
# There are two statistics.  The first is the logarithm of the probability of the output.  A program
# that draws from the same scores at another epsilon draws from p^(1+t).  One with other masses
# inside and outside of near sets moves mass between two levels of p.  There the factors are the
# likelihood ratios.  The second is whether the output equals the input.

_LEVELS: Final = 256
"""Levels to which the logarithm of a probability is rounded.  The mean is that of the rounded
value, so that rounding costs power alone."""
_DEPTH: Final = 40.0
"""Nats below the likeliest output under which all count as equal."""
_ROWS: Final = 32
"""Inputs at once: a few megabytes."""
_SIZES: Final = 2.0 ** np.arange(-9, 3.25, 0.5)
_TILTS: Final[Floats] = np.concatenate([_SIZES, -_SIZES])


class EProcess:
    """Mean of the products of all tilts of both statistics, over all draws so far."""

    def __init__(self) -> None:
        self._log = np.zeros((2, len(_TILTS)))

    def add(
        self, stated: Floats, inputs: Ids, drawn: Ids, signs: Ids | None = None
    ) -> tuple[Floats, Ids]:
        """Multiply the factors of more draws into the products.

        These draws must not have decided which inputs are drawn, nor the signs.

        Args:
            stated: the stated distributions, (m, n).
            inputs: (m,); ⊥ and other rows from n on are no output.
            drawn: outputs of each input, (m, k), all of positive probability.
            signs: 1 or -1 for each input, (m,).  The tilt of an input is multiplied by its sign.
                Default 1.

        Returns:
            Logarithm of the product at the best tilt of the first statistic for each input alone,
            in nats, (m,), and the sign of that tilt.
        """
        m, n = stated.shape
        draws = drawn.shape[1]
        with np.errstate(divide="ignore"):
            logs = np.log(stated)
        top = logs.max(axis=1, keepdims=True)
        logs = np.maximum(logs - top, -_DEPTH)
        low = logs.min(axis=1, keepdims=True)
        step = np.maximum(-low, 1e-300) / (_LEVELS - 1)
        level = np.rint((logs - low) / step).astype(np.int64)
        cell = level + _LEVELS * np.arange(m)[:, None]
        weights = np.bincount(cell.ravel(), stated.ravel(), m * _LEVELS).reshape(m, _LEVELS)
        mass: Floats = weights / weights.sum(axis=1, keepdims=True)
        values = low + step * np.arange(_LEVELS)
        total = np.take_along_axis(values, np.take_along_axis(level, drawn, 1), 1).sum(axis=1)
        tilts = np.multiply.outer(np.ones(m) if signs is None else signs, _TILTS)
        gains = tilts * total[:, None]
        for at in range(0, m, _ROWS):
            here = slice(at, at + _ROWS)  # at most e^(8·40): no overflow
            factors = np.exp(tilts[here, :, None] * values[here, None, :])
            gains[here] -= draws * np.log((factors * mass[here, None, :]).sum(axis=2))
        gains -= draws * ROUNDING
        best = np.argmax(gains, axis=1)
        # An input that is no output cannot be copied: its factor is 1.
        word = np.minimum(inputs, n - 1)
        rows = np.arange(m)
        unchanged = np.where(inputs < n, stated[rows, word], 0.0)[:, None]
        hits = (drawn == inputs[:, None]).sum(axis=1)[:, None]
        copied = tilts * hits - draws * (np.log1p(unchanged * np.expm1(tilts)) + ROUNDING)
        self._log += np.stack([gains.sum(axis=0), copied.sum(axis=0)])
        return gains[rows, best], np.sign(tilts[rows, best]).astype(np.int64)

    def log_tail(self) -> float:
        """Return a bound on ln P(products that have grown so much), at most 0."""
        most = float(self._log.max())
        mean = most + math.log(float(np.exp(self._log - most).mean()))
        return min(0.0, -mean)
