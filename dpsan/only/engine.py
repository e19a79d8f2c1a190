"""Matches compiled rules over a view.

A pattern is looked up at the places where its rarest position holds, and these are read off an
order of the tokens by their codes: a rule whose words do not occur costs nothing, and the time is
linear in the tokens.  Rules run from top to bottom; each one sees what the rules above have drawn.
No rule draws a trigger word.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpsan.only import relations
from dpsan.only.order import Order
from dpsan.only.rules import FIELDS, PASS, PATTERNS, UNDECIDED, Position, Rules
from dpsan.only.view import KEPT, Flags, View


class Match:
    """One run of the rules over one view."""

    def __init__(self, rules: Rules, view: View) -> None:
        self.rules, self.view, self._tests = rules, view, [*rules.tests.values()]
        self.group = np.zeros(len(view.label), np.int16)
        """Group of each token: :data:`UNDECIDED`, :data:`PASS`, or what draws it."""
        self.rule = np.full(len(view.label), -1, np.int16)
        """Index of the rule that decided each token, -1: none."""
        self._free = (view.trigger == 0) & (view.label != view.labels.index(KEPT))
        kind = view.label.astype(np.int16) * np.int16(PATTERNS) + view.caps
        self._fields = {"kind": kind, "gap": view.gap, "trigger": view.trigger}
        self._fields |= {"possessive": view.possessive.view(np.uint8), "group": self.group}
        self._orders = [Order(rules.tables[field], self._fields[field]) for field in FIELDS]
        sizes = np.array([order.sizes for order in self._orders])
        self._rarest, self._most = sizes.argmin(axis=0).tolist(), sizes.min(axis=0)
        self._sizes = self._most.tolist()
        self._groups = 0
        """Groups of which a token is drawn, or was, as bits."""
        self._places: dict[int, NDArray[np.intp]] = {}
        self._related: dict[str, Flags] = {}
        held = {name: np.zeros(len(kind), np.bool_) for name in rules.contexts}
        for name, test in rules.contexts.items():
            held[name][self.places(test)] = True
        self._state = relations.State(view, self.group, rules.groups, held, rules.apart)

    def relation(self, name: str, at: NDArray[np.intp]) -> Flags:
        """Return whether a relation holds at some tokens."""
        if name in relations.MOVING:
            return relations.MOVING[name](self._state, at)
        if name not in self._related:
            self._related[name] = relations.FIXED[name](self._state)
        return self._related[name].take(at)

    def holds(self, term: str, at: NDArray[np.intp]) -> Flags:
        """Return whether a term holds at some tokens."""
        found = self.rules.terms[term]
        values = [table.take(self._fields[field].take(at)) for field, table in found.tables.items()]
        values += [self.relation(name, at) == wanted for name, wanted in found.related]
        out: Flags = np.logical_or.reduce(values) if len(values) > 1 else values[0]
        return out

    def where(self, test: int, at: NDArray[np.intp], but: str = "") -> NDArray[np.intp]:
        """Return those of some tokens for which a test holds, but for the table of one array."""
        found = self._tests[test]
        for field, table in found.tables.items():
            if field != but:
                at = at.compress(table.take(self._fields[field].take(at)))
        for term in found.others:
            if len(at):
                at = at.compress(self.holds(term, at))
        return at

    def places(self, test: int) -> NDArray[np.intp]:
        """Return all tokens for which a test holds, ascending."""
        if test not in self._places:
            rarest = self._rarest[test]
            at = self._orders[rarest].places(test)
            self._places[test] = self.where(test, at, FIELDS[rarest])
        return self._places[test]

    def _matches(self, pattern: Sequence[Position]) -> NDArray[np.intp]:
        """Return the first tokens of all places where a pattern holds.

        The rarest position is looked up first.
        """
        sizes = [self._sizes[position.test] for position in pattern]
        anchor, *rest = sorted(range(len(pattern)), key=sizes.__getitem__)
        at = self.places(pattern[anchor].test) - anchor
        at = at[(at >= 0) & (at + len(pattern) <= len(self.group))]
        for offset in rest:
            if len(at):
                at = self.where(pattern[offset].test, at + offset) - offset
        for offset, position in enumerate(pattern):
            for term in position.moving:
                if len(at):
                    at = at[self.holds(term, at + offset)]
        return at

    def _draw(self, position: Position, at: NDArray[np.intp], number: int) -> None:
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

    def run(self) -> NDArray[np.int16]:
        """Apply all rules; returns the group of each token (0 or 1: passes)."""
        rules = self.rules
        fewest = np.minimum.reduceat(self._most[rules.pattern_tests], rules.pattern_starts)
        for row in np.flatnonzero(fewest).tolist():
            number, pattern, drawn = rules.patterns[row]
            if not all(groups & self._groups for groups in drawn):
                continue
            at = self._matches(pattern)
            if len(at):
                for offset, position in enumerate(pattern):
                    if position.group:
                        self._draw(position, at + offset, number)
        return np.where(rules.kept[self.group], self.group, UNDECIDED).astype(np.int16)
