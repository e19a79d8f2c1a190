"""Targets and results of a calibration: plain data."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Context
from enum import StrEnum
from typing import Any, Final

from dpsan.errors import UsageError
from dpsan.mechanisms.base import Mechanism
from dpsan.space.metric_space import MetricSpace

STARTS: Final = (1.0, 0.3, 3.0, 0.1, 10.0, 0.03, 30.0, 0.01, 100.0, 300.0, 1e3)
"""Epsilons to start with: some mechanisms are defined for few values."""
TOLERANCE: Final = 1e-3
"""Relative distance from the wanted value that ends a search."""
_DIGITS: Final = Context(prec=6, rounding=ROUND_FLOOR)
_UP: Final = 1 + 1e-12
"""exp(log(8)) is below 8."""
_RESOLUTION: Final = 2e-5
"""Difference of ln epsilon below which six digits have no room."""
_LIMIT: Final = math.log(1e7)
_TURNS: Final = 100
_FLAT: Final = 0.01
_VISIBLE: Final = 0.02
"""Shares below this may be constant for lack of draws."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Draft:
    """A mechanism whose epsilon is still open.

    Args:
        public: row numbers of public words, ascending.
    """

    kind: type[Mechanism]
    values: Mapping[str, Any] = field(default_factory=dict)
    public: tuple[int, ...] = field(default=(), repr=False)

    def at(self, epsilon: float) -> Mechanism:
        """Return the mechanism at an epsilon.  Raises UsageError."""
        return self.kind.build(epsilon, dict(self.values)).with_public(self.public)

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
    EPSILON_LDP = "epsilon-ldp"
    """LDP epsilon, nats: by the exact certificate if there is one, else by the guarantee."""

    def check(self, wanted: float) -> None:
        """Raise UsageError for a value outside the domain."""
        share = self is Target.UNCHANGED
        if not 0 < wanted < (1 if share else math.inf):
            what = f"{self} must be > 0{' and < 1' * share} (got {wanted:g})"
            raise UsageError(what, "a share: .3 is 30 %" * share)


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


def solve(
    value: Callable[[float], float],
    wanted: float,
    start: float,
    *,
    what: str = "the value",
    hint: str = "",
    tolerance: float = TOLERANCE,
    step: float | None = None,
    progress: Callable[[float], None] | None = None,
) -> tuple[float, float]:
    """Return an epsilon of six digits whose value is close to ``wanted`` and not above it.

    Args:
        value: rises with epsilon.  Raises UsageError outside
            its domain.
        wanted: > 0.
        hint: what else decides, where the value is out of reach.
        tolerance: relative.
        step: in ln epsilon, before there is a bracket.  None: the value is about proportional to
            epsilon; steps double where it is not.

    Returns:
        Epsilon and its value.

    Raises:
        UsageError: out of reach.
    """
    low: Point | None = None  # (ln epsilon, value), value <= wanted: the private side
    high: Point | None = None
    outside: list[float] = []
    starts = [math.log(edge) for edge in STARTS]
    epsilons: dict[float, float] = {}
    error: UsageError | None = None
    x, factor = math.log(start), 1.0
    still, inside = 0, 0
    for _ in range(_TURNS):
        epsilon = float(_DIGITS.create_decimal_from_float(math.exp(x) * _UP))
        x, stalled = math.log(epsilon), False
        if progress:
            progress(epsilon)
        try:
            y = value(epsilon)
        except UsageError as caught:
            error = error or caught
            outside.append(x)
            if low is None and high is None:
                if not starts:
                    raise error from None
                x = starts.pop(0)
                continue
        else:
            epsilons[x] = epsilon
            side = low if y <= wanted else high
            # The slope on logarithms: about 0 where the value is saturated, above or below.
            flat = side is not None and abs(y - side[1]) <= _FLAT * y * abs(x - side[0])
            still = still + 1 if flat and y > _VISIBLE else 0
            stalled = still >= (1 if step is None else 2)
            low, high = ((x, y), high) if y <= wanted else (low, (x, y))
        if low is not None and low[1] >= wanted * (1 - tolerance):
            break
        if low is not None and high is not None:
            if high[0] - low[0] < max(_RESOLUTION, tolerance / 20):
                break
            inside += 1
            x = _between(low, high, wanted * (1 - tolerance / 2), inside)
            continue
        here, reached = low or high or (x, 0.0)
        sign = 1 if high is None else -1
        edges = [abs(edge - here) for edge in outside if (edge - here) * sign > 0]
        room = min([*edges, _LIMIT - sign * here])
        if stalled or room < TOLERANCE:
            end = "at most" if sign > 0 else "at least"
            what += f" is out of reach: {end} {reached:.4g} on this vocabulary"
            raise UsageError(f"{what}, at epsilon {epsilons[here]:.4g}", hint)
        # A loss may be infinite.
        finite = 0 < reached < math.inf
        move = step or max(abs(math.log(wanted / reached)) if finite else 1.4, tolerance)
        if step is None:
            move -= sign * tolerance / 2  # to the private side at once
        x = here + sign * (move * factor if move * factor < room else room / 2)
        factor *= 2 if step is None else 1
    if low is None:
        raise UsageError(f"no epsilon found for {what}")
    return epsilons[low[0]], low[1]


def _between(low: Point, high: Point, aim: float, turn: int) -> float:
    """Return the secant step on logarithms, or the middle every third time."""
    share = 0.5
    if turn % 3 and low[1] > 0:
        share = math.log(aim / low[1]) / math.log(high[1] / low[1])
    return low[0] + (high[0] - low[0]) * min(max(share, 0.01), 0.99)
