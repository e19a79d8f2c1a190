"""Figures with their confidence intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

CONFIDENCE: Final = 0.95


def clopper_pearson(hits: int, draws: int, alpha: float) -> tuple[float, float]:
    """One-sided lower and upper bounds of a probability, each at level 1 - alpha.

    Args:
        alpha: error probability of each bound.
    """
    from scipy.special import betaincinv  # heavy import

    low = float(betaincinv(hits, draws - hits + 1, alpha)) if hits else 0.0
    high = float(betaincinv(hits + 1, draws - hits, 1 - alpha)) if hits < draws else 1.0
    return low, high


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and the limits of its confidence interval, both the figure itself if it is exact."""

    value: float
    low: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Estimate:
        """A figure that was computed."""
        return cls(value, value, value)

    @classmethod
    def of_draws(cls, hits: int, draws: int, tail: float) -> Estimate:
        """A probability from independent draws; each limit is wrong with probability ``tail``."""
        return cls(hits / draws, *clopper_pearson(hits, draws, tail))


def median(values: NDArray[np.int64]) -> Estimate:
    """The median of a sample (m,), m >= 1, with the interval at :data:`CONFIDENCE` between two of
    its own values: whatever the distribution is, their places are binomial.
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
        """The share; None of nothing."""
        return self.hits / self.total if self.total else None

    @property
    def interval(self) -> tuple[float, float]:
        """Clopper-Pearson interval at :data:`CONFIDENCE`, as if all were independent."""
        return clopper_pearson(self.hits, self.total, (1 - CONFIDENCE) / 2)

    def as_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "share": self.value,
            "interval": list(self.interval) if self.total else None,
            "hits": self.hits,
            "of": self.total,
        }
