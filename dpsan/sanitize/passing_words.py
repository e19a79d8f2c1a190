"""By which list or rule a word passes, and how many words a label has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsan.only.decision import NAMES
from dpsan.only.engine import PASS, Match
from dpsan.only.lexicon import Lexicon
from dpsan.only.places import Places
from dpsan.only.view import KEPT

if TYPE_CHECKING:
    from dpsan.sanitize.replacing import OnlyRewriter

KEEP_LIST: Final = "keep-list"
UNLISTED: Final = ("form of words", "form of strings")
"""By what a word passes that no list has, and a string."""


class TokenReason(NamedTuple):
    """What becomes of a token, and why."""

    token: str
    label: str
    word_class: str | None
    """None where it passes, as the next two."""
    group: str | None
    rule: str | None
    passes: str | None
    """The list or rule by which it passes; None where it is drawn."""
    why: str | None
    """The reason that the row of the rules has."""

    def as_json(self) -> dict[str, str | None]:
        """Return it with the names that rows of an audit have."""
        return {name.removeprefix("word_"): value for name, value in self._asdict().items()}


def explained(rewriter: OnlyRewriter, text: str) -> list[TokenReason]:
    """Return what becomes of each token of a text; nothing is drawn."""
    why = {rule.name: rule.why for rule in rewriter.rules.rules}
    out = []
    for block in rewriter.decided_unit([text], audit=True).blocks:
        tokens, drawn = block.tokens, block.decision
        assert tokens is not None  # noqa: S101 - requested
        labels = [rewriter.viewer.labels[code] for code in tokens.labels.tolist()]
        columns = (tokens.originals, labels, tokens.rows.tolist(), tokens.passes)
        for token, label, row, passes in zip(*columns, strict=True):
            word_class = group = rule = None
            if passes is None:
                code = int(drawn.group[row])
                word_class, group = rewriter.classes[code], rewriter.groups[code]
                rule = rewriter.rules.rules[drawn.rule[row]].name
            reason = why.get(rule or str(passes).removeprefix("rule "))
            out.append(TokenReason(token, label, word_class, group, rule, passes, reason))
    return out


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


def expected_plain(rewriter: OnlyRewriter, drawn: Mapping[int, int]) -> float:
    """Return how many drawn names are expected to be ordinary words too, by the pools of names.

    Args:
        rewriter: that drew them.
        drawn: number of draws of each group.
    """
    expected = 0.0
    for group, draws in drawn.items():
        pool = rewriter.outputs.get(rewriter.groups[group], ())
        if draws and pool and rewriter.groups[group] in NAMES:
            plain = sum(rewriter.lexicon.plain(word.lower()) for word in pool)
            expected += draws * plain / len(pool)
    return expected


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
    return sizes
