"""Rules as data: reads rules.tsv and compiles its patterns to tables.

A pattern is a row of positions.  Each position is an AND of ORs of atoms, and an atom is a table
over the codes of one array of the view, or a relation.  The ANDs of one array are one table; label
and capitals count as one array, the *kind* of a token.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, product
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsan.only import relations
from dpsan.only.packed import packed
from dpsan.only.view import CODES, EDGE, GAP, LOWER, MIXED, NONE, ONE, TITLE, UPPER, Flags

PASS, UNDECIDED = 1, 0
"""Codes of groups: a token that passes for good, and one that no rule has drawn."""
OWN: Final = "own"
"""The group of a token's label; before a name, that of a list of one's own."""
UNCHOSEN: Final = "unchosen"
"""Atom: drawn from a group of a class that is not chosen, so the token would pass."""
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
_DRAWN: Final = re.compile(r"drawn[\w/]*(?:\|drawn[\w/]*)*")
"""Terms that only drawn words pass."""
_ANY: Final = np.ones(CODES, np.bool_)
FIELDS: Final = ("kind", "gap", "possessive", "trigger")
"""Arrays of the view that tests read."""
PATTERNS: Final = NONE + 1
"""Patterns of capitals: kinds of each label."""


@dataclass(frozen=True)
class Position:
    """One position of a pattern: what must hold there, and what is drawn."""

    test: int
    """Number of what the view alone tells, see :attr:`Rules.tests`."""
    moving: tuple[str, ...]
    """Keys of the terms that read what is drawn so far."""
    group: str | None
    code: int
    """Code of the group; that of :data:`OWN` and of no group is 0."""
    over: bool
    """True if it may draw again what is drawn."""


@dataclass(frozen=True)
class Rule:
    """A row: the patterns of fixed length that its repetitions stand for."""

    name: str
    body: str
    why: str
    patterns: tuple[tuple[Position, ...], ...]


class Pattern(NamedTuple):
    """A pattern of a rule."""

    rule: int
    """Index of the rule."""
    positions: tuple[Position, ...]
    tests: list[int]
    """Test of each position."""
    terms: list[tuple[str, int]]
    """Further terms and their positions: those of tests, and then those that read what is drawn."""
    drawn: tuple[int, ...]
    """Sets of groups, as bits: of each some token is drawn where the pattern holds."""


@dataclass(frozen=True)
class SpanType:
    """A row of types: what is drawn in spans of its names."""

    names: list[str]
    groups: list[str]
    """Group of the last word, group of the words before it, further groups and classes."""
    passes: int
    """Number of a test; words for which it holds pass. -1: none."""


@dataclass(frozen=True)
class Term:
    """An OR of atoms: a table over the codes of each array, and relations with their signs."""

    tables: dict[str, Flags]
    related: tuple[tuple[str, bool], ...]
    moves: bool
    """True if the term reads which tokens are drawn."""


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
        lists: labels of lists of one's own, which are drawn first, and the types as which they are;
            nothing: each from its list.

    Raises:
        ValueError: a row that is no rule; the rules are part of the program.
    """

    def __init__(self, text: str, labels: Sequence[str], lists: Mapping[str, str]) -> None:
        self.labels = {label: code for code, label in enumerate(labels)}
        """Code of each label, ascending."""
        rows = [line.split("\t") for line in text.splitlines()]
        rows = [row for row in rows if len(row) > 2 and not row[0].startswith("#")]
        types = [row for row in rows if row[0] == "type"]
        self.type_groups = {name: row[2].split()[0] for row in types for name in row[1].split()}
        """Group of single words of each type."""
        drawn = ((label, self.type_groups.get(name, OWN)) for label, name in lists.items())
        rows = [["rule", "own list", f"{label}={group}", ""] for label, group in drawn] + rows
        self._sets = {row[1]: row[2].split() for row in rows if row[0] == "labels"}
        self.classes = {row[1]: row[2].split() for row in rows if row[0] == "class"}
        """Class -> its groups."""
        sets = {row[1]: row[2].split() for row in rows if row[0] == "groups"}
        self._group_sets = self.classes | sets
        self.apart = self.classes["health"] + sets["apart"]
        """Groups of words that stand beside no name."""
        (own,) = (row[2] for row in rows if row[0] == OWN)
        self._own: dict[str, str] = dict(re.findall(r"(\S+)=(\w+)", own))
        self._elements = {row[1]: row[2] for row in rows if row[0] == "element"}
        self._read: dict[str, list[str]] = {}
        """Terms of the elements so far."""
        self._words = {row[1]: row[2].split() for row in rows if row[0] == "words"}
        words = sorted({*chain(*self._words.values())})
        self.triggers = dict(zip(words, range(1, len(words) + 1), strict=True))
        """Codes of the words that rules may know by name, ascending."""
        self.countries = {row[1]: re.compile(row[3]) for row in rows if row[0] == "country"}
        """Forms of strings that show a country."""
        self.shown = self.countries
        """Countries that decide: all or none."""
        self.groups = ["undecided", "pass"]
        self._codes = {name: code for code, name in enumerate(self.groups)}
        self._listed: dict[tuple[int, tuple[str, ...]], list[int]] = {}
        """Codes of groups, by how many groups there are and their names."""
        self.terms: dict[str, Term] = {}
        self.tests: list[Test] = []
        """Tests of positions, by their numbers."""
        self._numbers: dict[tuple[str, ...], int] = {}
        self.rules = [
            Rule(row[1], row[2], row[3] if len(row) > 3 else "", self._patterns(row[2]))
            for row in rows
            if row[0] == "rule"
        ]
        self.contexts = {
            row[1]: [self._test(self._element(atom)) for atom in row[2].split("|")]
            for row in rows
            if row[0] in ("context", "country", "area")
        }
        """Numbers of the tests of which relations read any, by their names."""
        self.areas = [row[1] for row in rows if row[0] == "area"]
        """Contexts that are an area of medicine and a weight."""
        self.types = [
            SpanType(
                row[1].split(), row[2].split(), self._test(self._element(row[3])) if row[3:] else -1
            )
            for row in types
        ]
        widths = len(self.labels) * PATTERNS, len(GAP), 2, len(self.triggers) + 1
        self.packed = {
            field: packed([test.tables.get(field, _ANY)[:width] for test in self.tests])
            for field, width in zip(FIELDS, widths, strict=True)
        }
        """Tables of all tests, by array."""
        group_of = [self._own.get(label, label.rstrip("?")) for label in self.labels]
        self.own_group = np.array([self.group(name) for name in group_of], np.int16)
        self.class_of = {group: name for name, groups in self.classes.items() for group in groups}
        for name in self.class_of:  # also those that no row draws: who lists groups has all of them
            self.group(name)
        self._roles = {
            trigger: row[1] for row in rows if row[0] == "role" for trigger in row[2].split()
        }
        self.written = np.arange(len(self.groups), dtype=np.int16)
        """The group from which each group is drawn: its own."""
        nouns = {name for name in self.classes["health"] if not name.endswith(("abbr", "_de"))}
        self.nouns = np.array([name in nouns for name in self.groups])
        """True for groups of health words: what stands for an abbreviation needs no capitals."""
        self.brands = np.array([name in sets["brands"] for name in self.groups])
        """True for groups of brands: Toyota may stand for BMW."""
        self.kept = np.ones(len(self.groups), np.bool_)
        """True for the groups that are drawn."""

    @cached_property
    def patterns(self) -> list[Pattern]:
        """The patterns of all rules from top to bottom, with what must be there for one to hold."""
        return [
            self._pattern(number, positions)
            for number, rule in enumerate(self.rules)
            for positions in rule.patterns
        ]

    @cached_property
    def pattern_tests(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """Tests of the positions of all patterns, where those of each begin, and its index."""
        sizes = [len(row.tests) for row in self.patterns]
        tests = np.array([*chain.from_iterable(row.tests for row in self.patterns)])
        return tests, np.cumsum([0, *sizes])[:-1], np.arange(len(sizes)).repeat(sizes)

    def _pattern(self, number: int, positions: tuple[Position, ...]) -> Pattern:
        tests = [position.test for position in positions]
        terms = [(term, at) for at, test in enumerate(tests) for term in self.tests[test].others]
        terms += [(term, at) for at, position in enumerate(positions) for term in position.moving]
        terms.sort(key=lambda pair: len(self.terms[pair[0]].related))  # they take longer
        drawn = {*chain.from_iterable(map(self._drawn, positions))}
        return Pattern(number, positions, tests, terms, tuple(drawn))

    def _drawn(self, position: Position) -> Iterator[int]:
        """Yield sets of groups, as bits, of which a position has one."""
        for term in map(self.terms.__getitem__, position.moving):
            if not term.related and [*term.tables] == ["group"] and not term.tables["group"][0]:
                bits = np.packbits(term.tables["group"], bitorder="little")
                yield int.from_bytes(bits.tobytes(), "little")

    def draw_classes(self, names: Iterable[str]) -> None:
        """Draw the groups of some classes alone; the others stay a context of the rules."""
        wanted = {group for name in names for group in self.classes.get(name, [name])}
        self.kept = np.array([group in wanted for group in self.groups])
        passing = [code for code, keep in enumerate(self.kept.tolist()) if code > PASS and not keep]
        for text, term in self.terms.items():
            if UNCHOSEN in text.split("|"):
                term.tables["group"][passing] = True

    def join_roles(self) -> None:
        """Draw all names from one group, and all places from another; of no area of medicine."""
        names = [self._roles.get(name, name) for name in self.groups]
        self.written, self.areas = np.array([*map(self.group, names)], np.int16), []

    @property
    def pieces(self) -> tuple[str, str]:
        """Return the groups of the last of several pieces of an address, and of others."""
        codes = self.written[[self.group("surname"), self.group("given_x")]].tolist()
        last, other = (self.groups[code] for code in codes)
        return last, other

    def group(self, name: str) -> int:
        """Return the code of a group."""
        if name not in self._codes:
            self._codes[name] = len(self.groups)
            self.groups.append(name)
        return self._codes[name]

    def trigger_codes(self, name: str) -> list[int]:
        """Return the codes of the trigger words of a set, such as those before a letter."""
        return [*map(self.triggers.__getitem__, self._words.get(name, ()))]

    @cached_property
    def unclassed(self) -> Flags:
        """True for labels of which no class has the group."""
        return np.array([self.groups[at] not in self.class_of for at in self.own_group.tolist()])

    @cached_property
    def named(self) -> Flags:
        """True for labels of lists that say what the word is."""
        kinds = {label for label, group in self._own.items() if group in self.apart}
        names = {*self.groups, *(f"{name}?" for name in self.groups), "letter"} | kinds
        return np.array([label in names for label in self.labels])

    def label_codes(self, name: str) -> list[int]:
        """Return the codes of a set of labels, or of one label."""
        names = self._sets.get(name, [name])
        members = chain(*(self._sets.get(member, [member]) for member in names))
        return [*map(self.labels.__getitem__, members)]

    def codes(self, names: Iterable[str]) -> list[int]:
        """Return the codes of the groups that occur in a rule or label."""
        key = len(self.groups), tuple(names)
        if key not in self._listed:
            self._listed[key] = [self._codes[name] for name in key[1] if name in self._codes]
        return self._listed[key]

    def _patterns(self, text: str) -> tuple[tuple[Position, ...], ...]:
        """Return the patterns of fixed length, longest first."""
        choices = []
        for number, part in enumerate(text.split(" ")):
            match = _POSITION.fullmatch(part)
            if match is None:
                raise ValueError(f"no position: {part!r}")
            gaps, element, low, high, arrow, group = match.groups()
            terms = [*self._element(element)]
            if gaps is None and number and not any("~" in term for term in terms):
                gaps = "space"
            if gaps and gaps != "any":
                terms.append(self._term("|".join("~" + gap for gap in gaps.split("|"))))
            if not any(EDGE in term.split("|") for term in terms):
                terms.append(self._term(f"!{EDGE}"))
            passes = group in (None, "pass") and not any(map(_DRAWN.fullmatch, terms))
            related = chain.from_iterable(self.terms[term].related for term in terms)
            if passes and not relations.ELSEWHERE.keys().isdisjoint(name for name, _ in related):
                raise ValueError(f"reads whether a word that passes equals a drawn one: {part!r}")
            moving = tuple(term for term in terms if self.terms[term].moves)
            fixed = self._test(term for term in terms if term not in moving)
            code = self.group(group) if arrow and group != OWN else UNDECIDED
            position = Position(fixed, moving, group, code, arrow == "=>")
            counts = range(int(high or 1), int(low or 1) - 1, -1)
            choices.append([[position] * count for count in counts])
        patterns = [tuple(chain(*choice)) for choice in product(*choices)]
        return tuple(sorted(patterns, key=len, reverse=True))

    def _test(self, terms: Iterable[str]) -> int:
        """Return the number of the AND of some terms."""
        key = tuple(sorted(set(terms)))
        if key not in self._numbers:
            tables: dict[str, Flags] = {}
            others = []
            for name in key:
                term = self.terms[name]
                if term.related or len(term.tables) > 1:
                    others.append(name)
                else:
                    ((field, table),) = term.tables.items()
                    tables[field] = tables.get(field, _ANY) & table
            self._numbers[key] = len(self.tests)
            self.tests.append(Test(tables, tuple(others)))
        return self._numbers[key]

    def _element(self, text: str) -> list[str]:
        """Return the terms of an element; the names of `element` rows are written out."""
        terms = self._read.setdefault(text, [])
        for term in () if terms else text.split("&"):
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
                mask = np.zeros(CODES, np.bool_)
                mask[list(codes)] = True
                table = tables.setdefault(field, np.zeros(CODES, np.bool_))
                table |= mask if holds else ~mask
        moves = "group" in tables or any(name in relations.MOVING for name, _ in related)
        self.terms[text] = Term(tables, tuple(related), moves)
        return text

    def _atom(self, name: str) -> tuple[str, Iterable[int]]:
        """Return the array that an atom reads, and the codes for which it holds."""
        if name == "any":
            return "kind", range(CODES)
        if name.startswith("~"):
            return "gap", [GAP[name[1:]], GAP["bar" if name == "~open" else name[1:]]]
        if name in _CAPS:
            return "kind", map(sum, product(range(0, CODES - NONE, PATTERNS), _CAPS[name]))
        if name == "owns":
            return "possessive", [1]
        if name == "trigger":
            return "trigger", range(1, CODES)
        if name == "drawn":
            return "group", range(2, CODES)
        if name == UNCHOSEN:
            return "group", []  # see draw_classes
        if name.startswith("drawn/"):
            groups = self._group_sets.get(name[6:], [name[6:]])
            return "group", [self.group(group) for group in groups]
        if name in self._words:
            return "trigger", self.trigger_codes(name)
        if name.startswith("of_") or name in {*relations.FIXED, *relations.MOVING, *self.countries}:
            return "relation", []
        labels = self.label_codes(name)
        return "kind", [code * PATTERNS + caps for code in labels for caps in range(PATTERNS)]
