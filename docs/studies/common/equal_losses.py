"""The epsilon of mechanisms at the same certified LDP epsilon, over a list of such values.

A certificate looks at every pair of inputs and takes seconds; the worst pair is mostly the same at
nearby epsilons.  So the epsilon is first found for the worst pair of the last one, from two rows of
the distribution, and then certified, mostly once.  What is returned is certified, whatever the
guess was.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from common.sweeps import label
from dpsan.errors import UsageError
from dpsan.mechanisms.base import Mechanism
from dpsan.outcomes.calibrate import epsilon_for_loss
from dpsan.outcomes.calibrate.target import Draft, Target, per_nat, solve
from dpsan.outcomes.distributions import Progress
from dpsan.space.metric_space import MetricSpace

_PRIVATE_SIDE: Final = 0.999
_FINE: Final = 1e-4
_HEAVY: Final = 50
"""A certificate of all pairs, in units of one in closed form."""


@dataclass(frozen=True)
class Equal:
    """A mechanism at a certified LDP epsilon."""

    mechanism: Mechanism
    wanted: float
    certified: float
    """At most ``wanted``, by up to 0.2 %."""
    exact: bool
    """From an exact certificate, not from the guarantee."""


def at_equal_loss(
    draft: Draft, space: MetricSpace, wanted: float, last: Equal | None = None
) -> Equal:
    """The mechanism whose certified LDP epsilon is ``wanted``.

    Args:
        wanted: nats.
        last: the same mechanism at another value, to begin from.

    Raises:
        UsageError: it has no such epsilon.
    """
    Target.EPSILON_LDP.check(wanted)
    guess = partial(_guess, draft, space, wanted, last)
    epsilon, loss, exact = epsilon_for_loss(draft, space, wanted, guess)
    return Equal(draft.at(epsilon), wanted, loss, exact)


def is_heavy(kind: type[Mechanism]) -> bool:
    """Return whether the LDP epsilon is found by a search among all pairs of words.

    That of an order of the words is the loss between its two ends.
    """
    return kind.is_table() and not kind.is_ldp() and not kind.name.startswith("diffractor")


def _guess(draft: Draft, space: MetricSpace, wanted: float, last: Equal | None) -> float | None:
    """Where the loss of the worst pair at a nearby epsilon is just below ``wanted``."""
    if not is_heavy(draft.kind):
        return None
    near = last.mechanism if last else draft.at(wanted * per_nat(draft, space))
    certificate = near.certificate(space)
    if certificate is None or not math.isfinite(certificate.epsilon_ldp):
        return None
    pair = np.array(certificate.pair, dtype=np.int64)

    def loss(epsilon: float) -> float:
        pmf = draft.at(epsilon).prepare(space).probabilities(pair)
        if pmf is None or not pmf.all():
            raise UsageError("no distribution")
        return float(np.abs(np.log(pmf[0] / pmf[1])).max())

    start = near.epsilon * wanted / certificate.epsilon_ldp
    try:
        return solve(loss, wanted * _PRIVATE_SIDE, start, tolerance=_FINE)[0]
    except UsageError:  # the pair is no guide; the search begins elsewhere
        return None


def at_equal_losses(
    drafts: Sequence[Draft], space: MetricSpace, wanted: Sequence[float], progress: Progress
) -> tuple[list[tuple[Draft, Equal]], list[str]]:
    """Each mechanism at each epsilon that it reaches, and a note for each that it does not.

    Args:
        wanted: LDP epsilons, nats.
        progress: called with the share done.

    Raises:
        UsageError: none reaches any.
    """
    work = [_HEAVY if is_heavy(each.kind) else 1 for each in drafts]
    out: list[tuple[Draft, Equal]] = []
    notes, errors, done = list[str](), list[UsageError](), 0
    for draft, units in zip(drafts, work, strict=True):
        last = None
        for epsilon in wanted:
            try:
                last = at_equal_loss(draft, space, epsilon, last)
                out.append((draft, last))
            except UsageError as error:
                errors.append(error)
                notes.append(f"{label(draft)} left out at LDP epsilon {epsilon:g}: {error}")
            done += units
            progress(done / (sum(work) * len(wanted)))
    if not out:
        raise errors[0] if errors else UsageError("no mechanism to compare")
    return out, notes
