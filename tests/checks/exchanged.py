"""A drawn word of a unit, its relations to the other tokens, and the unit with another word."""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain, pairwise
from types import MappingProxyType
from typing import Any

import numpy as np

from checks.places import capital_inside, with_capital
from dpsan.only.articles import BEHIND_ARTICLE
from dpsan.only.decision import PLURAL, Decision
from dpsan.only.hashes import Places
from dpsan.only.view import LOWER, MIXED, ONE, TITLE, UPPER, View
from dpsan.sanitize.decided import Decided
from dpsan.text.letter_case import address_spellings, article_for

SPELT = {LOWER: str, TITLE: with_capital, UPPER: str.upper, ONE: str.upper, MIXED: capital_inside}
_ESCAPED = "nrtbfux"
"""Letters that make an escape with a backslash before them."""
_GERMAN = re.compile(r"(?i)\b(?:und|der|das|ist|nicht|ich|sie)\b")


class Drawn:
    """A drawn word, or string, with all its places in a text."""

    def __init__(
        self,
        view: View,
        places: Places,
        decision: Decision,
        rows: list[int],
        addresses: Sequence[int],
        text: str,
        start: int,
    ) -> None:
        self.view, self.places, self.decision = view, places, decision
        self.rows, self.text, self._start = rows, text, start
        self.tokens: list[int] = decision.at[rows].tolist()
        self.lowered = text.lower()
        self.old = self.written(self.tokens[0])
        plural = decision.groups.index(PLURAL)
        pairs = zip(rows, self.tokens, strict=True)
        more = {token for row, token in pairs if decision.group[row] == plural}
        words = [token for token in self.tokens if view.form[token] < 0]
        self.words = {(int(view.label[it]), int(view.caps[it]), it in more) for it in words}
        """Label and capitals of all its places that are words, and whether they have a plural s."""
        self._plural = more
        ids = {int(view.equal[token]) for token in self.tokens}
        self._near = [token for token in addresses if token not in self.tokens]
        pieces = {token: {*chain(*chain(*view.pieces[token]))} for token in addresses}
        self._addresses = [token for token in addresses if ids & pieces[token]]

    @property
    def form(self) -> tuple[str, str]:
        """Return label and form of a string."""
        view, token = self.view, self.tokens[0]
        return [*view.code][view.label[token]], view.forms[view.form[token]]

    @property
    def names(self) -> bool:
        """Return whether it is an address with names that are replaced in its unit."""
        pieces = self.decision.locals.get(self.rows[0], ())
        return any(not isinstance(part, str) for cut in pieces for part in cut)

    @property
    def initials(self) -> bool:
        """Return whether it is a word of two letters that are those of two words, or of one."""
        return bool(self.words) and not self.view.pieces.keys().isdisjoint(self.tokens)

    @property
    def shared(self) -> bool:
        """Return whether it is an address with a piece that occurs in its text once more."""
        locals_ = [self.written(it).split("@")[0].lower() for it in (self.tokens[0], *self._near)]
        one, *more = (re.findall(r"[^\W\d_]{2,}", local) for local in locals_)
        return len({*one}) < len(one) or not {*one}.isdisjoint(chain.from_iterable(more))

    @cached_property
    def passing(self) -> list[str]:
        """Return words of the text that pass, of more than two letters."""
        hidden = " ".join(self._drawn)
        return [word for word in re.findall(r"[^\W\d_]{3,}", self.lowered) if word not in hidden]

    @cached_property
    def _drawn(self) -> list[str]:
        """Return what is replaced beside it in its text, in small letters."""
        at = self.decision.at[self.decision.text == self.decision.text[self.rows[0]]].tolist()
        return [self.written(token).lower() for token in at if token not in self.tokens]

    @cached_property
    def _german(self) -> bool:
        """Return whether the text is in German, where *an* is no article."""
        return len(_GERMAN.findall(self.text)) > 1

    def written(self, token: int) -> str:
        """Return a token without its possessive."""
        return self.places.block[self.places.start[token] : self.places.end[token]]

    def relates(
        self, word: str, phrases: frozenset[str], nations: Mapping[str, str] = MappingProxyType({})
    ) -> bool:
        """Return whether another word would have a relation to a token that the old one had not.

        Args:
            phrases: words of listed phrases.
            nations: the country of each word for a nation.
        """
        if len(word) == 1:
            return any(other.startswith(word) for other in re.findall(r"\w+", self.lowered))
        if word in self.lowered or word.rstrip("s") in self.lowered:
            return True
        if self._addresses and (len(word) < 3 or " " in word):
            return True
        if self._initials(word):
            return True
        if any(self._of_nation(name, nations) for name in (word, self.old.lower())):
            return True
        before = (self.places.block[self.places.start[token] - 1] for token in self.tokens)
        if word[0] in _ESCAPED and "\\" in before:
            return True
        if phrases.isdisjoint(word.split(" ")):
            return False
        beside = {word for token in self.tokens for word in self._beside(token)}
        return not phrases.isdisjoint(beside)

    def _initials(self, word: str) -> bool:
        """Return whether one or two letters were, or would be, those of words."""
        ids = {int(self.view.equal[token]) for token in self.tokens}
        form, items = self.view.form, self.view.pieces.items()
        of_names = (pieces for token, pieces in items if form[token] < 0)
        if any(not ids.isdisjoint(cut) for pieces in of_names for piece in pieces for cut in piece):
            return word[0] != self.old[0].lower()
        if word[0] in re.findall(r"(?<![^\W_])[^\W\d_](?![^\W_])", self.lowered):
            return True
        capitals = re.findall(r"\b[^\W\d_]{2}\b", self.text)
        pairs = re.findall(r"\b([^\W\d_])[\w'\u2019]*\s+(?=([^\W\d_]))", self.text)
        if len(word) == 2 and word.upper() in {"".join(pair).upper() for pair in pairs}:
            return True
        return any(word[0].upper() in both for both in capitals if both.isupper())

    def _of_nation(self, word: str, nations: Mapping[str, str]) -> bool:
        """Return whether a country of a nation, or a nation of a country, stands in the text."""
        others = [nations.get(word), *(nation for nation, land in nations.items() if land == word)]
        return any(other in self.lowered for other in others if other)

    def relates_address(self, string: str) -> bool:
        """Return whether a string in the place of an address without names would have names."""
        if self.names or self.tokens[0] not in self.view.pieces:
            return False
        return any(len(word) > 2 and word in string.lower() for word in self._drawn)

    def _beside(self, token: int) -> list[str]:
        """Return the words of the tokens beside one; a phrase has several."""
        return f"{self.written(token - 1)} {self.written(token + 1)}".lower().split()

    def exchanged(self, new: str) -> str:
        """Return the text with another word, or string, in all places of this one."""
        view, places, block = self.view, self.places, self.places.block
        edits: list[tuple[int, int, str]] = []
        far = {word: article for article, word in view.far_words.items()}
        for token in self.tokens:
            caps, other = int(view.caps[token]), new
            if self.words and view.form[token] >= 0:
                other = f"@{new}"
            elif self.words:
                other = SPELT[caps](f"{new}s" if token in self._plural else new)
            end, after = int(places.end[token]), int(places.after[token])
            ending = block[end:after]
            if len(ending) == 1 and other[-1] not in "sS":
                ending += "S" if caps == UPPER else "s"
            edits.append((int(places.start[token]), after, other + ending))
            at = far.get(token, token - 1)
            article = self.written(at)
            near = view.gap[token] in BEHIND_ARTICLE or token in far
            if article.lower() in ("a", "an") and near and not self._german:
                fits = article_for(other)
                fits = fits.capitalize() if article[0].isupper() else fits
                edits.append((int(places.start[at]), int(places.end[at]), fits))
        plain = {self.written(token).lower(): new for token in self.tokens}
        olds = plain | {self.written(token).lower(): f"{new}s" for token in self._plural}
        olds |= {bare: other for old, other in olds.items() for bare in address_spellings(old)}
        for token in self._addresses:
            address = self.written(token)
            end = max(address.find("@"), 0) or len(address)  # of a handle all of it
            local, host = address[:end], address[end:]
            every = "|".join(sorted(olds, key=len, reverse=True))  # once: no part of what is new
            pattern = rf"(?i)(?<![^\W\d_])(?:{every})|(?:{every})(?![^\W\d_])"
            local = re.sub(pattern, lambda match: olds[match[0].lower()], local)
            edits.append((int(places.start[token]), int(places.end[token]), local + host))
        parts, last = [], self._start
        for start, end, text in sorted(edits):
            parts += [block[last:start], text]
            last = end
        return "".join([*parts, self.text[last - self._start :]])


