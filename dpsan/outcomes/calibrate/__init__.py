"""Find the epsilon that reaches a target on a vocabulary.

Only the public vocabulary is used, with public keys: nothing here is private or needs to be, and
results are repeatable.  Every epsilon errs on the private side: the value achieved, or its upper
confidence limit where it comes from draws, does not exceed the value wanted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from dpsan.errors import UsageError
from dpsan.mechanisms.base import Mechanism, certify
from dpsan.mechanisms.registry import is_own, space_for
from dpsan.outcomes.calibrate.target import TOLERANCE, Calibration, Draft, Target, per_nat, solve
from dpsan.outcomes.distributions import draw, silent, words_at
from dpsan.outcomes.intervals import clopper_pearson
from dpsan.privacy import randomness
from dpsan.privacy.certificate import MATRIX_WORDS
from dpsan.privacy.guarantee import Status
from dpsan.space.arrays import Ids
from dpsan.space.metric_space import Arrays, MetricSpace

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
    progress: Callable[[float], None] | None = None,
    *,
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
        return _certified(draft.at(epsilon), space, claims)

    def build() -> Arrays:
        what, start = f"{Target.EPSILON_LDP} {wanted:g}", _start(draft, space, wanted)
        more: Any = {"what": what, "tolerance": _TOLERANCE, "progress": progress}
        epsilon, _ = solve(lambda epsilon: certified(epsilon)[0], wanted, start, **more)
        return {"found": np.array([epsilon, *certified(epsilon)])}

    digest = draft.anywhere(space)[0].digest()
    name = f"calibrated-1-{Target.EPSILON_LDP}-{draft.kind.name}-{float(wanted)!r}-{digest}"
    epsilon, loss, exact = space.table(name, build, of_mechanism=True)["found"].tolist()
    return epsilon, loss, bool(exact)


# Shares of unchanged words: exact where probabilities are known, else from draws.

ATTEMPTS: Final = 3
"""Intervals per calibration; together they err with probability 0.01."""
_ALPHA: Final = 0.01 / 2 / ATTEMPTS
_CELLS: Final = 3e8
"""Probabilities computed for one exact share; divided by n, the number of draws.  Some seconds."""
_DRAWS: Final = (2000, 30_000)
_FEW: Final = 1000


class Outputs:
    """Shares of unchanged words of a mechanism.

    Args:
        mechanism: any one of the kind: shows whether probabilities are known.
    """

    def __init__(self, space: MetricSpace, mechanism: Mechanism) -> None:
        self.space, n = space, space.n
        self.draws = int(min(max(_CELLS / n, _DRAWS[0]), _DRAWS[1]))
        sampler = mechanism.prepare(space)
        exact = sampler.unchanged(np.zeros(1, dtype=np.int64)) is not None
        self.exact = exact and (not sampler.makes_rows or float(n) * n <= _CELLS)
        """True if means are computed from the probabilities of all words."""
        self.some = self.words(_FEW)
        """Words of the first search."""
        self.many = np.arange(n) if self.exact else self.some
        """Words of the last search.  Where words are drawn, the confirming draws correct it."""

    def words(self, count: int) -> Ids:
        """Return ``count`` running words: those at even quantiles of the public frequencies."""
        return words_at(self.space, (np.arange(count) + 0.5) / count)

    def draw(self, mechanism: Mechanism, ids: Ids, name: str) -> Ids:
        """Draw one output for each word, in a record of its own, under the public key of a name."""
        key = randomness.seeded_key(f"dpsan calibrate {name}")
        return draw(mechanism.prepare(self.space), ids, key)

    def share(self, mechanism: Mechanism, ids: Ids) -> float:
        """Return the mean share over running words, from their probabilities if known.

        Otherwise from one draw for each word, with the same random numbers for any mechanism.
        """
        shares = mechanism.prepare(self.space).unchanged(ids)
        if shares is None:
            return float((self.draw(mechanism, ids, "search") == ids).mean())
        weights = self.space.frequencies if self.exact and ids is self.many else None
        return float(np.average(shares, weights=weights))

    def confirm(self, mechanism: Mechanism, attempt: int) -> tuple[float, float, float]:
        """Estimate the mean share over running words from fresh draws, with its limits.

        The words are chosen at random by their public frequencies, so the number of hits is
        binomial, and Clopper-Pearson limits hold.
        """
        key = randomness.seeded_key(f"dpsan calibrate words {attempt}")
        uniform = randomness.streams_for(key, [0], [self.draws]).uniform("words")[:, 0]
        ids = words_at(self.space, uniform)
        hits = int((self.draw(mechanism, ids, f"final {attempt}") == ids).sum())
        return hits / len(ids), *clopper_pearson(hits, len(ids), _ALPHA)


Progress = Callable[[str], None]
"""Called with the mechanism and the epsilon that is tried next."""


def calibrate(
    draft: Draft,
    space: MetricSpace,
    target: Target,
    wanted: float,
    progress: Progress = silent,
    *,
    claims: bool = False,
) -> Calibration:
    """Find the epsilon of a mechanism that reaches a target, on the private side.

    Args:
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
    draft.anywhere(space)  # parameters are checked before the slow part
    if target is Target.UNCHANGED:
        epsilon, achieved, interval, exact = _for_share(draft, space, wanted, trying)
    else:
        claims = claims and is_own(draft.kind.name)
        solved = epsilon_for_loss(draft, space, wanted, progress=trying, claims=claims)
        epsilon, achieved, exact = solved
        interval = (achieved, achieved)
    seconds = time.perf_counter() - started
    return Calibration(draft.at(epsilon), target, wanted, achieved, interval, exact, seconds)


