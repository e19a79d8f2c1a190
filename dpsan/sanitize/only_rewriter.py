"""What is said of the tokens and the draws of a run that replaces some classes alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dpsan.only.decision import NAMES
from dpsan.sanitize.replacing import OnlyRewriter
from dpsan.sanitize.result import Texts

COLUMNS: Final = ("token", "label", "class", "group", "rule", "passes", "why")
"""What is told of a token; class, group and rule are None where it passes, and ``passes`` is None
where it is drawn."""


def explained(rewriter: OnlyRewriter, text: str) -> list[dict[str, str | None]]:
    """Return by its name what :data:`COLUMNS` lists of each token of a text; nothing is drawn."""
    why = {rule.name: rule.why for rule in rewriter.rules.rules}
    out = []
    for block in rewriter.decided_unit(Texts([text], b"", [0], audit=True)).blocks:
        tokens, drawn = block.tokens, block.decision
        assert tokens is not None and tokens.labels is not None  # noqa: S101, PT018 - requested
        labels = [rewriter.viewer.labels[code] for code in tokens.labels.tolist()]
        columns = (tokens.originals, labels, tokens.output_ids.tolist(), tokens.passes or ())
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