def usual(word: str) -> bool:
    """Return whether a word or phrase has letters alone, which are as many in capitals."""
    return word.replace(" ", "").isalpha() and word.upper().lower() == word


def fits(phrase: str, spelt: set[int]) -> bool:
    """Return whether a phrase may have some patterns of capitals."""
    short = min(map(len, phrase.split(" "))) == 1  # one letter is no word in capitals
    return spelt <= ({TITLE} if short else {TITLE, UPPER})


def same(one: Decided, other: Decided) -> bool:
    """Return whether the same is decided of all texts; may be False where it is."""
    a, b = one.decision, other.decision
    arrays = ("group", "form", "caps", "possessive", "key", "text", "order", "leader")
    return (
        len(a.at) == len(b.at)
        and all(np.array_equal(getattr(a, name), getattr(b, name)) for name in arrays)
        and np.array_equal(a.articles[:, 1:], b.articles[:, 1:])
        and np.array_equal(one.order, other.order)
        and (a.locals, a.forms, one.between, one.breaks)
        == (b.locals, b.forms, other.between, other.breaks)
        and (a.sums, a.weekdays) == (b.sums, b.weekdays)
        and (one.numbers, one.smallest) == (other.numbers, other.smallest)
    )


def relations_of_numbers(decision: Decision, low: int, high: int) -> list[Any]:
    """Return what follows from what among the dates and numbers of some rows."""
    sums = [
        (kind, *(row - low if row >= 0 else row for row in (whole, *parts)))
        for kind, whole, parts in decision.sums
        if low <= max(whole, *parts) < high
    ]
    weekdays = [rows for rows in decision.weekdays if low <= rows[0] < high]
    return [sums, [[row if row < 0 else row - low for row in rows] for rows in weekdays]]


