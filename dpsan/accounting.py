"""What a run costs: guarantees composed over words, lines and files, put in words.

Knows guarantees and counts.  Must not know how words are drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from dpsan.composition import compose_basic, compose_optimal
from dpsan.guarantee import Guarantee, Status
from dpsan.mechanisms.base import Mechanism
from dpsan.runspec import Action, Sanitized

__all__ = ["NOT_PROTECTED", "Accountant", "Budget", "number"]

NOT_PROTECTED: Final = (
    "number of words and lines",
    "punctuation and white space",
    "language",
    "word positions",
    "correlation between words",
    "repeated runs on the same text (they add up)",
    "timing, swap and logs",
    "the audit file itself",
)


def number(value: float) -> str:
    """A figure for people: at most six significant digits, no exponent for usual sizes."""
    return f"{value:.6g}"


@dataclass
class Budget:
    """What may be spent in a run: a sum of the mechanism's epsilon over all draws."""

    limit: float
    spent: float = 0.0

    def take(self, cost: float) -> bool:
        """Spend ``cost`` if it is left; False, and nothing is spent, if not."""
        # A sum of equal epsilons may exceed their product in the last bits.
        if self.spent + cost > self.limit * (1 + 1e-12):
            return False
        self.spent += cost
        return True


@dataclass
class Accountant:
    """Totals of a file or a run, by basic composition.

    Neighbouring texts differ in one token: the loss of a word, whatever the length.  Texts that
    differ in all tokens of a line: the sum over the line.
    """

    guarantee: Guarantee
    epsilon: float
    """The mechanism's parameter, in its own unit."""
    counts: dict[Action, int] = field(default_factory=lambda: dict.fromkeys(Action, 0))
    drawn: int = 0
    """Words drawn by the mechanism."""
    texts: int = 0
    """Texts with a drawn word."""
    largest_line: int = 0
    """Most words drawn in one text."""
    records: int = 0
    invalid: int = 0
    """Invalid byte sequences replaced on input."""

    @property
    def words(self) -> int:
        """All words seen."""
        return sum(self.counts.values())

    @property
    def charges(self) -> int:
        """How many times the guarantee's loss is paid: once a word, or once a line."""
        return self.texts if self.guarantee.per_line else self.drawn

    @property
    def epsilon_sum(self) -> float:
        """Sum of the mechanism's epsilon over all draws."""
        return self.charges * self.epsilon

    @property
    def epsilon_ldp_sum(self) -> float:
        """Sum of the LDP epsilon over all draws."""
        return self.charges * self.guarantee.epsilon_ldp if self.charges else 0.0

    def cost(self, drawn: list[int]) -> float:
        """The mechanism's epsilon of texts with so many drawn words."""
        charges = sum(map(bool, drawn)) if self.guarantee.per_line else sum(drawn)
        return charges * self.epsilon

    def largest_charges(self, copies: int) -> int:
        """How many times the loss is paid in the text that costs most."""
        return copies * (
            min(1, self.largest_line) if self.guarantee.per_line else self.largest_line
        )

    def largest_text(self, copies: int) -> float:
        """LDP epsilon of the text that costs most."""
        charges = self.largest_charges(copies)
        return charges * self.guarantee.epsilon_ldp if charges else 0.0

    def add(self, sanitized: Sanitized) -> None:
        """Add one batch."""
        for action, count in sanitized.counts.items():
            self.counts[action] += count
        self.drawn += sum(sanitized.drawn)
        self.texts += sum(drawn > 0 for drawn in sanitized.drawn)
        self.largest_line = max(self.largest_line, max(sanitized.drawn, default=0))

    def merge(self, other: Accountant) -> None:
        """Add another file's totals."""
        for action, count in other.counts.items():
            self.counts[action] += count
        self.drawn += other.drawn
        self.texts += other.texts
        self.largest_line = max(self.largest_line, other.largest_line)
        self.records += other.records
        self.invalid += other.invalid

    def statement(
        self,
        mechanism: Mechanism,
        *,
        copies: int = 1,
        seeded: bool = False,
        case_input: bool = False,
        masked: bool = False,
    ) -> list[str]:
        """What was done and what it means, as lines for people."""
        guarantee = self.guarantee
        counts = self.counts
        out = [
            f"{self.words} words: {counts[Action.REPLACED]} replaced, "
            f"{counts[Action.UNKNOWN]} unknown ({'masked' if masked else 'drawn'}), "
            f"{counts[Action.KEPT]} kept"
            + (f", {counts[Action.PASSED]} unknown passed" if counts[Action.PASSED] else "")
        ]
        out += self._loss(mechanism, copies)
        if guarantee.status is not Status.PROVED:
            out.append(f"NOT GUARANTEED: {guarantee.summary()}; {guarantee.why}")
        if seeded:
            out.append("NOT PRIVATE: --seed makes the random numbers public")
        if counts[Action.PASSED]:
            out.append("NOT PRIVATE: unknown words were passed through (--unknown keep)")
        if masked:
            out.append("not protected: which words are unknown (--unknown mask)")
        if counts[Action.KEPT]:
            out.append("not protected: the words of the keep-list")
        if case_input:
            out.append("not protected: capital letters (--case input)")
        if self.invalid:
            out.append(f"{self.invalid} invalid byte sequences replaced by U+FFFD")
        out.append("not protected: " + ", ".join(NOT_PROTECTED))
        return out

    def _loss(self, mechanism: Mechanism, copies: int) -> list[str]:
        """What the words cost."""
        guarantee = self.guarantee
        each = "line" if guarantee.per_line else "word"
        delta = f", delta {number(guarantee.delta)}" if guarantee.delta else ""
        metrics = [(guarantee.metric, guarantee.epsilon_metric), *guarantee.also]
        parts = [
            f"epsilon {number(epsilon)} per unit of {metric} distance{guarantee.rounding}"
            for metric, epsilon in metrics
            if metric is not None and epsilon is not None
        ]
        if not parts:  # an epsilon per unit of distance without a promise of it is a parameter only
            own = "parameter " if mechanism.epsilon_unit != "nats" else ""
            parts = [f"{own}epsilon {number(self.epsilon)}"]
        out = [
            f"{mechanism.name} ({guarantee.status}): {', '.join(parts)} per {each}; "
            f"LDP epsilon {number(guarantee.epsilon_ldp)}{delta} per {each}"
        ]
        if copies > 1:
            out.append(
                f"{copies} copies of every text: LDP epsilon {copies} × "
                f"{number(guarantee.epsilon_ldp)} = "
                f"{number(copies * guarantee.epsilon_ldp)} per {each}"
            )
        out.append(
            f"sum over all draws: epsilon {number(self.epsilon_sum)}, "
            f"LDP epsilon {number(self.epsilon_ldp_sum)}; largest text: "
            f"LDP epsilon {number(self.largest_text(copies))}"
        )
        if guarantee.delta:
            charges = self.largest_charges(copies)
            out += [
                f"largest text, {composed.method}: LDP epsilon {number(composed.epsilon)}, "
                f"delta {number(composed.delta)}"
                for composed in (
                    compose_basic(guarantee, charges),
                    compose_optimal(guarantee, charges),
                )
                if composed is not None
            ]
        return out
