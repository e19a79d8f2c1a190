"""Matches compiled rules over a view.

Of a pattern the view alone tells some places, see :mod:`~dpsan.only.packed`: a rule whose words do
not occur costs nothing, and the time is linear in the tokens.
Rules run from top to bottom; each one sees what the rules above have drawn.  No rule draws a
trigger word.
"""

from collections.abc import Sequence
from functools import partial, reduce
from operator import or_
from typing import Final

import numpy as np

from dpsan.only import relations
from dpsan.only.packed import SMALL, Combined, Packed
from dpsan.only.rules import PASS, PATTERNS, UNDECIDED, Position, Rules
from dpsan.only.view import GAP, KEPT, Codes, Flags, Indices, Ints, Shorts, View, among


def _context(rules: Rules, found: Packed, name: str) -> Indices:
    """Return the words of a kind, ascending."""
    tests = [test for test in rules.contexts[name] if found.present[test]]
    places = [found.begins([test]) for test in tests] or [np.zeros(0, np.intp)]
    return np.flatnonzero(np.bincount(np.concatenate(places))) if places[1:] else places[0]


class Match:
    """One run of the rules over one view."""

    def __init__(self, rules: Rules, view: View) -> None:
        self.rules, self.view, self._tests = rules, view, rules.tests
        self.group = np.zeros(len(view.label), np.int16)
        """Group of each token: :data:`UNDECIDED`, :data:`PASS`, or what draws it."""
        self.rule = np.full(len(view.label), -1, np.int16)
        """Index of the rule that decided each token, -1: none."""
        self._free = (view.trigger == 0) & ~view.labelled(KEPT)
        kind = view.label.astype(np.int16) * np.int16(PATTERNS) + view.caps
        self._fields = {"kind": kind, "gap": view.gap, "trigger": view.trigger}
        self._fields |= {"possessive": view.possessive.view(np.uint8), "group": self.group}
        kind_of = Packed if len(kind) <= SMALL else Combined
        self._found = kind_of(rules.packed, self._fields)
        self._groups = 0
        """Groups of which a token is drawn, or was, as bits."""
        self._related: dict[str, Flags] = {}
        words = partial(_context, rules, self._found)  # no method: a cycle would keep all arrays
        self.state = relations.State(view, self.group, rules.codes, words, rules.apart, rules.shown)

    def relation(self, name: str, at: Indices) -> Flags:
        """Return whether a relation holds at some tokens."""
        if name in relations.MOVING:
            return relations.MOVING[name](self.state, at)
        if name in self.rules.countries:
            number = [*self.rules.countries].index(name) + 1
            return np.asarray(self.state.country.take(at) == number)
        if name not in self._related:
            relation = relations.FIXED.get(name) or relations.about(name.removeprefix("of_"))
            self._related[name] = relation(self.state)
        return self._related[name].take(at)

    def holds(self, term: str, at: Indices) -> Flags:
        """Return whether a term holds at some tokens."""
        parsed = self.rules.terms[term]
        tables = parsed.tables.items()
        values = [table.take(self._fields[field].take(at)) for field, table in tables]
        values += [self.relation(name, at) == wanted for name, wanted in parsed.related]
        out: Flags = reduce(or_, values)
        return out

    def places(self, test: int) -> Indices:
        """Return all tokens for which a test holds, ascending."""
        terms = [(term, 0) for term in self._tests[test].others]
        return self._holding(terms, self._found.begins([test]))

    def _holding(self, terms: Sequence[tuple[str, int]], at: Indices) -> Indices:
        """Return those of some tokens for which terms hold, each so many tokens further on."""
        for term, offset in terms:
            if not len(at):
                break
            at = at.compress(self.holds(term, at + offset if offset else at))
        return at

    def _draw(self, position: Position, at: Indices, number: int) -> None:
        """Draw the tokens of one position."""
        open_ = self.group[at] > PASS if position.over else self.group[at] == UNDECIDED
        at = at[self._free[at] & open_]
        if not len(at):
            return
        groups = position.code or self.rules.own_group[self.view.label[at]]
        self.group[at] = groups
        self.rule[at] = number
        for code in {*np.ravel(groups).tolist()}:
            self._groups |= 1 << code

    def run(self) -> Shorts:
        """Apply all rules; returns the group of each token (0 or 1: passes)."""
        rules = self.rules
        present = self._found.present
        tests, starts, pattern_of = rules.pattern_tests
        fewest = np.minimum.reduceat(present.take(tests), starts)
        self._found.look_up(tests[fewest.take(pattern_of) > 0])
        for row in fewest.nonzero()[0].tolist():
            pattern = rules.patterns[row]
            if not all(map(self._groups.__and__, pattern.drawn)):
                continue
            at = self._holding(pattern.terms, self._found.begins(pattern.tests))
            if len(at):
                for offset, position in enumerate(pattern.positions):
                    if position.group:
                        self._draw(position, at + offset, pattern.rule)
        return np.where(rules.kept[self.group], self.group, UNDECIDED).astype(np.int16)


# What is drawn in spans, and in columns of a class, whatever the rules say.

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


def drawn(match: Match, group: Shorts, marked: Codes) -> tuple[Shorts, Ints]:
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
    beside = among(view.gap[1:], [GAP[name] for name in ("space", "hyphen", "dot", "stop")])
    ends = np.append((marked[1:] != marked[:-1]) | ~beside, True)
    for mark in sorted({*marked[free & ~untyped].tolist()}):
        row, of_type = rules.types[mark - UNTYPED - 1], (marked == mark) & free & ~untyped
        names = [name for group in row.groups for name in rules.classes.get(group, [group])]
        codes = rules.codes(names)
        last, before = (rules.group(name) for name in row.groups[:2])
        other = np.where(ends, last, before)
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
