"""Groups of words and kinds of strings as functions of a token alone, for ``--class``.

With an epsilon no rule may read a neighbour.  A word has the group of the list that labels it in
its usual spelling, whatever capitals it has.  The kind of a string is a function of its *shape*
(:mod:`dpsan.text.shape`), never of its letters or digits: one string stands for all of its shape,
is recognized as with ``--only``, and its form says what may be drawn.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Final, NamedTuple

from dpsan.embeddings.word_lists import CONTACTS
from dpsan.only import dates, forms, strings
from dpsan.only.hashes import Hashes
from dpsan.only.lexicon import Lexicon
from dpsan.only.templates import Piece, finished, local_part, radices, string, template
from dpsan.text.batch import BoundedCache
from dpsan.text.shape import DIGIT, LETTER, MARK, PICTURE, POSSESSIVES, WEB, shape

_YEAR: Final = "2010"
"""Stands for any four digits in a row: a year, if it is alone or part of a date."""
_LONGEST: Final = 48
"""Characters of a string that are drawn; a longer one becomes one of this length."""
_YEARS: Final = frozenset({"year", "yearspan"})
_PICTURES: Final = [*"🙂😀😊👍🎉🌟🌞🍀🌈🎈"]
_ADDRESSES: Final = (
    ("email", re.compile(r"[^@]+@.*")),
    ("handle", re.compile(r"@.*")),
    ("url", re.compile(rf"[{LETTER}].*://.*|W+.*|[^/{LETTER}]*[{LETTER}][^/]*\.[{LETTER}M]+/.*")),
)
"""Group and shape of addresses: a name in them decides nothing."""
_CLASSES: Final = frozenset({LETTER, DIGIT, MARK, PICTURE, WEB})
"""Classes of characters that stand for the characters themselves."""
_COUNTRY: Final = "GB"
"""The first of the countries of an IBAN."""
_CHOICES: Final = [
    (re.compile(forms.pattern(text).replace("x", LETTER)), choices.split())
    for text, choices, *_ in forms.rows("letters")
]
"""Letters that a string of some shape may have: any of them, whichever stood there."""


class Kind(NamedTuple):
    """A kind of strings, and how its strings are written."""

    group: str
    word_class: str
    pieces: tuple[Piece, ...]

    @property
    def sizes(self) -> list[int]:
        """Bounds of the numbers of a string; their product is the number of strings."""
        return radices(self.pieces)

    def write(self, numbers: Sequence[int]) -> str:
        """Return the string of some numbers, each below its bound."""
        return finished(self.group, string(self.pieces, numbers))


class Alone:
    """Groups and kinds by the lists of ``--only``."""

    def __init__(self) -> None:
        rules = [line.split("\t") for line in forms.table_text("rules.tsv").splitlines()]
        self.groups_of = {row[1]: row[2].split() for row in rules if row[0] == "class"}
        """Class -> its groups."""
        self.class_of = {group: name for name, all_ in self.groups_of.items() for group in all_}
        """Group -> its class."""
        pairs = [pair.split("=") for row in rules if row[0] == "own" for pair in row[2].split()]
        self._own = dict(pairs)
        self.lexicon = Lexicon()
        self._kinds = BoundedCache(self._kind, 1 << 14)

    def groups(self, words: Sequence[str]) -> list[str | None]:
        """Return the group of each folded word, None for words of no group."""
        return [*map(self._group, self.lexicon.table.rows(Hashes.of_words([*words])).tolist())]

    def group(self, word: str) -> str | None:
        """Return the group of one folded word."""
        return self._group(self.lexicon.table.row(word))

    def _group(self, row: int) -> str | None:
        return None if row < 0 else self.lexicon.groups[self.lexicon.alone[row]] or None

    def kind(self, token: str) -> Kind | None:
        """Return the kind of a token; None for words."""
        return None if token.isalpha() else self._kinds[_shape(token)]

    def _kind(self, form: str) -> Kind | None:
        """Return the kind of a shape."""
        for group, of_shape in _ADDRESSES:
            if of_shape.fullmatch(form):
                return Kind(group, CONTACTS, tuple(self._address(group)))
        if PICTURE in form:
            return Kind("picture", CONTACTS, (_PICTURES,))
        if DIGIT not in form:
            return None
        text, choices = _stand_in(form[:_LONGEST])
        match = strings.PATTERN.fullmatch(text)
        name = str(match.lastgroup)[:-2] if match else ""
        parts = strings.parts(name, text, frozenset()) if match else [(0, 0, "", "")]
        if len(parts) > 1:
            return self._date(text, parts)
        (*_, label, marks), *_ = parts
        group = self._own.get(label, label)
        if group not in self.class_of:
            group, marks = "number", strings.digit_form(text)
            if "A" in text and (not choices or _COUNTRY in choices):
                group, marks = "code", strings.letter_form(text)
            if _COUNTRY in choices:
                group, marks = "iban", text[:2] + marks[2:]
        pieces = self._template(group, marks)
        for first, others in choices.items():
            pieces = [_chosen(piece, first, others) for piece in pieces]
        return Kind(group, self.class_of[group], tuple(pieces))

    @staticmethod
    def _template(group: str, marks: str) -> list[Piece]:
        """Return the template of a group for any year, number and day."""
        if group in _YEARS:
            marks = forms.ANY_YEAR + marks[1:]
        if group == "daymonth":
            (marks,) = dates.day_forms([marks], [0])
        return template(group, forms.unsized(marks))

    def _date(self, text: str, parts: Sequence[tuple[int, int, str, str]]) -> Kind:
        """Return the kind of a date, of which a year, a day and a time are parts."""
        pieces: list[Piece] = []
        last = 0
        for begin, end, label, form in parts:
            pieces += [text[last:begin], *self._template(self._own.get(label, label), form)]
            last = end
        return Kind("daymonth", self.class_of["daymonth"], (*pieces, text[last:]))

    def _address(self, group: str) -> list[Piece]:
        names = tuple(word.lower() for word in self.lexicon.outputs["given_x"])
        if group == "email":
            return [*local_part("\x03\x01\x01", names), "@example.net"]
        return template(group, "", names)


def _shape(token: str) -> str:
    """Return the shape of a token, with its punctuation and signs of currency as they are."""
    classes, offsets = shape(token, POSSESSIVES)
    visible = token if offsets is None else [token[at] for at in offsets]
    pairs = zip(classes, visible, strict=True)
    return "".join(kind if kind in _CLASSES else char for kind, char in pairs)


def _stand_in(form: str) -> tuple[str, Mapping[str, list[str]]]:
    """Return a string that stands for all of a shape, and which letters others of them may have."""
    text = re.sub("0+", lambda run: _YEAR if len(run[0]) == len(_YEAR) else "1" * len(run[0]), form)
    choices = {}
    for of_shape, letters in _CHOICES:
        match = of_shape.fullmatch(form)
        first, last = match.span(1) if match else (0, 0)
        if LETTER in text[first:last]:  # no row above has chosen them
            text = text[:first] + letters[0] + text[last:]
            choices[letters[0]] = letters
    return text.replace(LETTER, "A"), choices


def _chosen(piece: Piece, first: str, others: Sequence[str]) -> Piece:
    """Return a piece of a template with a choice of letters in place of the first of them."""
    if isinstance(piece, str) and first in piece:
        return [piece.replace(first, other) for other in others]
    return piece


@cache
def alone() -> Alone:
    """Return the lists, read once."""
    return Alone()
