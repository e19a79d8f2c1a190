"""Find the epsilon that reaches a target on a vocabulary.

Only the public vocabulary is used, or counts of a text's words if its owner asks; keys are public,
and results are repeatable.  Every epsilon errs on the private side: the value achieved, or its
upper confidence limit where it comes from draws, does not exceed the value wanted.
"""

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Context
from enum import StrEnum
from functools import cache
from typing import Any, Final

import numpy as np

from dpsan.errors import UsageError
from dpsan.mechanisms.mechanism import Mechanism, certify
from dpsan.mechanisms.registry import is_own, space_for
from dpsan.outcomes import distributions, intervals
from dpsan.privacy import randomness
from dpsan.privacy.certificate import MATRIX_WORDS
from dpsan.privacy.guarantee import Status
from dpsan.space.metric_space import Arrays, Floats, MetricSpace

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
            what = f"{self} must be > 0 and {'< 1' if share else 'finite'} (got {wanted:g})"
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
) -> tuple[float, float]:
    """Return an epsilon of six digits whose value is close to ``wanted`` and not above it.

    Args:
        value: rises with epsilon.  Raises UsageError outside its domain.
        wanted, tolerance: > 0, and relative.
        hint: what else decides, where the value is out of reach.
        step: in ln epsilon, before there is a bracket.  None: the value is about proportional to
            epsilon; steps double where it is not.

    Returns:
        Epsilon and its value.

    Raises:
        UsageError: out of reach.
    """
    low: tuple[float, float] | None = None  # epsilon and its value, <= wanted: the private side
    high: tuple[float, float] | None = None
    outside: list[float] = []
    starts = [*STARTS]
    error: UsageError | None = None
    x, factor, still, inside = math.log(start), 1.0, 0, 0
    for _ in range(_TURNS):
        epsilon = float(_DIGITS.create_decimal_from_float(math.exp(x) * _UP))
        x, stalled = math.log(epsilon), False
        try:
            y = value(epsilon)
        except UsageError as caught:
            error = error or caught
            outside.append(x)
            if low is None and high is None:
                if not starts:
                    raise error from None
                x = math.log(starts.pop(0))
                continue
        else:
            side = low if y <= wanted else high
            # The slope on logarithms: about 0 where the value is saturated, above or below.
            flat = side is not None and abs(y - side[1]) <= _FLAT * y * abs(x - math.log(side[0]))
            still = still + 1 if flat and y > _VISIBLE else 0
            stalled = still >= (1 if step is None else 2)
            low, high = ((epsilon, y), high) if y <= wanted else (low, (epsilon, y))
        if low is not None and low[1] >= wanted * (1 - tolerance):
            break
        if low is not None and high is not None:
            width = math.log(high[0] / low[0])
            if width < max(_RESOLUTION, tolerance / 20):
                break
            inside, share = inside + 1, 0.5
            if inside % 3 and low[1] > 0:  # the secant on logarithms, or the middle
                aim = wanted * (1 - tolerance / 2)
                share = math.log(aim / low[1]) / math.log(high[1] / low[1])
            x = math.log(low[0]) + width * min(max(share, 0.01), 0.99)
            continue
        best, reached = low or high or (epsilon, 0.0)
        sign, here = 1 if high is None else -1, math.log(best)
        edges = [abs(edge - here) for edge in outside if (edge - here) * sign > 0]
        room = min([*edges, _LIMIT - sign * here])
        if stalled or room < TOLERANCE:
            most = f"{'at most' if sign > 0 else 'at least'} {reached:.4g} on this vocabulary"
            raise UsageError(f"{what} is out of reach: {most}, at epsilon {best:.4g}", hint)
        finite = 0 < reached < math.inf  # a loss may be infinite
        move = step or max(abs(math.log(wanted / reached)) if finite else 1.4, tolerance)
        if step is None:
            move -= sign * tolerance / 2  # to the private side at once
        x = here + sign * (move * factor if move * factor < room else room / 2)
        factor *= 2 if step is None else 1
    if low is None:
        raise UsageError(f"no epsilon found for {what}")
    return low


# Certified loss of a mechanism as a function of epsilon, and the epsilon of a certified loss.

_TOLERANCE: Final = 2e-3
"""Relative tolerance of the search.  A certificate may take minutes, so few are computed."""
_NEAR: Final = 1e-4
"""Relative tolerance of the guess."""


