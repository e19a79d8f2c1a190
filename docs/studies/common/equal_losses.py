"""The epsilon of mechanisms at the same certified LDP epsilon, over a list of such values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from common.sweeps import label
from dpsan.errors import UsageError
from dpsan.mechanisms.mechanism import Mechanism
from dpsan.outcomes.calibrate import Draft, Target, epsilon_for_loss
from dpsan.outcomes.distributions import Progress
from dpsan.space.metric_space import MetricSpace

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


def at_equal_loss(draft: Draft, space: MetricSpace, wanted: float) -> Equal:
    """The mechanism whose certified LDP epsilon is ``wanted``.

    Args:
        wanted: nats.

    Raises:
        UsageError: it has no such epsilon.
    """
    Target.EPSILON_LDP.check(wanted)
    epsilon, loss, exact = epsilon_for_loss(draft, space, wanted, lambda _: None)
    return Equal(draft.at(epsilon), wanted, loss, exact)


def is_heavy(kind: type[Mechanism]) -> bool:
    """Return whether the LDP epsilon is found by a search among all pairs of words.

    That of an order of the words is the loss between its two ends.
    """
    return kind.family == "table" and not kind.is_ldp() and not kind.name.startswith("diffractor")


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
        for epsilon in wanted:
            try:
                out.append((draft, at_equal_loss(draft, space, epsilon)))
            except UsageError as error:
                errors.append(error)
                notes.append(f"{label(draft)} left out at LDP epsilon {epsilon:g}: {error}")
            done += units
            progress(done / (sum(work) * len(wanted)))
    if not out:
        raise errors[0] if errors else UsageError("no mechanism to compare")
    return out, notes
