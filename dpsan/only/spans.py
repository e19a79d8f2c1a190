"""What is drawn in spans, and in columns of a class, whatever the rules say."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.only.engine import Match
from dpsan.only.rules import PASS, Rules
from dpsan.only.view import GAP, KEPT, Codes, Flags, Ints, among

UNTYPED: Final = 1
"""Mark of tokens in spans without a type."""


def marks(rules: Rules) -> dict[str, int]:
    """Return the mark of each type of spans, by its names in small letters; 0 marks no token.

    With = before it a type is told by the name of a column: it marks words of chosen classes.
    """
    out = {"": UNTYPED}
    for mark, row in enumerate(rules.types, UNTYPED + 1):
        chosen = rules.kept[rules.group(row.groups[0])]
        out |= dict.fromkeys(row.names, mark)
        out |= {f"={name}": mark if chosen else 0 for name in row.names}
    return out


def drawn(match: Match, group: NDArray[np.int16], marked: Codes) -> tuple[NDArray[np.int16], Ints]:
    """Return the group of each token, and its form, where spans draw more than the rules.

    Args:
        match: that was run.
        group: of each token by the rules, shape (n,) as all.
        marked: mark of the span of each token, see :func:`marks`.
    """
    view, rules = match.view, match.rules
    listed = rules.own_group[view.label]
    free = ~view.labelled(KEPT)
    # What no class holds has no outputs: it becomes a name, also a string that usually passes.
    bare = rules.unclassed[view.label]
    named = rules.named[view.label]
    out = np.where(bare, rules.group("surname"), listed)
    untyped = (marked <= UNTYPED) | (view.form >= 0)
    change = (marked > 0) & free & untyped & (group <= PASS)
    for mark in sorted({*marked[free & ~untyped].tolist()}):
        row, of_type = rules.types[mark - UNTYPED - 1], (marked == mark) & free & ~untyped
        names = [name for group in row.groups for name in rules.classes.get(group, [group])]
        codes = rules.codes(names)
        last, before = (rules.group(name) for name in row.groups[:2])
        other = np.where(_last(marked, view.gap), last, before)
        of_list = among(listed, codes) & named
        out[of_type] = np.where(of_list, listed, other)[of_type]
        passes = np.zeros(len(group), np.bool_)
        if row.passes >= 0:
            passes[match.places(row.passes)] = True
        group = np.where(of_type & passes, PASS, group).astype(np.int16)
        change |= of_type & ~passes & ~(named & among(group, codes))
    match.rule[change] = -1
    form = np.where(change & bare, -1, view.form)
    return np.where(change, out, group).astype(np.int16), form.astype(np.int32)


def _last(marked: Codes, gap: Codes) -> Flags:
    """Return which tokens end the words of their span that stand beside each other."""
    beside = among(gap[1:], [GAP[name] for name in ("space", "hyphen", "dot", "stop")])
    return np.append((marked[1:] != marked[:-1]) | ~beside, True)
