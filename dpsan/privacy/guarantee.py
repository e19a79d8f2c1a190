"""Guarantee of a mechanism for one word, and its status."""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from dpsan.errors import number

UNREVIEWED: Final = "third party, not reviewed"
"""Words for a mechanism that is not one of dpsan's, whatever it claims."""


class Status(StrEnum):
    """Status of a guarantee."""

    PROVED = "PROVED"
    """We hold the proof and its reference."""
    CLAIMED = "CLAIMED"
    """The paper says so; not verified here."""
    REFUTED = "REFUTED"
    """A proof or a counterexample here shows that the published claim fails."""
    NONE = "NONE"
    """Nobody claims a guarantee of this kind, or none exists."""


class Arithmetic(StrEnum):
    """In which numbers a guarantee holds for the program, and not for its formula alone."""

    INTEGERS = "on integers"
    """Draws come from integers, and the guarantee is theirs."""
    ROUNDED = "up to rounding"
    """Proved for real numbers; what float64 changes is bounded (``Mechanism.float64_gap``)."""
    REALS = "for real numbers"
    """Proved for real numbers; nothing is proved of their rounding."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Claim of the publication for these parameters."""

    epsilon: float
    delta: float = 0.0
    metric: str | None = None
    """The metric if epsilon is per unit of distance; None for local differential privacy."""


@dataclass(frozen=True, slots=True)
class Loss:
    """An epsilon with the delta that belongs to it: no table shows one without the other."""

    epsilon: float
    """Nats."""
    delta: float = 0.0


@dataclass(frozen=True, slots=True)
class WordGroup:
    """Words that are one input: which of them stood there is hidden completely."""

    name: str
    """Name of their class."""
    words: int
    """Words of the vocabulary in it."""


@dataclass(frozen=True, slots=True)
class Guarantee:
    """The true guarantee of one word's release, over every pair of input strings.

    Local differential privacy (LDP): ``P(M(x) in T) <= e^epsilon_ldp P(M(x') in T) + delta`` for
    all strings x, x' (unknown strings count as one extra input).  Metric privacy: the same with
    ``epsilon_metric * distance(x, x')`` in place of ``epsilon_ldp``.  With public words the
    inequality holds for protected x and any x': high-low LDP, which is never called LDP.
    """

    status: Status
    epsilon_ldp: float
    """Nats; ``inf`` where no finite value holds."""
    delta: float = 0.0
    metric: str | None = None
    epsilon_metric: float | None = None
    """Per unit of ``metric``; None where no metric guarantee better than the LDP one holds."""
    also: tuple[tuple[str, float], ...] = ()
    """Further metrics in which a guarantee holds: (metric, epsilon per unit)."""
    slack: float = 0.0
    """Nats added to the metric loss of two different inputs by rounding."""
    infinite_loss_mass: float = 0.0
    """Largest probability of an output that excludes some other input altogether."""
    at_claim: Loss | None = None
    """The claimed epsilon with its true delta, where ``epsilon_ldp`` is another epsilon."""
    public_words: int = 0
    """Words for which nothing is promised [Acharya20]: x is any other string, x' any string."""
    groups: tuple[WordGroup, ...] = ()
    """Groups of words that are one input: between two words of a group epsilon is 0."""
    only_groups: bool = False
    """True if words of no group are written unchanged, and the group of a word shows: then
    ``epsilon_ldp`` is the loss of a number that is drawn by value, and 0 without such numbers."""
    claimed: Claim | None = None
    why: str = ""
    source: str = ""
    arithmetic: Arithmetic = Arithmetic.REALS
    reviewed: bool = True
    """True if the mechanism is dpsan's: nobody here has reviewed a third party's program."""

    @property
    def standing(self) -> str:
        """Return the status, and whether the mechanism is a third party's."""
        return str(self.status) if self.reviewed else f"{self.status}, {UNREVIEWED}"

    @property
    def grade(self) -> str:
        """Return the status, and in which numbers it is proved: ``PROVED on integers``."""
        proved = self.status is Status.PROVED
        return f"{self.status} {self.arithmetic}" if proved else self.standing

    def at(self, epsilon: float) -> Loss:
        """Return an epsilon with the least delta known for it; the guarantee's own pair if none
        is.
        """
        stated = Loss(self.epsilon_ldp, self.delta)
        deltas = [
            loss.delta for loss in (stated, self.at_claim) if loss and loss.epsilon <= epsilon
        ]
        return Loss(epsilon, min(deltas)) if deltas else stated

    def summary(self) -> str:
        """Return the claimed and the true (of a third party: stated) guarantee in one phrase."""
        true = "true" if self.reviewed else "stated"
        stated = f"no finite {self.loss_name}"
        if math.isfinite(self.epsilon_ldp):
            stated = f"{true} {self.loss_name} {number(self.epsilon_ldp)}"
        if self.delta:
            stated += f" with {true} delta {number(self.delta)}"
        if self.infinite_loss_mass:
            stated += f", infinite loss with probability {number(self.infinite_loss_mass)}"
        if self.claimed is None:
            return stated
        per = f" per unit of {self.claimed.metric} distance" if self.claimed.metric else ""
        delta = f", delta {number(self.claimed.delta)}" if self.claimed.delta else ""
        return f"claimed epsilon {number(self.claimed.epsilon)}{per}{delta}, {stated}"

    @property
    def loss_name(self) -> str:
        """Return the name of ``epsilon_ldp``: high-low LDP where words are public."""
        return "high-low LDP epsilon" if self.public_words else "LDP epsilon"

    @property
    def rounding(self) -> str:
        """Return what rounding adds to every metric loss, in words; empty if nothing."""
        return f" (+ {1.05 * self.slack:.2g} nats of rounding)" if self.slack else ""

    def epsilon(self, distance: float) -> float:
        """Return the privacy loss bound between two inputs at a distance (privacy map).

        Args:
            distance: in units of ``metric``, >= 0; ignored but for 0 where there is no metric.
        """
        if not distance >= 0:
            raise ValueError("distance must be >= 0")
        if distance == 0:  # one point: one distribution
            return 0.0
        if self.epsilon_metric is None or math.isinf(distance):
            return self.epsilon_ldp
        return min(self.epsilon_metric * distance + self.slack, self.epsilon_ldp)


# Guarantees of many words together, by basic composition (docs/proofs.md 4.1).


def compose_basic(guarantee: Guarantee, words: int) -> Loss:
    """Epsilons and deltas add up."""
    epsilon = words * guarantee.epsilon_ldp if words else 0.0  # 0 times infinity is no number
    return Loss(epsilon, min(1.0, words * guarantee.delta))
