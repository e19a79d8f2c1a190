"""What becomes of tokens, without a draw: by which list or rule they pass, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.only.decision import NAMES
from dpsan.only.engine import Match
from dpsan.only.lexicon import Lexicon
from dpsan.only.places import Places
from dpsan.only.rules import PASS
from dpsan.only.view import KEPT

if TYPE_CHECKING:
    from dpsan.sanitize.replacing import OnlyRewriter

KEEP_LIST: Final = "keep-list"
UNLISTED: Final = ("form of words", "form of strings")
"""By what a word passes that no list has, and a string."""
COLUMNS: Final = ("token", "label", "class", "group", "rule", "passes", "why")
"""What is told of a token; class, group and rule are None where it passes, and ``passes`` is None
where it is drawn."""


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
    return sizes


def explained(rewriter: OnlyRewriter, text: str) -> list[dict[str, str | None]]:
    """Return by its name what :data:`COLUMNS` lists of each token of a text; nothing is drawn."""
    why = {rule.name: rule.why for rule in rewriter.rules.rules}
    out = []
    for block in rewriter.decided_unit([text], [0], audit=True).blocks:
        tokens, drawn = block.tokens, block.decision
        assert tokens is not None  # noqa: S101 - requested
        labels = [rewriter.viewer.labels[code] for code in tokens.labels.tolist()]
        columns = (tokens.originals, labels, tokens.rows.tolist(), tokens.passes)
        for token, label, at, passes in zip(*columns, strict=True):
            word_class = group = rule = None
            if passes is None:
                code = int(drawn.group[at])
                word_class, group = rewriter.classes[code], rewriter.groups[code]
                rule = rewriter.rules.rules[drawn.rule[at]].name
            reason = why.get(rule or str(passes).removeprefix("rule "))
            row = (token, label, word_class, group, rule, passes, reason)
            out.append(dict(zip(COLUMNS, row, strict=True)))
    return out


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
