"""Shares with their confidence intervals.

Knows counts.  Must not know what is counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from dpsan.analysis.verify.lower_bounds import clopper_pearson

__all__ = ["CONFIDENCE", "Share"]

CONFIDENCE: Final = 0.95


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