def by_text(done: Decided) -> list[Any]:
    """Return what is decided of each text, as values that can be compared."""
    d = done.decision
    hidden, rows = len(d.at) + len(d.articles), len(d.at)
    edges = [at for at, item in enumerate(done.order) if item >= hidden]
    forms = [d.forms[form] if form >= 0 else None for form in d.form.tolist()]
    first = np.searchsorted(d.text, np.arange(len(edges))).tolist()
    arrays = [d.group.tolist(), forms, d.caps.tolist(), d.possessive.tolist(), d.order.tolist()]
    keys, caps, behind = d.key.tolist(), d.articles[:, 1].tolist(), d.articles[:, 2].tolist()
    out = []
    for text, (begin, end) in enumerate(pairwise(edges)):
        low, high = first[text], first[text + 1]
        shown = [
            item - low if item < rows else (caps[item - rows], behind[item - rows] - low)
            for item in done.order[begin + 1 : end]
        ]
        inside = range(low, high)
        cuts = [d.locals[row] for row in inside if row in d.locals]
        local = [[[p if isinstance(p, str) else p - low for p in cut] for cut in of] for of in cuts]
        tables = done.breaks, done.numbers
        values = [(row - low, table[row]) for table in tables for row in inside if row in table]
        rows_of = [array[low:high] for array in arrays], [key - low for key in keys[low:high]]
        leaders = [max(row - low, -1) for row in d.leader[low:high].tolist()]
        numbers = relations_of_numbers(d, low, high)
        out.append((*rows_of, leaders, numbers, done.between[begin:end], shown, local, values))
    return out
