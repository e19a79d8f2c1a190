"""Rules as data: reads rules.tsv, compiles its patterns to tables, matches them over a view.

A pattern is a row of positions.  Each position is an AND of ORs of atoms, and an atom is a table
over the codes of one array of the view, or a relation.  The ANDs of one array are one table; label
and capitals count as one array, the *kind* of a token.  A position is looked up at the places where
the rarest position of its pattern holds, and these are read off an order of the tokens by their
codes: a rule whose words do not occur costs nothing, and the time is linear in the tokens.  Rules
run from top to bottom; each one sees what the rules above have drawn.  No rule draws a trigger
word.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.only import relations
from dpsan.only.order import Order
from dpsan.only.view import (
    EDGE,
    GAP,
    KEPT,
    LOWER,
    MIXED,
    NONE,
    ONE,
    TITLE,
    UPPER,
    Flags,
    View,
)

PASS, UNDECIDED = 1, 0
"""Codes of groups: a token that passes for good, and one that no rule has drawn."""
OWN: Final = "own"
"""The group of a token's label; before a name, that of a list of one's own."""
_CAPS: Final = {
    "small": [LOWER],
    "title": [TITLE],
    "upper": [UPPER],
    "one": [ONE],
    "mixed": [MIXED],
    "cap": [TITLE, UPPER, MIXED],
}
_POSITION: Final = re.compile(
    r"(?:(?P<gaps>[a-z|]+):(?=[^:]))?(?P<element>[^={]+)(?:\{(\d),(\d)\})?(?:(=>?)(\w+))?"
)
_CODES: Final = 2048
"""Codes that a table has: more than there are kinds, groups or trigger words."""
_ANY: Final = np.ones(_CODES, np.bool_)
_NOWHERE: Final = np.zeros(0, np.intp)
FIELDS: Final = ("kind", "gap", "trigger", "possessive")
"""Arrays of the view that tests read."""
_PATTERNS: Final = NONE + 1
"""Patterns of capitals: kinds of each label."""


@dataclass(frozen=True)
class Position:
    """One position of a pattern: what must hold there, and what is drawn."""

    test: int
    """Number of what the view alone tells, see :attr:`Rules.tests`."""
    moving: tuple[str, ...]
    """Keys of the terms that read what is drawn so far."""
    group: str | None
    over: bool
    """Whether it may draw again what is drawn."""


@dataclass(frozen=True)
class Rule:
    """A row: the patterns of fixed length that its repetitions stand for."""

    name: str
    body: str
    why: str
    patterns: tuple[tuple[Position, ...], ...]


@dataclass(frozen=True)
class Term:
    """An OR of atoms: a table over the codes of each array, and relations with their signs."""

    tables: dict[str, Flags]
    related: tuple[tuple[str, bool], ...] = ()


@dataclass(frozen=True)
class Test:
    """An AND of terms: a table for each array, and the terms that read several or relations."""

    tables: dict[str, Flags]
    others: tuple[str, ...]


class Rules:
    """Compiled rules for one list of labels.

    Args:
        text: content of rules.tsv.
        labels: of the view.
        own: labels of lists of one's own, which are drawn first.
        lower: whether the rules for texts without capitals run too.

    Raises:
        ValueError: a row that is no rule; the rules are part of the program.
    """

    def __init__(
        self, text: str, labels: Sequence[str], own: Sequence[str] = (), *, lower: bool = False
    ) -> None:
        self.labels = tuple(labels)
        rows = [line.split("\t") for line in text.splitlines()]
        rows = [row for row in rows if len(row) > 2 and not row[0].startswith("#")]
        rows = [["rule", "own list", f"{label}={OWN}", "a word of it"] for label in own] + rows
        self._sets = {row[1]: row[2].split() for row in rows if row[0] == "labels"}
        self._group_sets = {row[1]: row[2].split() for row in rows if row[0] == "groups"}
        pairs = [pair.split("=") for row in rows if row[0] == OWN for pair in row[2].split()]
        self._own = dict(pairs)
        self._elements = {row[1]: row[2] for row in rows if row[0] == "element"}
        self._words = {row[1]: row[2].split() for row in rows if row[0] == "words"}
        self.triggers = sorted(set(itertools.chain.from_iterable(self._words.values())))
        """Words that rules may know by name; the code of each is its position plus 1."""
        self.classes = {row[1]: row[2].split() for row in rows if row[0] == "class"}
        """Class -> its groups."""
        self.groups = ["undecided", "pass"]
        self.terms: dict[str, Term] = {}
        self.tests: dict[tuple[str, ...], Test] = {}
        """By their terms the tests of positions, in the order of their numbers."""
        self.rules = [
            Rule(row[1], row[2], row[3] if len(row) > 3 else "", self._patterns(row[2]))
            for row in rows
            if row[0] == "rule" or (lower and row[0] == "lower")
        ]
        self.contexts = {
            row[1]: self._test([self._term(row[2])]) for row in rows if row[0] == "context"
        }
        """Numbers of the tests that relations read, by their names."""
        widths = len(self.labels) * _PATTERNS, len(GAP), len(self.triggers) + 1, 2
        self.tables = {
            field: np.array([t.tables.get(field, _ANY)[:width] for t in self.tests.values()])
            for field, width in zip(FIELDS, widths, strict=True)
        }
        """Of each array the tables of all tests: (tests, codes)."""
        group_of = [self._own.get(label, label.rstrip("?")) for label in self.labels]
        self.own_group = np.array([self.group(name) for name in group_of], np.int16)
        self.class_of = {group: name for name, groups in self.classes.items() for group in groups}
        self.kept = np.ones(len(self.groups), np.bool_)
        """True for the groups that are drawn."""

    def draw_classes(self, names: Iterable[str]) -> None:
        """Draw the groups of some classes alone; the others stay a context of the rules."""
        wanted = {group for name in names for group in self.classes.get(name, [name])}
        self.kept = np.array([group in wanted for group in self.groups])

    def group(self, name: str) -> int:
        """Return the code of a group."""
        if name not in self.groups:
            self.groups.append(name)
        return self.groups.index(name)

    def trigger_codes(self, name: str) -> list[int]:
        """Return the codes of a set of trigger words."""
        return [self.triggers.index(word) + 1 for word in self._words.get(name, ())]

    def codes(self, names: Iterable[str]) -> list[int]:
        """Return the codes of the groups that occur in a rule or label."""
        return [self.groups.index(name) for name in names if name in self.groups]

    def _patterns(self, text: str) -> tuple[tuple[Position, ...], ...]:
        """Return the patterns of fixed length, longest first."""
        choices = []
        for number, part in enumerate(text.split(" ")):
            match = _POSITION.fullmatch(part)
            if match is None:
                raise ValueError(f"no position: {part!r}")
            gaps, element, low, high, arrow, group = match.groups()
            terms = self._element(element)
            if gaps is None and number and not any("~" in term for term in terms):
                gaps = "space"
            if gaps and gaps != "any":
                terms.append(self._term("|".join("~" + gap for gap in gaps.split("|"))))
            if not any(EDGE in term.split("|") for term in terms):
                terms.append(self._term(f"!{EDGE}"))
            if arrow and group not in (OWN, "pass"):
                self.group(group)
            moving = tuple(term for term in terms if self._moves(term))
            fixed = self._test(term for term in terms if term not in moving)
            position = Position(fixed, moving, group, arrow == "=>")
            counts = range(int(high or 1), int(low or 1) - 1, -1)
            choices.append([[position] * count for count in counts])
        found = [tuple(itertools.chain(*choice)) for choice in itertools.product(*choices)]
        return tuple(sorted(found, key=len, reverse=True))

    def _test(self, terms: Iterable[str]) -> int:
        """Return the number of the AND of some terms."""
        key = tuple(sorted(set(terms)))
        if key not in self.tests:
            tables: dict[str, Flags] = {}
            others = []
            for name in key:
                term = self.terms[name]
                if term.related or len(term.tables) > 1:
                    others.append(name)
                else:
                    ((field, table),) = term.tables.items()
                    tables[field] = tables.get(field, _ANY) & table
            self.tests[key] = Test(tables, tuple(others))
        return [*self.tests].index(key)

    def _element(self, text: str) -> list[str]:
        """Return the terms of an element; the names of `element` rows are written out."""
        terms: list[str] = []
        for term in text.split("&"):
            if term in self._elements:
                terms += self._element(self._elements[term])
            else:
                terms.append(self._term(term))
        return terms

    def _term(self, text: str) -> str:
        """Compile one OR of atoms to a table per array; returns its key."""
        if text in self.terms:
            return text
        tables: dict[str, Flags] = {}
        related: list[tuple[str, bool]] = []
        for atom in text.split("|"):
            holds, name = not atom.startswith("!"), atom.lstrip("!")
            field, codes = self._atom(name)
            if field == "relation":
                related.append((name, holds))
            else:
                mask = np.zeros(_CODES, np.bool_)
                mask[list(codes)] = True
                table = tables.setdefault(field, np.zeros(_CODES, np.bool_))
                table |= mask if holds else ~mask
        self.terms[text] = Term(tables, tuple(related))
        return text

    def _atom(self, name: str) -> tuple[str, Iterable[int]]:
        """Return the array that an atom reads, and the codes for which it holds."""
        if name == "any":
            return "kind", range(_CODES)
        if name.startswith("~"):
            return "gap", [GAP[name[1:]]]
        if name in _CAPS:
            codes = itertools.product(range(0, _CODES - NONE, _PATTERNS), _CAPS[name])
            return "kind", map(sum, codes)
        if name == "owns":
            return "possessive", [1]
        if name == "trigger":
            return "trigger", range(1, _CODES)
        if name == "drawn":
            return "group", range(2, _CODES)
        if name.startswith("drawn/"):
            groups = self._group_sets.get(name[6:], [name[6:]])
            return "group", [self.group(group) for group in groups]
        if name in self._words:
            return "trigger", [self.triggers.index(word) + 1 for word in self._words[name]]
        if name in relations.RELATIONS:
            return "relation", []
        members = itertools.chain(
            *(self._sets.get(member, [member]) for member in self._sets.get(name, [name]))
        )
        first = (self.labels.index(label) * _PATTERNS for label in members)
        return "kind", [code + caps for code in first for caps in range(_PATTERNS)]

    def _moves(self, term: str) -> bool:
        """Return whether a term reads what is drawn."""
        found = self.terms[term]
        moving = any(relations.RELATIONS[name].moves for name, _ in found.related)
        return "group" in found.tables or moving


class Match:
    """One run of the rules over one view."""

    def __init__(self, rules: Rules, view: View) -> None:
        self.rules, self.view, self._tests = rules, view, [*rules.tests.values()]
        self.group = np.zeros(len(view.label), np.int16)
        """Group of each token: :data:`UNDECIDED`, :data:`PASS`, or what draws it."""
        self.rule = np.full(len(view.label), -1, np.int16)
        """Index of the rule that decided each token, -1: none."""
        self._free = (view.trigger == 0) & (view.label != view.labels.index(KEPT))
        kind = view.label.astype(np.int16) * np.int16(_PATTERNS) + view.caps
        self._fields = {"kind": kind, "gap": view.gap, "trigger": view.trigger}
        self._fields |= {"possessive": view.possessive.view(np.uint8), "group": self.group}
        self._orders = [Order(rules.tables[field], self._fields[field]) for field in FIELDS]
        sizes = np.array([order.sizes for order in self._orders])
        self._rarest, self._sizes = sizes.argmin(axis=0).tolist(), sizes.min(axis=0).tolist()
        self._places: dict[int, NDArray[np.intp]] = {}
        self._version = 0
        self._related: dict[str, tuple[int, Flags]] = {}
        held = {name: np.zeros(len(kind), np.bool_) for name in rules.contexts}
        for name, test in rules.contexts.items():
            held[name][self.places(test)] = True
        self._state = relations.State(view, self.group, rules.groups, held)

    def relation(self, name: str) -> Flags:
        """Return the array of a relation; computed again only when something was drawn."""
        moves = relations.RELATIONS[name].moves
        if name not in self._related or (moves and self._related[name][0] != self._version):
            self._related[name] = self._version, relations.RELATIONS[name].compute(self._state)
        return self._related[name][1]

    def holds(self, term: str, at: NDArray[np.intp]) -> Flags:
        """Return whether a term holds at some tokens."""
        found = self.rules.terms[term]
        values = [table[self._fields[field][at]] for field, table in found.tables.items()]
        values += [self.relation(name)[at] == wanted for name, wanted in found.related]
        out: Flags = np.logical_or.reduce(values) if len(values) > 1 else values[0]
        return out

    def where(self, test: int, at: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return those of some tokens for which a test holds."""
        found = self._tests[test]
        for field, table in found.tables.items():
            at = at[table[self._fields[field][at]]]
        for term in found.others:
            if len(at):
                at = at[self.holds(term, at)]
        return at

    def places(self, test: int) -> NDArray[np.intp]:
        """Return all tokens for which a test holds, ascending."""
        if test not in self._places:
            at = self._orders[self._rarest[test]].places(test)
            self._places[test] = self.where(test, at)
        return self._places[test]

    def _matches(self, pattern: Sequence[Position]) -> NDArray[np.intp]:
        """Return the first tokens of all places where a pattern holds.

        The rarest position is looked up first.
        """
        sizes = [self._sizes[position.test] for position in pattern]
        anchor, *rest = sorted(range(len(pattern)), key=sizes.__getitem__)
        if not sizes[anchor]:
            return _NOWHERE
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
        if position.group == OWN:
            self.group[at] = self.rules.own_group[self.view.label[at]]
        else:
            self.group[at] = self.rules.groups.index(str(position.group))
        self.rule[at] = number
        self._version += 1

    def run(self) -> NDArray[np.int16]:
        """Apply all rules; returns the group of each token (0 or 1: passes)."""
        for number, rule in enumerate(self.rules.rules):
            for pattern in rule.patterns:
                at = self._matches(pattern)
                if len(at):
                    for offset, position in enumerate(pattern):
                        if position.group:
                            self._draw(position, at + offset, number)
        return np.where(self.rules.kept[self.group], self.group, UNDECIDED).astype(np.int16)
