"""Find the epsilon that reaches a target on a vocabulary.

Only the public vocabulary is used, with public keys: nothing here is private or needs to be, and
results are repeatable.  Every epsilon errs on the private side: the value achieved, or its upper
confidence limit where it comes from draws, does not exceed the value wanted.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Final

import numpy as np

from dpsan.errors import UsageError
from dpsan.mechanisms.base import Mechanism, certify
from dpsan.mechanisms.registry import is_own, space_for
from dpsan.outcomes.calibrate.target import TOLERANCE, Calibration, Draft, Target, per_nat, solve
from dpsan.outcomes.distributions import (
    distributions,
    draw,
    silent,
    words_at,
)
from dpsan.outcomes.intervals import clopper_pearson
from dpsan.privacy import randomness
from dpsan.privacy.certificate import MATRIX_WORDS
from dpsan.privacy.guarantee import Status
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import Arrays, MetricSpace

# Certified loss of a mechanism as a function of epsilon, and the epsilon of a certified loss.

_TOLERANCE: Final = 2e-3
"""Relative tolerance of the search.  A certificate may take minutes, so few are computed."""
_NEAR: Final = 1e-4
"""Relative tolerance of the guess."""
_FIRST: Final = 256
"""Words of the first round, spread over the vocabulary."""
_KEPT: Final = 24
"""Words of the largest losses, which are kept and whose neighbours are tried next."""
_NEAREST: Final = 16
_ROUNDS: Final = 8
_CELLS_AT_ONCE: Final = 1 << 22
"""Probabilities that are held at once."""


def _word_losses(mechanism: Mechanism, space: MetricSpace, ids: Ids) -> Floats:
    """Return ln P(w|w) - ln P(w|v) for words w (rows) and words v, then ⊥ (columns).

    Raises:
        UsageError: the output distribution is not known.
    """
    sampler = mechanism.prepare(space)
    inputs = np.append(ids, space.n)
    columns = []
    for part in np.array_split(inputs, math.ceil(len(inputs) * space.n / _CELLS_AT_ONCE)):
        pmf = sampler.probabilities(part)
        if pmf is None:
            raise UsageError("the output distribution is not known")
        columns.append(pmf[:, ids])
    with np.errstate(divide="ignore"):
        logs = np.log(np.concatenate(columns))
    # The output of the largest loss is the word itself, where likelihood falls with distance.
    return np.asarray(np.diag(logs)[:, None] - logs.T)


def _extreme_words(mechanism: Mechanism, space: MetricSpace) -> Arrays:
    """Return a few words with about the largest loss: climb to neighbours while the loss grows.

    A certificate compares every pair of a vocabulary, which takes minutes.  Which words are extreme
    hardly depends on epsilon: they are found once and stored, and their loss takes a moment.  It is
    a lower bound of the certified loss, close enough to start a search.

    Raises:
        UsageError: the output distribution is not known.
    """
    ids = np.unique(np.linspace(0, space.n - 1, _FIRST).astype(np.int64))
    best = -math.inf
    for _ in range(_ROUNDS):
        losses = _word_losses(mechanism, space, ids)
        words = losses[:, :-1]
        order = np.argsort(-words, axis=None)
        pairs = np.unravel_index(order[: 8 * _KEPT], words.shape)
        chosen = [list(dict.fromkeys(each.tolist()))[:_KEPT] for each in pairs]
        top = ids[np.unique(np.concatenate(chosen))]
        found = float(losses.max())
        if found <= best * (1 + 1e-4):
            break
        best = found
        pmf = distributions(mechanism.prepare(space), top)
        edge = min(_NEAREST, space.n // 2)
        order = np.argpartition(pmf, (edge, space.n - edge - 1), axis=1)
        # The likeliest outputs, which are near, and the least likely, which are far.
        ids = np.unique(np.concatenate([top, order[:, -edge:].ravel(), order[:, :edge].ravel()]))
    return {"ids": top}


class _Losses:
    """Certified loss of a mechanism as a function of epsilon."""

    def __init__(self, draft: Draft, space: MetricSpace, claims: bool) -> None:
        self.draft, self.space, self.claims = draft, space, claims
        self.certified = False

    def __call__(self, epsilon: float) -> float:
        """Return an upper bound of the loss.  Raises UsageError where there is none."""
        mechanism = self.draft.at(epsilon)
        guarantee = mechanism.guarantee(self.space)
        proved = guarantee.status is Status.PROVED and not is_own(self.draft.kind.name)
        certificate = certify(mechanism, self.space)
        if certificate is not None and guarantee.delta:
            # Its epsilon belongs to the claimed delta, the guarantee's to its own: not one pair.
            certificate = None
        self.certified = certificate is not None
        claimed = self.claims and certificate is None
        trusted = guarantee if proved or claimed else None
        bounds = [each.epsilon_ldp for each in (certificate, trusted) if each is not None]
        bound = min(bounds, default=math.inf)
        if math.isinf(bound):
            reason = "" if proved else f" (status {guarantee.status})"
            raise UsageError(f"{self.draft.kind.name} has no certified LDP epsilon{reason}")
        return bound

    def guess(self, wanted: float) -> float:
        """Return an epsilon whose loss is about as wanted, without a certificate."""
        if self.draft.kind.is_ldp():
            return wanted
        start = wanted * per_nat(self.draft, self.space)
        if self.space.n <= MATRIX_WORDS:  # certificates take no time
            return start
        draft, space = self.draft, self.space
        name = f"extremes-1-{draft.kind.name}-{draft.anywhere(space)[0].digest()}"
        try:
            held = space.table(
                name, lambda: _extreme_words(draft.at(start), space), of_mechanism=True
            )
            ids = held["ids"]
            aim = wanted * (1 - _TOLERANCE / 2)

            def lower_bound(epsilon: float) -> float:
                return float(_word_losses(draft.at(epsilon), space, ids).max())

            return solve(lower_bound, aim, start, tolerance=_NEAR)[0]
        except UsageError:  # no distribution, or out of reach: the certificates decide
            return start


def epsilon_for_loss(
    draft: Draft,
    space: MetricSpace,
    wanted: float,
    guess: Callable[[], float | None] | None = None,
    progress: Callable[[float], None] | None = None,
    *,
    claims: bool = False,
) -> tuple[float, float, bool]:
    """Return epsilon, its certified loss, and whether the loss comes from an exact certificate.

    Stored with the space, so that it is found once per vocabulary.

    Args:
        guess: returns the start of the search, None for the default; called if nothing is stored.
        claims: accept a guarantee that is not proved.

    Raises:
        UsageError: no such loss, or out of reach.
    """
    losses = _Losses(draft, space, claims)

    def build() -> Arrays:
        start = (guess() if guess else None) or losses.guess(wanted)
        what = f"{Target.EPSILON_LDP} {wanted:g}"
        epsilon, loss = solve(
            losses, wanted, start, what=what, tolerance=_TOLERANCE, progress=progress
        )
        return {"found": np.array([epsilon, loss, float(losses.certified)])}

    digest = draft.anywhere(space)[0].digest()
    name = f"calibrated-1-{Target.EPSILON_LDP}-{draft.kind.name}-{float(wanted)!r}-{digest}"
    epsilon, loss, certified = space.table(name, build, of_mechanism=True)["found"].tolist()
    return epsilon, loss, bool(certified)


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
        known = sampler.unchanged(np.zeros(1, dtype=np.int64)) is not None
        self.exact = known and (not sampler.makes_rows or float(n) * n <= _CELLS)
        """True if means are computed from the probabilities of all words."""
        self.some = self.words(_FEW)
        """Words of the first search."""
        self.many = np.arange(n) if self.exact else self.words(self.draws)
        """Words of the last search."""

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
        found = epsilon_for_loss(draft, space, wanted, progress=trying, claims=claims)
        epsilon, achieved, exact = found
        interval = (achieved, achieved)
    seconds = time.perf_counter() - started
    return Calibration(draft.at(epsilon), target, wanted, achieved, interval, exact, seconds)


def _for_share(
    draft: Draft, space: MetricSpace, wanted: float, trying: Callable[[float], None]
) -> tuple[float, float, tuple[float, float], bool]:
    """Return epsilon, its share, the interval of the share, and whether the share is exact."""
    outputs, what = Outputs(space, draft.anywhere(space)[0]), f"{Target.UNCHANGED} {wanted:g}"

    def search(ids: Ids, aim: float, start: float, step: float | None) -> tuple[float, float]:
        def share(epsilon: float) -> float:
            return outputs.share(draft.at(epsilon), ids)

        # Finer than a third of the standard error is noise.
        noise = 0.0 if ids is outputs.many and outputs.exact else 0.3 / math.sqrt(aim * len(ids))
        most = max(TOLERANCE, noise)
        return solve(share, aim, start, what=what, tolerance=most, step=step, progress=trying)

    epsilon = per_nat(draft, space)  # shares rise from there
    step: float | None = math.log(3)
    error = math.sqrt(wanted * (1 - wanted) / len(outputs.many))
    # The upper limit is 3 standard errors above the estimate; estimate and search both err.
    margin = 0.0 if outputs.exact else 5 * error
    best: tuple[float, float, tuple[float, float], bool] | None = None
    for attempt in range(ATTEMPTS):
        aim = max(wanted - margin, wanted / 2 ** (attempt + 1))
        if step is not None and len(outputs.some) < len(outputs.many):
            epsilon, step = search(outputs.some, aim, epsilon, step)[0], None
        epsilon, share = search(outputs.many, aim, epsilon, step)
        if outputs.exact:
            return epsilon, share, (share, share), True
        share, low, high = outputs.confirm(draft.at(epsilon), attempt)
        if high <= wanted and (best is None or share > best[1]):
            best = epsilon, share, (low, high), False
        if best is not None and wanted - best[2][1] <= error:
            break  # draws tell no more
        above = 2 * (high - wanted) + error
        margin, step = margin + (above if high > wanted else high - wanted + error / 2), None
    if best is not None:
        return best
    raise UsageError(f"{what} is too small for {outputs.draws} draws to confirm")
