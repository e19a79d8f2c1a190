"""Check of ``--only``: which word of its group stood there changes nothing.

Each drawn word is exchanged at all its places of a unit for other words of its label, in the same
pattern of capitals, with no new relation to another token of the unit: an equal word, a plural, an
initial, a piece of an e-mail address, a listed phrase, an escape.  Articles and possessives are
written as they fit.  Strings are exchanged within their form.  What is decided must stay: groups,
forms, capitals, which drawn tokens are equal, what passes and the gaps; and under one key the
outputs of the whole program must be equal, byte by byte.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import cycle, islice, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from checks.exchanged import SPELT, Drawn, by_text, fits, relations_of_numbers, same, usual
from checks.places import string_texts, texts
from dpsan.analysis.verify.checks import in_random_order
from dpsan.embeddings.word_lists import NUMBERS
from dpsan.only import strings
from dpsan.only.dates import date_order, year_form
from dpsan.only.decision import LOGIN, PLURAL, VALUE, decide
from dpsan.only.hashes import Hashes
from dpsan.only.local_parts import ROLES
from dpsan.only.permutations import ASCENDING, ORDERED
from dpsan.only.strings import near_form
from dpsan.only.sums import PARTS
from dpsan.only.templates import ordinal, radices, string, template
from dpsan.only.view import COLUMN, LOWER, MIXED, ONE, TITLE, UPPER
from dpsan.privacy.randomness import derive_key, streams_for
from dpsan.sanitize.decided import Decided
from dpsan.sanitize.result import Texts
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.text.tokens import folded

_MADE = 400
"""Words that no list holds, made of letters at random."""
_TRIED = 20
"""Words that are looked at for each one that is wanted."""
_DRAWN = 12
"""Strings that are drawn for each such word: of few, the numbers of a text stay in order."""
_WRITTEN = 4
"""One of so many exchanges is followed to the output."""
_BITS = 1 << 16
"""Random numbers that are used in turn."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_LETTERED = frozenset(["code", "dotted", "vanity", "password", "uuid", "mac", "ipv6", "iban"])
"""Kinds of strings whose letters are exchanged."""
_PUBLIC_OF_DATES = {"daymonth": date_order, "monthday": date_order, "dateyear": year_form}
"""By a label what is public of a part of a date, beside its digits."""
_HOSTS = ("org", "de", "co.uk", "net", "fr")


@dataclass(frozen=True)
class Exchange:
    """One text before and after a word was exchanged."""

    before: str = field(repr=False)
    after: str = field(repr=False)
    old: str = field(repr=False)
    new: str = field(repr=False)


@dataclass
class Found:
    """Counts of exchanges and of what they changed."""

    exchanged: int = 0
    """Words and strings of texts."""
    exchanges: int = 0
    left: int = 0
    """Words and strings for which there was nothing to put in their place."""
    decided: list[Exchange] = field(default_factory=list)
    """Exchanges that change what is decided."""
    written: list[Exchange] = field(default_factory=list)
    """Exchanges that change an output, but nothing that is decided."""


@dataclass(frozen=True)
class _Pair:
    """A drawn word or string of a text, and the texts with others in its place."""

    text: str
    old: str
    new: list[str]
    variants: list[str]


