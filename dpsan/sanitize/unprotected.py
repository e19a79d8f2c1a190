"""Facts that a run does not protect, in words: one list for statement, audit log and report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dpsan.embeddings.word_lists import STRINGS
from dpsan.privacy.guarantee import Guarantee
from dpsan.sanitize.numbers_by_value import NumberPolicy
from dpsan.sanitize.request import RunSpec
from dpsan.text.numerals import counted
from dpsan.text.out_of_vocabulary import UnknownPolicy

COUNTS: Final = "counts of unknown, masked and kept words (they depend on the words)"
EQUAL: Final = "which words are equal (and so how often each occurs)"
"""Fact that is not protected where equal words share a draw."""
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
NUMBER: Final = "which words are numbers and their form"
"""Fact that is not protected where numbers become numbers of the same form."""
KINDS: Final = "which words are strings of a recognized kind, their kind and form"
"""Fact that is not protected where such strings become strings of the same kind."""
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


def not_protected(
    guarantee: Guarantee, facts: Sequence[str], *, spans: bool, equal: bool, roles: str = "on"
) -> list[str]:
    """Return all facts that a run leaves unprotected, in words.

    Args:
        facts: those of its settings, see :func:`facts_of`.
        spans: whether spans choose words.
        equal: whether equal words share a draw.
        roles: ``off`` where names and places have one group each.
    """
    only = guarantee.only_groups
    more = {CHOSEN if only else CHOICE: spans, EQUAL: equal}
    free = only and not guarantee.epsilon_ldp  # then repeated runs tell nothing more
    always = [fact for fact in NOT_PROTECTED if not (free and fact == REPEATED)]
    return [*of_guarantee(guarantee, roles), *facts, *filter(more.get, more), *always]


def facts_of(spec: RunSpec) -> list[str]:
    """Return the facts that the settings of a run leave unprotected, in words."""
    chosen = {word_class.name for word_class in spec.classes}
    facts = {
        "which words are unknown": spec.unknown == UnknownPolicy.MASK,
        "how many words have a class (the expected share tells)": bool(spec.classes),
        NUMBER: spec.numbers == NumberPolicy.VALUE and not spec.only,
        KINDS: not chosen.isdisjoint(STRINGS),
        "the words of the keep-list": bool(spec.keep),
        "word boundaries that another tool chose": spec.tokenizer == "whitespace",
    }
    return [fact for fact, holds in facts.items() if holds]
