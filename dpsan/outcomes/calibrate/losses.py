"""The certified loss of a mechanism as a function of epsilon, and its inverse."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

import numpy as np

from dpsan.embeddings.base import Embeddings
from dpsan.errors import UsageError
from dpsan.mechanisms import is_own
from dpsan.outcomes.calibrate.extremes import ExtremeWords
from dpsan.outcomes.calibrate.root import solve
from dpsan.outcomes.calibrate.target import Draft, Target, per_nat
from dpsan.privacy.certificate import MATRIX_WORDS, certify
from dpsan.privacy.guarantee import Status
from dpsan.space.metric_space import Arrays, MetricSpace, Tables

_TOLERANCE: Final = 2e-3
"""Relative; a certificate may take minutes, so it is not made many times."""
_NEAR: Final = 1e-4
"""Relative tolerance of the guess."""


class _Held(Tables):
    """Tables of a space; certificates of epsilons that are only tried are not stored with it."""

    def __init__(self, space: MetricSpace) -> None:
        self.space = space
        self.certificates: dict[str, Arrays] = {}

    def __call__(self, name: str, build: Callable[[], Arrays], /) -> Arrays:
        if not name.startswith("certificate-"):
            return self.space.table(name, build)
        self.certificates[name] = build()
        return self.certificates[name]


class _Losses:
    """The certified loss of a mechanism at different epsilons."""

    def __init__(
        self, draft: Draft, space: MetricSpace, target: Target, claims: bool = False
    ) -> None:
        self.draft, self.target, self.claims = draft, target, claims
        self.space = space
        self.certified = False
        self._names: dict[float, set[str]] = {}
        self._held = _Held(space)
        shadow = Embeddings(
            [""] * space.n,
            space.vectors,
            "",
            space.digest,
            space.counts,
            classes=space.classes,
        )
        self._scratch = MetricSpace(shadow, self._held, index=space.index)

    def __call__(self, epsilon: float) -> float:
        """Upper bound of the loss; raises UsageError where there is none."""
        mechanism = self.draft.at(epsilon)
        guarantee = mechanism.guarantee(self._scratch)
        proved = guarantee.status is Status.PROVED and not is_own(self.draft.kind.name)
        before = set(self._held.certificates)
        certificate = certify(mechanism, self._scratch)
        if certificate is not None and guarantee.delta:
            # Its epsilon belongs to the claimed delta, the guarantee's to its own: not one pair.
            certificate = None
        self._names[epsilon] = set(self._held.certificates) - before
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
        """An epsilon at which the loss is about as wanted: found without a certificate."""
        if self.draft.kind.is_ldp() or self.target is Target.EPSILON_METRIC:
            return wanted
        start = wanted * per_nat(self.draft, self.space)
        if self.space.n <= MATRIX_WORDS:  # certificates take no time
            return start
        try:
            among = ExtremeWords(self.draft, self.space, start)
            return solve(among, wanted * (1 - _TOLERANCE / 2), start, tolerance=_NEAR)[0]
        except UsageError:  # no distribution, or out of reach: the certificates decide
            return start

    def keep(self, epsilon: float) -> None:
        """Store the certificate of the epsilon found, for ``verify`` and later runs."""
        for name in self._names.get(epsilon, ()):
            found = self._held.certificates[name]
            self.space.table(name, lambda found=found: found)  # type: ignore[misc]


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
    """Epsilon, its certified loss, and whether that is an exact certificate.

    Stored with the space, so that it is found once per vocabulary.

    Args:
        guess: where to begin, if more is known than here; asked only where nothing is stored.
        claims: take the guarantee's word where it is not proved.

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
        losses.keep(epsilon)
        return {"found": np.array([epsilon, loss, float(losses.certified)])}

    digest = draft.anywhere(space)[0].digest()
    name = f"calibrated-1-{target}-{draft.kind.name}-{float(wanted)!r}-{digest}"
    epsilon, loss, certified = space.table(name, build)["found"].tolist()
    return epsilon, loss, bool(certified)
