"""Compose guarantees over words, records, files and copies, and give the figures of a run.

The figures are every number that a statement prints about draws and losses.  Sentences are made of
them in one place (:mod:`dpsan.sanitize.statement`); ``verify`` and tests compare the figures and
read no sentence.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from dpsan.errors import counted, number, percent
from dpsan.privacy.guarantee import Guarantee, Loss, compose_basic
from dpsan.sanitize.consistent import Distinct
from dpsan.sanitize.result import Action, Forms, Sanitized
from dpsan.sanitize.settings import Settings, rows_of

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

    def composed(self, charges: int) -> Loss:
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

    def merge(self, other: "Accountant") -> None:
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
    again: int = 0
    """Messages and units of this run that were drawn under other settings before."""


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


class Figure(NamedTuple):
    """A number of a statement, with what belongs to it."""

    value: float
    """Nats, the unit of the mechanism, a count, or a share."""
    delta: float = 0.0
    charges: int = 0
    """Draws or lines that it adds up."""

    def __str__(self) -> str:
        if math.isinf(self.value):
            return "without bound"
        delta = f" with delta {number(self.delta)}" if self.delta else ""
        return number(self.value) + delta


Figures = dict[tuple[str, str], Figure]
"""By name (``loss``, ``draws``, ``sum``, ``unchanged``, ``smallest group``, ``names in plain
sight`` (the probability that one is original, of so many), ``per unit``, ``public words``) and
scope (``word``, ``copies``, ``record``, ``file``, ``run``, ``vocabulary``, or a metric)."""


_WEAK_LDP: Final = 16.0
"""LDP epsilon of a word, in nats, above which a bound says next to nothing: e^16 is 9 million, more
than the words of any vocabulary."""
RANDOM: Final = 1.0
"""LDP epsilon of a word below which outputs are nearly random."""
_WEAK_SHARE: Final = 0.5
_FEW_OUTSIDE: Final = 2
"""Out-of-vocabulary words that say nothing about the language of a text."""


def weakness(guarantee: Guarantee, copies: int, unchanged: float) -> str | None:
    """Why the protection is weak whatever its proof, or None.

    Args:
        copies: independent rewrites of every word.
        unchanged: expected share of words that stay unchanged, of each copy.
    """
    reasons = []
    loss = copies * guarantee.epsilon_ldp
    if loss > _WEAK_LDP:
        name = guarantee.loss_name
        limit = f"{name} {number(loss)}" if loss < math.inf else f"no finite {name}"
        what = "per word, and above 16 a bound says almost nothing: a smaller epsilon protects more"
        reasons.append(f"{limit} {what}")
    if unchanged > _WEAK_SHARE:
        what = "protected words" if guarantee.public_words else "words"
        share = f"{percent(unchanged)} of the {what} in the vocabulary"
        reasons.append(f"{share} are expected to stay unchanged")
    return "; ".join(reasons) or None


@dataclass
class Lacking:
    """Files of which more than a third of the words are out of vocabulary, or that are hardly
    English.
    """

    files: int = 0
    worst: tuple[float, str] = 0.0, ""
    """Share of these words in the worst file, and its name."""

    def add(self, name: str, counts: Mapping[Action, int], foreign: int = 0) -> None:
        """Take in the words of a file, by action, and whether it is hardly English."""
        outside = counts[Action.UNKNOWN] + counts[Action.MASKED]
        listed = (Action.DRAWN, Action.NUMBER, Action.STRING, Action.PLAIN)
        words = outside + sum(counts[action] for action in listed)
        if outside > max(_FEW_OUTSIDE, words / 3) or foreign > 3 * _FEW_OUTSIDE:
            self.files += 1
            self.worst = max(self.worst, (outside / words, name))

    def warning(self) -> str:
        """Return a warning if there are such files."""
        if not self.files:
            return ""
        share, name = self.worst
        if not share:  # no mechanism draws
            others = f" and {counted(self.files - 1, 'other file')}" * (self.files > 1)
            return (
                f"{name}{others}: few English words, and --only finds names by English rules and "
                "lists (docs/languages.md shows what it misses in German)"
            )
        many = f", and more than a third in {counted(self.files - 1, 'other file')}"
        return (
            f"{name}: {percent(share)} of the words are out of vocabulary{many * (self.files > 1)} "
            "(another language? 'dpsan train' makes a vocabulary, -E FILE uses it)"
        )


FACTS: Final = dict(rows_of("fact"))
"""What is not protected where equal messages share a draw (``same``), and where spans choose the
words (``choice``; ``chosen`` where words outside the spans are replaced too); where numbers are
drawn by value (``forms``)."""


def of_guarantee(guarantee: Guarantee, roles: str = "on") -> list[str]:
    """Return the facts that a guarantee itself leaves out, in words."""
    words = guarantee.public_words
    if guarantee.only_groups:
        return [fact for [fact] in rows_of(f"open roles={roles}")]
    if not words:
        return []
    return [f"{counted(words, 'public word')} (an output among them says what the input was)"]


def not_protected(guarantee: Guarantee, settings: Settings, *, spans: bool) -> list[str]:
    """Return all facts that a run leaves unprotected, in words.

    Args:
        settings: of the run.
        spans: whether spans choose words.
    """
    only = guarantee.only_groups
    more = [FACTS["chosen" if only else "choice"]] * spans
    if settings.consistent is not None:
        more += [fact for of_class, fact in rows_of("equal") if only or not of_class]
    free = only and not guarantee.epsilon_ldp  # then repeated runs tell nothing more
    always = [fact for fact, *paid in rows_of("always") if not (free and paid)]
    facts = [*of_guarantee(guarantee, settings.roles), *settings.facts()]
    return [*facts, *more, *always]
