"""Texts of which it is decided what is replaced."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.errors import UsageError
from dpsan.only import engine, forms
from dpsan.only.decision import NAMES, Decision
from dpsan.only.hashes import Places, salted
from dpsan.only.lexicon import Lexicon
from dpsan.only.rules import PASS
from dpsan.only.slots import AGE, Unit, Units
from dpsan.only.view import KEPT, Codes, Cut, Ints, View, distinct
from dpsan.sanitize.result import Action, AuditTable
from dpsan.text.batch import Ids, Integers
from dpsan.text.spanned_tokens import KNOWN_TYPES, UNKNOWN_TYPE, Spans

MOST: Final = 1 << 17
"""Different words of a unit that are replaced; with the first new word of a context behind that,
the next unit begins."""


DATES: Final = "dates"
_IN_DATE: Final = re.compile(r",? |[-/.]|\. |")
"""Gaps that join the parts of one date."""
_SHORT: Final = re.compile(r"\d{1,3}[^\W\d_]*|[^\W\d_]")
"""A number or a letter that is put back beside its neighbour alone: 12 Elm."""
_OWNS: Final = re.compile(r"['’‘`]s?\Z", re.IGNORECASE)
KEEP_LIST: Final = "keep-list"
NUMBERS: Final = {"bit": 2, "int1": 8, "int2": 90, "int3": 900}
"""Numbers of each label that may be drawn from a list: doses, hours."""
UNLISTED: Final = ("form of words", "form of strings")
"""By what a word passes that no list has, and a string."""


@dataclass(slots=True)
class Shared:
    """A unit with the words that it has seen; these never reach the draws."""

    number: int
    replacements: Units = field(default_factory=lambda: defaultdict(Unit))
    ids: dict[int, int] = field(default_factory=dict, repr=False)
    """By the hash of a word the key that it has in the unit."""
    drawn: int = 0
    """Replacements drawn under its number."""
    units: int = 1
    """Units so far: a long file has several."""
    numbers: dict[str, int] = field(default_factory=dict, repr=False)
    """Numbers that were drawn by value, in the order of their appearance."""
    paid: set[str] = field(default_factory=set, repr=False)
    """Those whose loss is counted."""
    originals: dict[tuple[str, ...], None] = field(default_factory=dict, repr=False)
    """Original and replacement of its words, of a unit that lasts."""

    def next_draw(self) -> tuple[int, int]:
        """Return the position of the stream of its next word, under a key of named units."""
        self.drawn += 1
        return self.number, self.drawn


def same_words(hashes: Integers, unit: Ints) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first of each word of a unit, and for each word the index of these."""
    return distinct(salted(hashes, unit))


