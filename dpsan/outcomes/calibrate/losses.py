"""Certified loss of a mechanism as a function of epsilon, and the epsilon of a certified loss."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from dpsan.errors import UsageError
from dpsan.mechanisms import is_own
from dpsan.mechanisms.base import Mechanism, certify
from dpsan.outcomes.calibrate.target import Draft, Target, per_nat, solve
from dpsan.outcomes.distributions import distributions
from dpsan.privacy.certificate import MATRIX_WORDS
from dpsan.privacy.guarantee import Status
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import Arrays, MetricSpace

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
_CELLS: Final = 1 << 22
"""Probabilities that are held at once."""


def _word_losses(mechanism: Mechanism, space: MetricSpace, ids: Ids) -> Floats:
    """Return ln P(w|w) - ln P(w|v) for words w (rows) and words v, then ⊥ (columns).

    Raises:
        UsageError: the output distribution is not known.
    """
    sampler = mechanism.prepare(space)
    inputs = np.append(ids, space.n)
    columns = []
    for part in np.array_split(inputs, math.ceil(len(inputs) * space.n / _CELLS)):
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

    def __init__(self, draft: Draft, space: MetricSpace, target: Target, claims: bool) -> None:
        self.draft, self.space, self.target, self.claims = draft, space, target, claims
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
        ldp = self.target is Target.EPSILON_LDP
        claimed = self.claims and certificate is None
        trusted = guarantee if proved or claimed else None
        known = [each for each in (certificate, trusted) if each is not None]
        bounds = [each.epsilon_ldp if ldp else each.epsilon_metric for each in known]
        found = min((each for each in bounds if each is not None), default=math.inf)
        if math.isinf(found):
            which = "LDP" if ldp else "metric"
            reason = "" if proved else f" (status {guarantee.status})"
            raise UsageError(f"{self.draft.kind.name} has no certified {which} epsilon{reason}")
        return found

    def guess(self, wanted: float) -> float:
        """Return an epsilon whose loss is about as wanted, without a certificate."""
        if self.draft.kind.is_ldp() or self.target is Target.EPSILON_METRIC:
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
    target: Target,
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
    losses = _Losses(draft, space, target, claims)

    def build() -> Arrays:
        start = (guess() if guess else None) or losses.guess(wanted)
        what = f"{target} {wanted:g}"
        epsilon, loss = solve(
            losses, wanted, start, what=what, tolerance=_TOLERANCE, progress=progress
        )
        return {"found": np.array([epsilon, loss, float(losses.certified)])}

    digest = draft.anywhere(space)[0].digest()
    name = f"calibrated-1-{target}-{draft.kind.name}-{float(wanted)!r}-{digest}"
    epsilon, loss, certified = space.table(name, build, of_mechanism=True)["found"].tolist()
    return epsilon, loss, bool(certified)