def _certified(mechanism: Mechanism, space: MetricSpace, claims: bool) -> tuple[float, bool]:
    """Return an upper bound of the loss, and whether it comes from an exact certificate.

    Raises:
        UsageError: there is none.
    """
    guarantee, name = mechanism.guarantee(space), mechanism.name
    proved = guarantee.status is Status.PROVED and not is_own(name)
    # Beside a delta, the certificate's epsilon belongs to the claimed one: not one pair.
    certificate = certify(mechanism, space) if not guarantee.delta else None
    trusted = guarantee if proved or (claims and certificate is None) else None
    bounds = [
        statement.epsilon_ldp for statement in (certificate, trusted) if statement is not None
    ]
    if math.isinf(bound := min(bounds, default=math.inf)):
        reason = "" if proved else f" (status {guarantee.status})"
        raise UsageError(f"{name} has no certified LDP epsilon{reason}")
    return bound, certificate is not None


def _start(draft: Draft, space: MetricSpace, wanted: float) -> float:
    """Return an epsilon whose loss is about as wanted.

    A certificate compares every pair of a vocabulary.  Which pair is the worst hardly depends on
    epsilon: it is taken from one certificate, and then two rows of the distribution are enough.
    """
    if draft.kind.is_ldp():
        return wanted
    near = draft.at(wanted * per_nat(draft, space))
    certificate = certify(near, space) if space.n > MATRIX_WORDS else None
    if certificate is None or not 0 < certificate.epsilon_ldp < math.inf:
        return near.epsilon
    pair = np.array(certificate.pair, dtype=np.int64)

    def loss(epsilon: float) -> float:
        pmf = draft.at(epsilon).prepare(space).probabilities(pair)
        if pmf is None or not pmf.all():
            raise UsageError("no distribution")
        return float(np.abs(np.log(pmf[0] / pmf[1])).max())

    start = near.epsilon * wanted / certificate.epsilon_ldp
    try:
        return solve(loss, wanted * (1 - _TOLERANCE / 2), start, tolerance=_NEAR)[0]
    except UsageError:  # the pair is no guide: the certificates decide
        return start


def epsilon_for_loss(
    draft: Draft,
    space: MetricSpace,
    wanted: float,
    trying: Callable[[float], None],
    claims: bool = False,
) -> tuple[float, float, bool]:
    """Return epsilon, its certified loss, and whether the loss comes from an exact certificate.

    Stored with the space, so that it is found once per vocabulary.

    Args:
        claims: accept a guarantee that is not proved.

    Raises:
        UsageError: no such loss, or out of reach.
    """

    @cache
    def certified(epsilon: float) -> tuple[float, bool]:
        trying(epsilon)
        return _certified(draft.at(epsilon), space, claims)

    def build() -> Arrays:
        what, start = f"{Target.EPSILON_LDP} {wanted:g}", _start(draft, space, wanted)
        more: Any = {"what": what, "tolerance": _TOLERANCE}
        epsilon, _ = solve(lambda epsilon: certified(epsilon)[0], wanted, start, **more)
        return {"found": np.array([epsilon, *certified(epsilon)])}

    digest = draft.anywhere(space)[0].digest()
    name = f"calibrated-1-{Target.EPSILON_LDP}-{draft.kind.name}-{float(wanted)!r}-{digest}"
    epsilon, loss, exact = space.table(name, build, of_mechanism=True)["found"].tolist()
    return epsilon, loss, bool(exact)


# Shares of unchanged words: exact where probabilities are known, else from draws.

_ALPHA: Final = 0.01 / 6
"""Error probability of one end of an interval."""
_CELLS: Final = 3e8
"""Probabilities computed for one exact share; divided by n, the number of draws.  Some seconds."""
_DRAWS: Final = (2000, 30_000)
_FEW: Final = 1000
"""Words of the first search."""