def _for_share(
    draft: Draft, space: MetricSpace, wanted: float, trying: Callable[[float], None]
) -> tuple[float, float, tuple[float, float], bool]:
    """Return epsilon, its share, the interval of the share, and whether the share is exact."""
    outputs, what = Outputs(space, draft.anywhere(space)[0]), f"{Target.UNCHANGED} {wanted:g}"
    hint = "k decides, too: -p k=2" * ("k" in draft.kind.parameters())

    def search(ids: Ids, aim: float, start: float, step: float | None) -> tuple[float, float]:
        def share(epsilon: float) -> float:
            return outputs.share(draft.at(epsilon), ids)

        # Finer than a third of the standard error is noise.
        noise = 0.0 if ids is outputs.many and outputs.exact else 0.3 / math.sqrt(aim * len(ids))
        most = max(TOLERANCE, noise)
        more: Any = {"what": what, "hint": hint, "tolerance": most, "step": step}
        return solve(share, aim, start, progress=trying, **more)

    epsilon = per_nat(draft, space)  # shares rise from there
    step: float | None = math.log(3)
    error = math.sqrt(wanted * (1 - wanted) / outputs.draws)
    # The upper limit is 3 standard errors above the estimate; estimate and search both err.
    margin, ratio = 0.0 if outputs.exact else 4 * error, 1.0
    best: tuple[float, float, tuple[float, float], bool] | None = None
    for attempt in range(ATTEMPTS):
        aim = min(max(wanted - margin, wanted / 2 ** (attempt + 1)) * ratio, (1 + wanted) / 2)
        if step is not None and len(outputs.some) < len(outputs.many):
            epsilon, step = search(outputs.some, aim, epsilon, step)[0], None
        epsilon, searched = search(outputs.many, aim, epsilon, step)
        if outputs.exact:
            return epsilon, searched, (searched, searched), True
        share, low, high = outputs.confirm(draft.at(epsilon), attempt)
        ratio = searched / share if share else ratio  # of the words of the search, to all
        if high <= wanted and (best is None or share > best[1]):
            best = epsilon, share, (low, high), False
        if best is not None and wanted - best[2][1] <= error:
            break  # draws tell no more
        margin, step = margin + (high - wanted + error if high > wanted else 0.0), None
    if best is not None:
        return best
    raise UsageError(f"{what} is too small for {outputs.draws} draws to confirm")