@dataclass(frozen=True, eq=False)
class Decided:
    """Texts of which it is decided what is drawn."""

    decision: Decision
    keys: Integers = field(repr=False)
    """Hash of the word of each drawn token."""
    pieces: dict[int, tuple[int, ...]] = field(repr=False)
    """By the row of an address the hashes of its pieces."""
    between: list[str] = field(repr=False)
    """What stands behind each of :attr:`order`."""
    order: NDArray[np.intp]
    """Drawn tokens, articles and edges in the order of the text, numbered in this order."""
    breaks: dict[int, int]
    """By the row of a token the line breaks in it."""
    counts: dict[Action, int]
    smallest: int
    """Fewest words of a label that was drawn."""
    plain_names: int
    """Words that pass with a capital and are names too: a name among them was missed."""
    foreign: int
    """Positive if the text is hardly English."""
    tokens: AuditTable | None
    """All tokens, for an audit; ``output_ids`` has the row of each among what is written, articles
    behind drawn ones."""
    originals: list[str] = field(default_factory=list, repr=False)
    """The drawn words with their possessives, for a map."""
    numbers: dict[int, str] = field(default_factory=dict, repr=False)
    """By their rows the numbers that are drawn by value."""

    @property
    def texts(self) -> int:
        """Return the number of texts."""
        return len(self.order) - len(self.decision.at) - len(self.decision.articles) - 1

    def in_units(self, unit: Ints) -> "Decided":
        """Return the same with another unit of each drawn token."""
        return replace(self, decision=replace(self.decision, unit=unit))

    def unit_keys(self, units: Sequence[Shared]) -> Ids:
        """Return a key of each drawn token: the same for equal words of a unit, and for no others.

        Args:
            units: by their number in the decision; they grow.
        """
        decision, hashes = self.decision, self.keys
        first, inverse = same_words(hashes, decision.unit)
        ids = [shared.ids for shared in units]
        ending = max(map(len, ids), default=0) + len(first) > MOST
        if ending:  # a unit may end here: one word after the other
            first = inverse = np.arange(len(hashes))
        order = first.argsort()
        columns = (hashes[first[order]], decision.unit[first[order]], decision.text[first[order]])
        last: dict[int, int] = {}
        keys: list[int] = []
        for value, number, text in zip(*(column.tolist() for column in columns), strict=True):
            keys_of = ids[number]
            if ending and value not in keys_of:
                if len(keys_of) > MOST and text != last.get(number):
                    keys_of.clear()
                    units[number].units += 1
                last[number] = text
            keys.append(keys_of.setdefault(value, len(keys_of)) + (units[number].units << AGE))
        in_order = np.empty(len(first), np.int64)
        in_order[order] = keys
        return in_order[inverse]

    def address_names(self, units: Sequence[Shared], keys: Ids) -> dict[int, tuple[Cut, ...]]:
        """Return by the row of an address the pieces of its local part, with the keys of the unit.

        A piece that no name of its text is, is a word of the unit: ``~key``.

        Args:
            units: by their number in the decision; they grow. None: each word has a key of its
                own in all texts.
            keys: of each row.
        """
        decision = self.decision
        names: dict[int, tuple[Cut, ...]] = {}

        def piece(row: int, value: int) -> int | str:
            """Return what stands for a piece that no name of its text is."""
            shared = units[int(decision.unit[row])]
            if int(keys[row]) >> AGE != shared.units:
                return forms.LARGE  # the unit of a long file has ended
            return ~(shared.ids.setdefault(value, len(shared.ids)) + (shared.units << AGE))

        def in_unit(name: int, row: int) -> int | str:
            """Return the key of a name in the unit of an address; a mark if that lacks it."""
            age = int(keys[row]) >> AGE
            if not units or int(keys[name]) >> AGE == age:
                return int(keys[name])
            same = (decision.key == decision.key[name]) & (keys >> AGE == age)
            same &= np.isin(decision.group, [*map(decision.groups.index, NAMES)])
            rows = (same & (decision.unit == decision.unit[row])).nonzero()[0]
            return int(keys[rows[0]]) if len(rows) else forms.LARGE

        for row, parts in decision.locals.items():
            cuts: list[Cut] = []
            for cut, value in zip(parts, self.pieces.get(row, (0,) * len(parts)), strict=True):
                if cut == (forms.LARGE,) and value and units:
                    cuts.append((piece(row, value),))
                else:
                    cuts.append(tuple(p if isinstance(p, str) else in_unit(p, row) for p in cut))
            names[row] = tuple(cuts)
        return names

    def replaced(
        self, tokens: Sequence[str], classes: Sequence[str | None]
    ) -> list[list[tuple[str, str, str]]]:
        """Return of each text the original, the replacement and the class of its drawn words.

        They have no possessive, but for one more row where only the replacement takes an s.
        """
        rows: list[list[tuple[str, str, str]]] = [[] for _ in range(self.texts)]
        decision = self.decision
        columns = (decision.possessive.tolist(), decision.group.tolist(), decision.text.tolist())
        for word, token, owns, group, text in zip(self.originals, tokens, *columns, strict=True):
            original, bare, of = word, token.rstrip("\n"), classes[group] or ""
            if bare != token:  # a cut word, or a phrase over a line's end, has the break behind it
                original = " ".join(word.replace("-\n", "").split())
            if owns and original[-1] not in "sS" and bare[-1] in "sS":
                rows[text].append((original, bare, of))
            if owns:
                original, bare = _OWNS.sub("", original), _OWNS.sub("", bare)
            rows[text].append((original, bare, of))
        behind = dict(zip(self.order.tolist(), self.between, strict=True))
        dated = np.array([classes[group] == DATES for group in decision.group.tolist()], np.bool_)
        near = dated[1:] & dated[:-1] & (decision.text[1:] == decision.text[:-1])
        joined = [at and _IN_DATE.fullmatch(behind[row]) for row, at in enumerate(near.tolist())]
        wholes: list[tuple[int, int, str]] = []
        """What is put back as a whole, as its parts are too short: first row, end and class."""
        first = 0
        for row, inside in enumerate([*joined, None], 1) if len(dated) else ():
            if not inside:
                wholes += [(first, row, DATES)] * (row - first > 1)
                first = row
        short = [_SHORT.fullmatch(token) is not None for token in tokens]
        texts = decision.text.tolist()
        for row, pair in enumerate(pairwise(short)):
            if pair[0] != pair[1] and texts[row] == texts[row + 1] and behind[row] == " ":
                wholes.append((row, row + 2, classes[decision.group[row + pair[0]]] or ""))
        for first, end, of in wholes:
            gaps = [*(behind[row] for row in range(first, end - 1)), ""]
            original, token = (
                "".join(chain.from_iterable(zip(words[first:end], gaps, strict=True)))
                for words in (self.originals, tokens)
            )
            rows[texts[first]].append((original, token, of))
        return rows

    def lines(self, written: Sequence[str]) -> list[str]:
        """Return the texts with what is written in place of drawn tokens and articles."""
        edges = (self.order >= len(written)).nonzero()[0].tolist()
        tokens = [*written, *[""] * len(edges)]
        parts = [""] * (2 * len(self.between))
        parts[::2], parts[1::2] = map(tokens.__getitem__, self.order.tolist()), self.between
        return ["".join(parts[2 * first : 2 * last]) for first, last in pairwise(edges)]

    def table(
        self, written: Sequence[str], paid: Sequence[int], rules: Sequence[str]
    ) -> AuditTable:
        """Return the audit of what was written.

        Args:
            written: outputs of drawn tokens, then articles.
            paid: rows of the numbers by value that are charged.
            rules: names of the rules.
        """
        tokens, decision = self.tokens, self.decision
        assert tokens is not None  # noqa: S101 - an audit was requested
        rows = tokens.output_ids.tolist()
        reasons = [
            (decision.groups[group], rules[rule] if rule >= 0 else "span")
            for group, rule in zip(decision.group.tolist(), decision.rule.tolist(), strict=True)
        ]
        pairs = zip(tokens.originals, rows, strict=True)
        return replace(
            tokens,
            outputs=[text if row < 0 else written[row] for text, row in pairs],
            output_ids=tokens.input_ids,
            first=np.isin(rows, paid),
            reasons=[reasons[row] if 0 <= row < len(reasons) else None for row in rows],
        )