class Blindness:
    """Exchanges words of texts.

    Args:
        sanitizer: that replaces words of some classes alone.
        key: of the choice of words.
        others: for each drawn word.
    """

    def __init__(self, sanitizer: Sanitizer, key: bytes, others: int = 20) -> None:
        self._sanitizer, self._key, self._others = sanitizer.by_text(), key, others
        assert self._sanitizer.replacing is not None
        self.rewriter = self._sanitizer.replacing
        self._bits = cycle(streams_for(key, [0], [1]).bits("choice", _BITS)[0].tolist())
        self._words, self._codes = self._listed()
        order = in_random_order(len(self._words), derive_key(key, "order"))
        self._pools: dict[tuple[int, int], NDArray[np.int64]] = {}
        for column in range(3):
            codes = self._codes[order, column]
            by_code = np.argsort(codes, kind="stable")
            bounds = np.searchsorted(codes[by_code], np.arange(len(self.rewriter.viewer.labels)))
            for code, part in enumerate(np.split(order[by_code], bounds[1:])):
                self._pools[code, column] = part
        phrases = self.rewriter.lexicon.text("phrases.txt")
        self._in_phrases = frozenset(re.findall(r"[^\s-]+", phrases))

    def _listed(self) -> tuple[list[str], NDArray[np.uint16]]:
        """Return words and phrases that may stand for others, and their labels by capitals."""
        rewriter, lexicon = self.rewriter, self.rewriter.lexicon
        special = rewriter.viewer.special
        words = [word for word in lexicon.lines("words.txt") if usual(word)]
        hashes = Hashes.of_words(words)
        listed = lexicon.table.rows(Hashes.of_words([f"{word}'s" for word in words])) >= 0
        listed |= np.isin(hashes, special[0])
        rows = lexicon.table.rows(hashes)
        listed |= rewriter.viewer.trigger[rows] > 0  # which are never drawn
        rows = rows[~listed]
        words = [word for word, leave in zip(words, listed.tolist(), strict=True) if not leave]
        lists = [each.groups[0] for each in self._sanitizer.spec.only if not each.english]
        own = [*{folded(word): None for words in lists for word in words}]
        own = [word for word in own if usual(word)]
        made = [self._letters(5 + self._next(4)) for _ in range(_MADE)]
        made = [word for word in made if lexicon.table.row(word) < 0]
        phrases = [phrase for phrase in lexicon.lines("phrases.txt") if usual(phrase)]
        rows_of_phrases = lexicon.phrases.rows(Hashes.of_words(phrases))
        alike = np.repeat(lexicon.phrase_codes[rows_of_phrases][:, None], 3, axis=1)
        codes = [lexicon.codes[rows], self._labels_of_words([*own, *made]), alike]
        return [*words, *own, *made, *phrases], np.concatenate(codes)

    def _labels_of_words(self, words: Sequence[str]) -> NDArray[np.uint16]:
        """Return the labels of words that stand alone: in small letters, title, capitals."""
        out = np.empty((len(words), 3), np.uint16)
        for column, caps in enumerate((LOWER, TITLE, UPPER)):
            view, _ = self.rewriter.viewer.view([SPELT[caps](word) for word in words])
            out[:, column] = view.label[~view.edge]
        return out

    def _next(self, bound: int) -> int:
        return int(next(self._bits) % bound)

    def _letters(self, size: int) -> str:
        """Return small letters at random."""
        return "".join(_LETTERS[self._next(26)] for _ in range(size))

    def public_texts(self, words: int = 1) -> Iterator[str]:
        """Yield texts made of listed words: words of each label in all places, and strings.

        Args:
            words: of each label.
        """
        labels = self.rewriter.viewer.labels
        by_name: dict[str, Iterator[str]] = {}
        for (code, _), rows in sorted(self._pools.items()):
            if len(rows) and labels[code] not in by_name:
                by_name[labels[code]] = cycle(self._words[row] for row in rows[:1000].tolist())
        for name in [*by_name] * words:
            yield from texts(next(by_name[name]), lambda label: next(by_name[label]))
        yield from string_texts()

    def words_of(self, label: str, most: int) -> list[str]:
        """Return words with a label where they have a capital."""
        rows = self._pools[self.rewriter.viewer.code[label], COLUMN[TITLE]][: 2 * most].tolist()
        return [word for word in (self._words[row] for row in rows) if " " not in word][:most]

    def run(self, units: Iterable[str], batch: int = 4000) -> Found:
        """Exchange the drawn words of texts, and compare.

        Args:
            units: texts of units.
            batch: words that are exchanged at once.
        """
        found, held = Found(), list[_Pair]()
        every = [text for text in units if text]
        for at in range(0, len(every), 500):
            held += self._pairs(every[at : at + 500], found)
            while len(held) >= batch:
                self._compare(held[:batch], found)
                held = held[batch:]
        if held:
            self._compare(held, found)
        return found

    def _pairs(self, units: list[str], found: Found) -> Iterator[_Pair]:
        """Yield what is exchanged in texts."""
        view, places = self.rewriter.viewer.view(units)
        decision = decide(view, self.rewriter.rules)
        starts = np.cumsum([1, *(len(text) + 1 for text in units)])
        plural = decision.group == decision.groups.index(PLURAL)
        words = np.where(plural, places.stems[decision.at], places.hashes[decision.at]).tolist()
        rows_of: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        for row, key in enumerate(zip(decision.text.tolist(), words, strict=True)):
            rows_of[key].append(row)
        addresses: defaultdict[int, list[int]] = defaultdict(list)
        for row in decision.locals:
            addresses[int(decision.text[row])].append(int(decision.at[row]))
        for rows in rows_of.values():
            unit = int(decision.text[rows[0]])
            block = view, places, decision
            drawn = Drawn(*block, rows, addresses[unit], units[unit], int(starts[unit]))
            new = self._others_of(drawn)
            if not new:
                found.left += 1
                continue
            found.exchanged += 1
            found.exchanges += len(new)
            yield _Pair(drawn.text, drawn.old, new, [drawn.exchanged(other) for other in new])

    def _others_of(self, drawn: Drawn) -> list[str]:
        """Return what may stand in the place of a word or string; empty: nothing is known."""
        group = int(drawn.decision.group[drawn.rows[0]])
        if drawn.decision.groups[group] == LOGIN or drawn.initials:
            return []  # it has a name of its unit, or the letters of two
        if not drawn.words:
            by_value = self._sanitizer.spec.epsilon is not None
            if by_value and self.rewriter.classes[group] == NUMBERS:
                return []
            return self._in_order(drawn, self._strings(drawn))
        if any("\n" in drawn.written(token) for token in drawn.tokens):
            return []  # cut at the end of a line
        return self._in_order(drawn, self._candidates(drawn))

    def _in_order(self, drawn: Drawn, others: list[str]) -> list[str]:
        """Return those beside which dates and numbers of the text are in the same order, and follow
        from each other as before.
        """
        group = drawn.decision.group[drawn.rows[0]]
        if not others or drawn.decision.groups[group] not in ASCENDING | ORDERED | PARTS:
            return others
        block = [drawn.text, *map(drawn.exchanged, others)]
        view, _ = self.rewriter.viewer.view(block)
        decision = decide(view, self.rewriter.rules)
        bounds = np.searchsorted(decision.text, np.arange(len(block) + 1)).tolist()
        told = [
            (decision.order[low:high].tolist(), relations_of_numbers(decision, low, high))
            for low, high in pairwise(bounds)
        ]
        return [other for other, own in zip(others, told[1:], strict=True) if own == told[0]]

    def _candidates(self, drawn: Drawn) -> list[str]:
        """Return words that may stand at all places of a word, without a new relation."""
        plural = self.rewriter.viewer.code[PLURAL]
        wanted = {(label, caps) for label, caps, more in drawn.words if not more}
        plurals = {caps for _, caps, more in drawn.words if more}
        wanted = wanted or {(self.rewriter.viewer.code["surname"], caps) for caps in plurals}
        label, caps = min(wanted)
        pool = self._pools[label, COLUMN[caps]]
        if not len(pool):
            return []
        spelt = {caps for _, caps in wanted} | plurals
        begin = self._next(len(pool))
        span = np.arange(begin, begin + min(len(pool), _TRIED * self._others))
        out: list[str] = []
        for row in np.take(pool, span, mode="wrap").tolist():
            if len(out) == self._others:
                break
            word, codes = self._words[row], self._codes[row]
            if (
                (len(word) == 1) == (spelt == {ONE})
                and (" " not in word or fits(word, spelt))
                and (MIXED not in spelt or self.rewriter.lexicon.table.row(word) >= 0)
                and all(codes[COLUMN[caps]] == label for label, caps in wanted)
                and all(self._label(f"{word}s", caps) == plural for caps in plurals)
                and not drawn.relates(word, self._in_phrases, self.rewriter.lexicon.nations)
            ):
                out.append(word)
        return out

    def _label(self, word: str, caps: int) -> int:
        """Return the label of a word that stands alone."""
        view, _ = self.rewriter.viewer.view([SPELT[caps](word)])
        return int(view.label[1])

    def _strings(self, drawn: Drawn) -> list[str]:
        """Return other strings of the form of a string."""
        old, lexicon = drawn.old, self.rewriter.lexicon
        if drawn.form[0] in _PUBLIC_OF_DATES:
            return self._dates(drawn)
        match = strings.PATTERN.fullmatch(old)
        if match is None or len(set(map(drawn.written, drawn.tokens))) > 1:
            return []
        kind = str(match.lastgroup)[:-2]
        form = strings.label_and_form(kind, old, lexicon.fixed)
        if form != drawn.form:
            return []  # beside other characters it is of another kind
        out: dict[str, None] = {}
        value = any(drawn.decision.groups[drawn.decision.group[row]] == VALUE for row in drawn.rows)
        for _ in range(_TRIED * _DRAWN * self._others):
            if len(out) == self._others:
                break
            new = self._value(old) if value else self._string(kind, old, drawn)
            match = strings.PATTERN.fullmatch(new)
            if (
                match is not None
                and str(match.lastgroup)[:-2] == kind
                # What is a date becomes one, and 03.93.92 is none.
                and [part[2:] for part in strings.parts(kind, new, lexicon.fixed)] == [form]
                and new.lower() not in drawn.lowered
                and not drawn.relates_address(new)
                and (not value or near_form(new) == near_form(old))
            ):
                out[new] = None
        return [*out]

    def _dates(self, drawn: Drawn) -> list[str]:
        """Return other days or years of which the same is public."""
        told = _PUBLIC_OF_DATES[drawn.form[0]]
        new = (re.sub(r"[0-9]", self._digit, drawn.old) for _ in range(_TRIED * self._others))
        other = (text for text in new if text not in drawn.lowered)
        fitting = (text for text in other if told(text) == told(drawn.old))
        return [*islice(dict.fromkeys(fitting), self._others)]

    def _string(self, kind: str, old: str, drawn: Drawn) -> str:
        """Return a string that may have the kind and form of another one.

        An address keeps the names of its unit, and what it shares with another one; it may have a
        word that passes.
        """
        name = self._letters(4 + self._next(5))
        if kind == "email":
            local, host = old.split("@")
            if not drawn.names and not drawn.shared and local.lower() not in ROLES:
                local = re.sub(r"[^\W\d_]{2,}", lambda _: self._piece(drawn.passing), local)
            ending = "com" if host.endswith(".com") else _HOSTS[self._next(len(_HOSTS))]
            return f"{re.sub(r'[0-9]', self._digit, local)}@{name}.{ending}"
        if kind == "url":
            return f"https://{name}.com/{self._letters(3)}?q={self._next(1000)}"
        if kind == "handle":
            return f"@{name}{self._next(100)}"
        if kind in ("ip", "userip"):
            host = ".".join(str(self._next(256)) for _ in range(4))
            return host if kind == "ip" else f"{old.split('@')[0]}@{host}"
        if kind == "ordinal":
            return ordinal(1 + self._next(31) if int(old[:-2]) < 32 else self._next(2000))
        if kind == "clock":
            pieces = template(kind, drawn.form[1])
            return string(pieces, [self._next(size) for size in radices(pieces)])
        if kind in _LETTERED:
            hexadecimal = re.fullmatch("[0-9a-fA-F:-]+", old) is not None
            letters = _LETTERS[:6] if hexadecimal else _LETTERS
            head = 2 * (kind == "iban")
            small = re.sub("[a-z]", lambda _: letters[self._next(len(letters))], old[head:])
            large = re.sub("[A-Z]", lambda _: letters[self._next(len(letters))].upper(), small)
            return old[:head] + re.sub(r"[0-9]", self._digit, large)
        return re.sub(r"[0-9]", self._digit, old)

    def _value(self, old: str) -> str:
        """Return a number that may have the form of a measured value: some digits are others."""
        return re.sub(r"[0-9]", lambda match: [match[0], self._digit(match)][self._next(2)], old)

    def _piece(self, words: Sequence[str]) -> str:
        """Return letters at random, or a letter and a word."""
        if words and self._next(2):
            return self._letters(1) + words[self._next(len(words))]
        return self._letters(3 + self._next(5))

    def _digit(self, _: re.Match[str]) -> str:
        return str(self._next(10))

    def _decided(self, texts: Sequence[str]) -> Decided:
        return self.rewriter.decided(Texts(texts, b"", range(len(texts))))

    def _compare(self, pairs: Sequence[_Pair], found: Found) -> None:
        """Compare decisions and outputs of texts before and after one word was exchanged."""
        key = derive_key(self._key, "outputs")
        before = [pair.text for pair in pairs]
        right, written = self._decided(before), self._sanitizer.sanitize(before, key).lines
        parts: list[Any] | None = None
        for at in range(max(len(pair.variants) for pair in pairs)):
            after = [pair.variants[at] if at < len(pair.new) else pair.text for pair in pairs]
            done, lines = self._decided(after), written
            if at % _WRITTEN == 0:
                lines = self._sanitizer.sanitize(after, key).lines
            if same(right, done) and written == lines:
                continue
            parts = by_text(right) if parts is None else parts
            for one, (was, other) in enumerate(zip(parts, by_text(done), strict=True)):
                if was == other and written[one] == lines[one]:
                    continue
                pair = pairs[one]
                exchange = Exchange(pair.text, after[one], pair.old, pair.new[at])
                (found.written if was == other else found.decided).append(exchange)
