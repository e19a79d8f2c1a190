"""Compose guarantees over words, records, files and copies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Final

from dpsan.privacy.guarantee import Composed, Guarantee, compose_basic
from dpsan.sanitize.consistent import Distinct
from dpsan.sanitize.result import DRAWN, Action, Forms, Sanitized

_SUMS: Final = (
    *("charged", "forms", "records", "invalid", "invisible", "reused", "plain_names"),
    *("foreign", "unmarked"),
)
"""Totals of an accountant that add up as they are."""


@dataclass
class Accountant:
    """Totals of a file or a run, by basic composition.

    Neighbouring texts differ in one token: the loss of a word, whatever the length.  Texts that
    differ in all tokens of a record or a file: the sum over it.  Draws of public words cost
    nothing, but how many there are depends on the text: all sums count them, so they are bounds.
    """

    guarantee: Guarantee
    epsilon: float
    """The mechanism's parameter, in its own unit."""
    counts: dict[Action, int] = field(default_factory=lambda: dict.fromkeys(Action, 0))
    draws: int = 0
    """Outputs drawn by the mechanism, over all copies."""
    charged: int = 0
    """Those of numbers by value, where only these have a loss."""
    by_kind: Counter[int] = field(default_factory=Counter)
    """Drawn words by kind, see :class:`dpsan.sanitize.result.Sanitized`."""
    forms: Forms = field(default_factory=Forms)
    """Totals over strings that were drawn by their form, in one copy."""
    public: int = 0
    """Draws of public words, over all copies: for the audit alone."""
    largest_record: int = 0
    """Most charges of one record: of all its texts, in one copy."""
    largest_file: int = 0
    """Most charges of one of the files that were merged."""
    records: int = 0
    invalid: int = 0
    """Invalid byte sequences replaced on input."""
    invisible: int = 0
    """Invisible characters outside words, dropped."""
    reused: int = 0
    """Replacements that another word of their unit has too."""
    plain_names: int = 0
    """Words that pass with a capital, and are names too, in one copy."""
    foreign: int = 0
    """Positive if the texts are hardly English, see :class:`dpsan.sanitize.result.Sanitized`."""
    unmarked: int = 0
    """Records that passed as they are, because no span is in them."""
    distinct: Distinct | None = None
    """The words drawn, where all equal ones have the same draw: each is a draw once a copy."""
    distinct_public: Distinct = field(default_factory=Distinct)
    """The public ones among these."""

    @property
    def words(self) -> int:
        """Return all words seen."""
        return sum(self.counts.values())

    @property
    def written(self) -> int:
        """Return words that the mechanism drew, now or before: they are what it says of them."""
        return self.draws + self.counts[Action.REMEMBERED]

    @property
    def charges(self) -> int:
        """Return the number of losses: one for each draw that has one."""
        return self.charged if self.guarantee.only_groups else self.draws

    @property
    def epsilon_sum(self) -> float:
        """Sum of the mechanism's epsilon over all draws."""
        return self.charges * self.epsilon

    def composed(self, charges: int) -> Composed:
        """LDP epsilon and delta of so many charges together."""
        return compose_basic(self.guarantee, charges)

    def add(self, copies: Sequence[Sanitized], texts: Sequence[int] | None = None) -> None:
        """Add one batch.

        Args:
            copies: what became of it, once for each copy: the words are the same.
            texts: how many of its texts each record has; default one.
        """
        sanitized, many = copies[0], len(copies)
        for action, count in sanitized.counts.items():
            self.counts[action] += many * count
        if self.distinct and sanitized.marks is not None:
            self.draws += many * self.distinct.add(sanitized.marks.tolist())
            if sanitized.public_marks is not None:
                self.public += many * self.distinct_public.add(sanitized.public_marks.tolist())
        else:
            self.draws += many * sum(sanitized.drawn)
            self.public += many * sanitized.public
        self.charged += many * sum(sanitized.charged)
        self.by_kind.update({kind: many * count for kind, count in sanitized.by_kind.items()})
        self.forms += sanitized.forms
        self.invisible += many * sanitized.invisible
        self.reused += sum(copy.reused for copy in copies)
        self.plain_names += sanitized.plain_names
        self.foreign += sanitized.foreign
        records: Sequence[int] = sanitized.charged
        if texts is not None and not set(texts) <= {0, 1}:
            bounds = pairwise(accumulate(texts, initial=0))
            records = [sum(records[first:last]) for first, last in bounds]
        self.largest_record = max(self.largest_record, max(records, default=0))

    def merge(self, other: Accountant) -> None:
        """Add another file's totals, or those of a piece of the same file."""
        for action, count in other.counts.items():
            self.counts[action] += count
        if self.distinct and other.distinct and other.distinct.count:
            copies = other.draws // other.distinct.count
            self.draws += copies * self.distinct.merge(other.distinct)
            self.public += copies * self.distinct_public.merge(other.distinct_public)
        else:
            self.draws += other.draws
            self.public += other.public
        self.by_kind.update(other.by_kind)
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.largest_record = max(self.largest_record, other.largest_record)
        self.largest_file = max(self.largest_file, other.charges)


