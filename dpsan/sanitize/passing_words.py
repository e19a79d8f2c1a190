"""By which list or rule a word passes, and how many words a label has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.only.engine import Match
from dpsan.only.lexicon import Lexicon
from dpsan.only.places import Places
from dpsan.only.rules import PASS
from dpsan.only.view import KEPT

KEEP_LIST: Final = "keep-list"
NUMBERS: Final = {"bit": 2, "int1": 8, "int2": 90, "int3": 900}
"""Numbers of each label that may be drawn from a list: doses, hours."""
UNLISTED: Final = ("form of words", "form of strings")
"""By what a word passes that no list has, and a string."""


def passed_by(
    match: Match, places: Places, lexicon: Lexicon, drawn: NDArray[np.int64], at: NDArray[np.intp]
) -> list[str | None]:
    """Return by which list or rule tokens pass; None of those that are drawn.

    Args:
        match: that was run.
        places: of its view.
        lexicon: public lists.
        drawn: tokens that are drawn.
        at: tokens.
    """
    view, rules = match.view, match.rules
    listed = lexicon.table.rows(places.hashes[at])
    names = [*(f"list {name}" for name in lexicon.sources), *UNLISTED]
    names += [f"rule {rule.name}" for rule in rules.rules]
    first = len(names) - len(rules.rules)
    rule, group = match.rule[at].astype(np.intp), match.group[at]
    reason = np.where(listed >= 0, lexicon.source[listed].astype(np.intp), first - 2)
    reason[view.form[at] >= 0] = first - 1
    reason = np.where(rule >= 0, first + rule, reason)
    unchosen = [f"class {rules.class_of.get(name, name)} is not chosen" for name in rules.groups]
    reason = np.where(group > PASS, len(names) + group, reason)
    reason[view.label[at] == view.labels.index(KEPT)] = len(names) + len(unchosen)
    names += [*unchosen, KEEP_LIST]
    passing = (~np.isin(at, drawn)).tolist()
    return [names[by] if free else None for by, free in zip(reason.tolist(), passing, strict=True)]


def label_sizes(
    lexicon: Lexicon, labels: Sequence[str], own: Mapping[str, Sequence[str]]
) -> NDArray[np.int64]:
    """Return the number of listed words of each label, by column of ``codes``: (3, labels).

    Args:
        lexicon: public lists.
        labels: of a view.
        own: words of lists of one's own by their labels.
    """
    sizes = np.zeros((3, len(labels)), np.int64)
    phrases = np.bincount(lexicon.phrase_codes, minlength=len(labels))
    for column in range(3):
        sizes[column] = np.bincount(lexicon.codes[:, column], minlength=len(labels)) + phrases
    for name, words in own.items():
        sizes[:, labels.index(name)] = len(words)
    for label, size in NUMBERS.items():
        sizes[:, labels.index(label)] = size
    return sizes
