"""What a run costs: guarantees added up over words, records, files and copies.

Knows guarantees and counts.  Must not know how words are drawn, or how costs are told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from dpsan.privacy.composition import Composed, compose_basic
from dpsan.privacy.guarantee import Guarantee
from dpsan.sanitize.result import Action, Sanitized

__all__ = ["Accountant", "Budget"]


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
    differ in all tokens of a record or a file: the sum over it.
    """

    guarantee: Guarantee
    epsilon: float
    """The mechanism's parameter, in its own unit."""
    counts: dict[Action, int] = field(default_factory=lambda: dict.fromkeys(Action, 0))
    draws: int = 0
    """Outputs drawn by the mechanism, over all copies."""
    texts: int = 0
    """Texts with a drawn word, over all copies."""
    largest_record: int = 0
    """Most charges of one record: of all its texts, in one copy."""
    largest_file: int = 0
    """Most charges of one of the files that were merged."""
    records: int = 0
    invalid: int = 0
    """Invalid byte sequences replaced on input."""
    invisible: int = 0
    """Invisible characters outside words, dropped."""

    @property
    def words(self) -> int:
        """All words seen."""
        return sum(self.counts.values())

    @property
    def charges(self) -> int:
        """How many times the guarantee's loss is paid: once a draw, or once a text."""
        return self.texts if self.guarantee.per_line else self.draws

    @property
    def epsilon_sum(self) -> float:
        """Sum of the mechanism's epsilon over all draws."""
        return self.charges * self.epsilon

    def composed(self, charges: int) -> Composed:
        """LDP epsilon and delta of so many charges together."""
        return compose_basic(self.guarantee, charges)

    def _charges(self, drawn: Sequence[int]) -> Sequence[int]:
        """The charges of texts with so many drawn words."""
        return [int(each > 0) for each in drawn] if self.guarantee.per_line else drawn

    def cost(self, drawn: list[int]) -> float:
        """The mechanism's epsilon of texts with so many drawn words."""
        return sum(self._charges(drawn)) * self.epsilon

    def add(self, sanitized: Sanitized, texts: Sequence[int] | None = None) -> None:
        """Add one batch.

        Args:
            texts: how many of its texts each record has; default one.
        """
        for action, count in sanitized.counts.items():
            self.counts[action] += count
        self.draws += sum(sanitized.drawn)
        self.texts += sum(drawn > 0 for drawn in sanitized.drawn)
        self.invisible += sanitized.invisible
        records = self._charges(sanitized.drawn)
        if texts is not None and not set(texts) <= {0, 1}:
            bounds = pairwise(accumulate(texts, initial=0))
            records = [sum(records[first:last]) for first, last in bounds]
        self.largest_record = max(self.largest_record, max(records, default=0))

    def merge(self, other: Accountant) -> None:
        """Add another file's totals, or those of a piece of the same file."""
        for action, count in other.counts.items():
            self.counts[action] += count
        self.draws += other.draws
        self.texts += other.texts
        self.largest_record = max(self.largest_record, other.largest_record)
        self.largest_file = max(self.largest_file, other.charges)
        self.records += other.records
        self.invalid += other.invalid
        self.invisible += other.invisible