@dataclass(frozen=True)
class MemoTotals:
    """Totals of a memo, and of one run with it."""

    drawn: int
    """Messages drawn in this run."""
    remembered: int
    """Messages of this run whose earlier output was written again."""
    messages: int
    """Different messages, over the life of the memo."""
    draws: int
    """Their draws: more than one for a message under several settings."""
    epsilon: float
    """Largest sum of LDP epsilons of one message or unit, over all its draws."""
    delta: float
    """The same of deltas."""
    units: int = 0
    """Units, over the life of the memo."""


@dataclass(frozen=True)
class LedgerTotals:
    """Totals of a ledger, and of one run with it."""

    charged: int
    """Records that this run charged."""
    records: int
    """Records that the ledger has."""
    limit: float | None
    """Most LDP epsilon that one may cost; None for no limit."""
    largest: tuple[tuple[float, float], ...]
    """Epsilon and delta of the records that have cost most, the largest first."""


def merged(
    texts: Sequence[str],
    indices: Sequence[int],
    done: Sanitized,
    earlier: Mapping[int, str],
    survey: Callable[[str], Sanitized],
) -> Sanitized:
    """Return the result for all texts of a batch.

    Args:
        texts: the batch.
        indices: positions in it of the texts that were sanitized; ascending.
        done: what became of these.
        earlier: outputs that are written instead, by position: for every text that is not in
            ``indices``, and for texts whose output another run wrote meanwhile.  The new draws of
            the latter are not published, so they do not count.
        survey: counts the words of a text without drawing any.
    """
    fresh, table = [index not in earlier for index in indices], done.records
    counts, public, invisible = Counter(done.counts), done.public, done.invisible
    by_kind, unpublished = Counter(done.by_kind), earlier.keys() & {*indices}
    lines = dict(zip(indices, done.lines, strict=True))
    drawn = dict(zip(indices, done.drawn, strict=True))
    charged = dict(zip(indices, done.charged, strict=True))
    remembered = {}
    for index, output in sorted(earlier.items()):
        counted = survey(texts[index])
        if index in unpublished:
            counts.subtract(counted.counts)
            by_kind.subtract(counted.by_kind)
            public -= counted.public
            invisible -= counted.invisible
        lines[index], drawn[index], charged[index] = output, 0, 0
        now = {action: 0 if action in DRAWN else counted.counts[action] for action in Action}
        now[Action.REMEMBERED] = sum(counted.counts[action] for action in DRAWN)
        remembered[index] = now
        counts.update(now)
        invisible += counted.invisible
    return replace(
        done,
        lines=[lines[index] for index in range(len(texts))],
        drawn=[drawn[index] for index in range(len(texts))],
        charged=[charged[index] for index in range(len(texts))],
        by_kind=by_kind,
        counts={action: counts[action] for action in Action},
        records=None if table is None else table.spread(indices, fresh, len(texts)),
        public=public,
        invisible=invisible,
        remembered=remembered,
    )