@dataclass(frozen=True, slots=True)
class DecidedTexts:
    """Parts of a unit of which it is decided what is drawn."""

    blocks: list[Decided]
    """Of their contexts, some at a time."""
    counts: list[int]
    """How many contexts each part has."""
    invisible: int = 0
    """Invisible characters that were dropped."""


def marked_by(
    view: View, places: Places, spans: Sequence[Spans], marks: Mapping[str, int]
) -> Codes:
    """Return the mark of the span that touches each token.  Raises UsageError: an unknown type."""
    marked = np.zeros(len(view.label), np.uint8)
    first = places.after[view.edge.nonzero()[0]]
    for text, of_text in enumerate(spans):
        for start, end, *kind in of_text:
            mark = marks.get("".join(kind).lower())
            if mark is None:
                raise UsageError(UNKNOWN_TYPE, KNOWN_TYPES)
            begin = places.after.searchsorted(first[text] + start, "right")
            marked[begin : places.start.searchsorted(first[text] + end)] = mark
    marked[view.edge] = 0
    return marked


def passed_by(
    match: engine.Match, places: Places, lexicon: Lexicon, drawn: Ids, at: NDArray[np.intp]
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
    reason[view.labelled(KEPT)[at]] = len(names) + len(unchosen)
    names += [*unchosen, KEEP_LIST]
    passing = (~np.isin(at, drawn)).tolist()
    return [names[by] if free else None for by, free in zip(reason.tolist(), passing, strict=True)]


_OPEN: Final = ("derived", "unknown", "camel")
"""Labels of words that no list has, or few of them: nobody can count them."""


def label_sizes(
    lexicon: Lexicon, labels: Sequence[str], user_lists: Mapping[str, Sequence[str]]
) -> Ids:
    """Return the number of listed words of each label, by column of ``codes``: (3, labels).

    Args:
        lexicon: public lists.
        labels: of a view.
        user_lists: words of lists of one's own by their labels.
    """
    sizes = np.zeros((3, len(labels)), np.int64)
    phrases = np.bincount(lexicon.phrase_codes, minlength=len(labels))
    for column in range(3):
        sizes[column] = np.bincount(lexicon.codes[:, column], minlength=len(labels)) + phrases
    for name, words in user_lists.items():
        sizes[:, labels.index(name)] = len(words)
    for label, size in NUMBERS.items():
        sizes[:, labels.index(label)] = size
    sizes[:, [labels.index(label) for label in _OPEN]] = 0
    return sizes
