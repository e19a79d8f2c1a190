"""The figures of a run: every number that its statement prints about draws and losses.

Sentences are made of them in one place (:mod:`dpsan.sanitize.statement`); ``verify`` and tests
compare the figures and read no sentence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from dpsan.privacy.guarantee import Composed, Guarantee
from dpsan.sanitize.accountant import LedgerTotals
from dpsan.sanitize.result import Action
from dpsan.sanitize.settings import Settings
from dpsan.text.numerals import counted, number, percent


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


def loss(composed: Composed, charges: int = 0) -> Figure:
    """Return the figure of several draws together."""
    return Figure(composed.epsilon, composed.delta, charges)


def ledger_line(ledger: LedgerTotals, name: str, most: int) -> str:
    """Describe the totals of the ledger, over all runs that named it.

    Args:
        ledger: its totals.
        name: of the loss.
        most: how many of the largest sums are told.
    """
    limit = "" if ledger.limit is None else f" of at most {number(ledger.limit)} each"
    line = f"ledger: {counted(ledger.charged, 'record')} paid for now, "
    line += f"{counted(ledger.records, 'record')} in all"
    sums = [str(Figure(*pair)) for pair in ledger.largest[:most]]
    if sums:
        line += f"; largest sum{'s' if len(sums) > 1 else ''}{limit}: {name} {', '.join(sums)}"
    return line


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


COUNTS: Final = "counts of unknown, masked and kept words (they depend on the words)"
EQUAL: Final = "which words are equal (and so how often each occurs)"
"""Fact that is not protected where equal words share a draw."""
EARLIER: Final = "which date or time of a text is earlier"
"""Fact that is not protected where dates are replaced, and equal words share a draw."""
LARGER: Final = (
    "which number of a text is larger than another of its form, and which follows from others "
    "(sums, products, percentages, times between)"
)
"""The same where numbers are replaced."""
NATION: Final = "which nation is that of a country in its text"
"""The same where words for nations are replaced."""
SAME: Final = "which messages are equal"
"""Fact that is not protected where equal messages share a draw."""
OPEN: Final = (
    "every word that passes",
    "group, form and capitals of each replaced word",
    "its possessive",
)
"""Facts that are not protected where only classes of words are drawn."""
ROLES_OFF: Final = (
    OPEN[0],
    "group (one for all names, one for all places), form and capitals of each replaced word",
    OPEN[2],
)
"""The same with roles off: given names and surnames, cities and countries are not told apart."""
CHOICE: Final = "everything outside the spans and their choice"
"""Facts that are not protected where spans choose the drawn words."""
CHOSEN: Final = "the choice of spans"
"""The same where words outside the spans are replaced too."""
REPEATED: Final = "repeated runs on the same text (they add up)"
"""Fact that is protected where which word of its group stood there is hidden completely."""
NOT_PROTECTED: Final = (
    "number of words and lines",
    COUNTS,
    "punctuation and white space",
    "language",
    "word positions",
    "correlation between words",
    REPEATED,
    "timing, swap and logs",
    "the audit file itself",
)


def of_guarantee(guarantee: Guarantee, roles: str = "on") -> list[str]:
    """Return the facts that a guarantee itself leaves out, in words."""
    words = guarantee.public_words
    if guarantee.only_groups:
        return [*(OPEN if roles == "on" else ROLES_OFF)]
    if not words:
        return []
    return [f"{counted(words, 'public word')} (an output among them says what the input was)"]


def not_protected(guarantee: Guarantee, settings: Settings, *, spans: bool) -> list[str]:
    """Return all facts that a run leaves unprotected, in words.

    Args:
        settings: of the run.
        spans: whether spans choose words.
    """
    only, equal = guarantee.only_groups, settings.consistent is not None
    more = {
        CHOSEN if only else CHOICE: spans,
        EQUAL: equal,
        EARLIER: equal and only,
        LARGER: equal and only,
        NATION: equal and only,
    }
    free = only and not guarantee.epsilon_ldp  # then repeated runs tell nothing more
    always = [fact for fact in NOT_PROTECTED if not (free and fact == REPEATED)]
    facts = [*of_guarantee(guarantee, settings.roles), *settings.facts()]
    return [*facts, *filter(more.get, more), *always]