class Outputs:
    """Shares of unchanged words of a mechanism.

    The words that are drawn are chosen at random by their public frequencies, so the number of hits
    is binomial, and Clopper-Pearson limits hold.  They and their random numbers are the same at
    every epsilon, so that the share rises with epsilon: a limit can mislead the search only if it
    is wrong where the share is as wanted.

    Args:
        mechanism: any one of the kind: shows whether probabilities are known.
        weights: of the words and, last, of unknown ones, which never stay (n + 1,).
    """

    def __init__(self, space: MetricSpace, mechanism: Mechanism, weights: Floats | None) -> None:
        sampler, n = mechanism.prepare(space), space.n
        known = sampler.unchanged(np.zeros(1, dtype=np.int64)) is not None
        self.exact = known and (not sampler.makes_rows or float(n) * n <= _CELLS)
        """True if means are computed from the probabilities of all words."""
        self.draws = int(min(max(_CELLS / n, _DRAWS[0]), _DRAWS[1]))
        key = randomness.seeded_key("dpsan calibrate words")
        uniform = randomness.streams_for(key, [0], [self.draws]).uniform("words")[:, 0]
        weights = np.append(space.frequencies, 0.0) if weights is None else weights / weights.sum()
        rows = np.searchsorted(np.cumsum(weights), uniform, side="right")
        self.space, self.weights = space, weights[:n]
        self.words = np.arange(n) if self.exact else np.minimum(rows, n)

    def share(self, mechanism: Mechanism, most: int | None = None) -> intervals.Estimate:
        """Return the mean share over running words; ``most``: of so many that are drawn."""
        sampler = mechanism.prepare(self.space)
        if self.exact and (shares := sampler.unchanged(self.words)) is not None:
            return intervals.Estimate.exactly(float(shares @ self.weights))
        ids, key = self.words[:most], randomness.seeded_key("dpsan calibrate draws")
        hits = int((distributions.draw(sampler, ids, key) == ids).sum())
        return intervals.Estimate.of_draws(hits, len(ids), _ALPHA)


def calibrate(
    draft: Draft,
    space: MetricSpace,
    target: Target,
    wanted: float,
    progress: Callable[[str], None] = lambda _: None,
    *,
    claims: bool = False,
    weights: Floats | None = None,
) -> Calibration:
    """Find the epsilon of a mechanism that reaches a target, on the private side.

    Args:
        weights: of :class:`Outputs`.
        claims: accept the LDP epsilon that a third party's mechanism claims, if no certificate says
            otherwise; never that of a published mechanism.

    Raises:
        UsageError: a value outside its domain, or out of reach.
    """

    def trying(epsilon: float) -> None:
        progress(f"{draft.kind.name}: epsilon {epsilon:g}")

    started = time.perf_counter()
    space = space_for(space, draft.kind.name)
    target.check(wanted)
    any_one, _ = draft.anywhere(space)  # parameters are checked before the slow part
    if target is Target.UNCHANGED:
        epsilon, share, exact = _for_share(draft, Outputs(space, any_one, weights), wanted, trying)
        achieved, interval = share.value, (share.low, share.high)
    else:
        claims = claims and is_own(draft.kind.name)
        epsilon, achieved, exact = epsilon_for_loss(draft, space, wanted, trying, claims)
        interval = (achieved, achieved)
    seconds = time.perf_counter() - started
    return Calibration(draft.at(epsilon), target, wanted, achieved, interval, exact, seconds)


def _for_share(
    draft: Draft, outputs: Outputs, wanted: float, trying: Callable[[float], None]
) -> tuple[float, intervals.Estimate, bool]:
    """Return epsilon, its share, and whether the share is exact."""
    # Shares rise from there.
    start, step, most = per_nat(draft, outputs.space), math.log(3), TOLERANCE
    more: Any = {"what": f"{Target.UNCHANGED} {wanted:g}"}
    more["hint"] = "k decides, too: -p k=2" * ("k" in draft.kind.parameters())
    if not outputs.exact:
        # The upper limit is 3 standard errors above the estimate.
        aim = max(wanted - 3 * math.sqrt(wanted * (1 - wanted) / outputs.draws), wanted / 2)
        most = max(TOLERANCE, 0.3 / math.sqrt(aim * outputs.draws))  # finer is noise
        rough = max(TOLERANCE, 0.3 / math.sqrt(aim * _FEW))
        few = cache(lambda epsilon: outputs.share(draft.at(epsilon), _FEW).value)
        start, step = solve(few, aim, start, step=step, tolerance=rough, **more)[0], rough
    share = cache(lambda epsilon: outputs.share(draft.at(epsilon)))

    def highest(epsilon: float) -> float:
        trying(epsilon)
        return share(epsilon).high

    epsilon, _ = solve(highest, wanted, start, step=step, tolerance=most, **more)
    return epsilon, share(epsilon), outputs.exact
