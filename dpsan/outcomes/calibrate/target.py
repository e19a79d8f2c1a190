"""Targets and results of a calibration: plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final

from dpsan.embeddings.word_lists import WordLists
from dpsan.errors import UsageError
from dpsan.mechanisms.base import Mechanism
from dpsan.space.metric_space import MetricSpace

STARTS: Final = (1.0, 0.3, 3.0, 0.1, 10.0, 0.03, 30.0, 0.01, 100.0, 300.0, 1e3)
"""Epsilons to start with: some mechanisms are defined for few values."""


@dataclass(frozen=True)
class Draft:
    """A mechanism whose epsilon is still open.

    Args:
        key_to_index: the vocabulary, for parameters that name words.
        public: row numbers of public words, ascending.
    """

    kind: type[Mechanism]
    values: Mapping[str, Any] = field(default_factory=dict)
    key_to_index: Mapping[str, int] = field(default_factory=dict, repr=False)
    public: tuple[int, ...] = field(default=(), repr=False)

    def at(self, epsilon: float) -> Mechanism:
        """Return the mechanism at an epsilon.  Raises UsageError."""
        mechanism = self.kind.build(epsilon, dict(self.values))
        mechanism = mechanism.with_vocabulary(WordLists(lambda: self.key_to_index))
        return mechanism.with_public(self.public)

    def anywhere(self, space: MetricSpace) -> tuple[Mechanism, float]:
        """Return the mechanism at the first valid one of :data:`STARTS`, and its LDP epsilon.

        Raises:
            UsageError: wrong parameters.
        """
        error: UsageError | None = None
        for epsilon in STARTS:
            try:
                mechanism = self.at(epsilon)
                return mechanism, mechanism.guarantee(space).epsilon_ldp
            except UsageError as caught:
                error = error or caught
        raise error or AssertionError


class Target(StrEnum):
    """Quantity for which an epsilon can be found."""

    UNCHANGED = "unchanged"
    """Mean over the words of the vocabulary of P(w -> w)."""
    CLOSE = "close"
    """Mean share of outputs of rank 1 ... 100 from the true word."""
    EPSILON_LDP = "epsilon-ldp"
    """LDP epsilon, nats: by the exact certificate if there is one, else by the guarantee."""
    EPSILON_METRIC = "epsilon-metric"
    """Epsilon per unit of Euclidean distance, likewise."""

    def check(self, wanted: float) -> None:
        """Raise UsageError for a value outside the domain."""
        share = self in (Target.UNCHANGED, Target.CLOSE)
        if not 0 < wanted < (1 if share else math.inf):
            raise UsageError(f"{self} must be > 0{' and < 1' if share else ''} (got {wanted:g})")


@dataclass(frozen=True)
class Calibration:
    """Result of a calibration."""

    mechanism: Mechanism
    """With the epsilon found."""
    target: Target
    wanted: float
    """Value of the target."""
    achieved: float
    interval: tuple[float, float]
    """99 % confidence; both ends are ``achieved`` where nothing was drawn."""
    exact: bool
    """True if ``achieved`` is computed from the distributions, over the whole vocabulary."""
    seconds: float


def per_nat(draft: Draft, space: MetricSpace) -> float:
    """Return epsilon per nat of LDP loss, roughly; at that epsilon outputs are nearly uniform."""
    mechanism, loss = draft.anywhere(space)
    return mechanism.epsilon / loss if 0 < loss < math.inf else 1.0
