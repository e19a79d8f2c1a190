"""Relations of a view that are no local pattern: each is a bool array over the tokens.

A relation reads the arrays of the view and what is drawn so far, never a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.only.forms import DIGIT, FIVE, NIL, SIZES, ZERO
from dpsan.only.view import GAP as G
from dpsan.only.view import LOWER, MIXED, NONE, TITLE, UPPER, Flags, Ints, View, among, changes

MOSTLY: Final = 0.6
TITLES: Final = 20
"""Words of a line of mostly capitals, at most: of longer lines the capitals are those of names."""
DIGITS: Final = re.compile(f"[{DIGIT}{ZERO}{NIL}{''.join(SIZES)}]")
_DOTTED: Final = re.compile(rf"^..?.{DIGIT}\.{DIGIT}{{2}}(?!.*:)")
_DOT_CLOCK: Final = re.compile(rf"{DIGIT}\.{DIGIT}{FIVE}|{DIGIT}{{2}}\.{DIGIT}[{DIGIT}{FIVE}]")
"""Forms of times with a dot: clocks, and numbers that may be times."""
_SECTION: Final = re.compile(rf"{DIGITS.pattern}{{1,2}}\.{DIGITS.pattern}{{1,2}}")
"""Numbers of one or two digits, a dot and one or two more: 4.2, and no 1.249,90."""
_DOSE: Final = re.compile(rf"[m\u00b5c{DIGIT}]g$")
"""Ends of the forms of joined doses: 250mg, 2g."""
_DECIMAL: Final = re.compile(rf"{DIGITS.pattern}{{1,4}}\.{DIGITS.pattern}{{1,4}}")
"""Numbers with one dot between digits: 1.1 and 537.36, and no 118837/24."""
NAMES: Final = ["given_m", "given_f", "given_u", "given_x", "surname", "surnamepl"]


def behind(flags: Flags) -> Flags:
    """Return which tokens stand behind a flagged one."""
    out = np.zeros_like(flags)
    out[1:] = flags[:-1]
    return out


@dataclass
class State:
    """A view with what rules have drawn so far, and what several relations read."""

    view: View
    group: NDArray[np.int16]
    """Group of each token: 0 undecided, 1 passes, else what draws it."""
    codes: Callable[[Iterable[str]], list[int]]
    """Returns the codes of groups."""
    words: Callable[[str], NDArray[np.intp]]
    """Returns the words of a kind: ``legal`` (forms of companies), ``clinical``, ``foreign``."""
    apart: Sequence[str]
    """Groups of words that stand beside no name: their capitals are those of titles."""
    countries: Mapping[str, re.Pattern[str]]
    """Forms that show a country, with # for a digit; words of its name do too."""

    @cached_property
    def word(self) -> Flags:
        """Tokens that are words."""
        return np.asarray((self.view.form < 0) & ~self.view.edge)

    @cached_property
    def capital(self) -> Flags:
        """Words with a capital."""
        return among(self.view.caps, [TITLE, UPPER, MIXED]) & self.word

    @cached_property
    def opening(self) -> Flags:
        """First tokens of texts."""
        return behind(self.view.edge)

    @cached_property
    def line(self) -> Groups:
        """The line of each token."""
        return Groups(((self.view.gap == G["line"]) | self.view.edge | self.opening).cumsum())

    @cached_property
    def unit(self) -> Groups:
        """The unit of each token."""
        return Groups(self.view.unit)

    @cached_property
    def text(self) -> Groups:
        """The text of each token."""
        return Groups(self.view.text)

    @cached_property
    def run(self) -> Ints:
        """Number of the run of capitals of each token, 0: none."""
        return self.runs(self.capital, ("space", "amp", "hyphen"))

    @cached_property
    def titles(self) -> Ints:
        """Number of the run of Title words of each token, 0: none."""
        return self.runs(self.capital & (self.view.caps != UPPER), ("space",))

    def runs(self, member: Flags, gaps: Sequence[str]) -> Ints:
        """Return the number of the run of members of each token (0: none), joined by some gaps."""
        joined = among(self.view.gap, [G[name] for name in gaps])
        previous = behind(member & ~self.view.possessive)
        return np.cumsum(member & ~(previous & joined), dtype=np.int32) * member

    @cached_property
    def country(self) -> NDArray[np.intp]:
        """The country that the unit of each token shows first by what passes, 0: none."""
        view, signs = self.view, tuple(self.countries.values())
        of_form = [_country_of(form, signs) for form in view.forms]
        shown = np.array([*of_form, 0]).take(view.form)  # words have the form -1
        for number, name in enumerate(self.countries, 1):
            shown[self.words(name)] = number
        at, of_unit = shown.nonzero()[0][::-1], np.zeros_like(shown)
        of_unit[view.unit[at]] = shown[at]  # the first is written last
        out: NDArray[np.intp] = of_unit.take(view.unit)
        return out

    def drawn(self, names: Iterable[str] = (), *, others: bool = False) -> NDArray[np.intp]:
        """Return the tokens that some groups have drawn, or all others."""
        at = (self.group > 1).nonzero()[0]
        return at.compress(among(self.group.take(at), self.codes(names)) != others)


@lru_cache(1 << 12)
def _country_of(form: str, signs: tuple[re.Pattern[str], ...]) -> int:
    """Return the number of the first country whose sign a form is, 0: none."""
    marks = DIGITS.sub("#", form)
    return next((number for number, sign in enumerate(signs, 1) if sign.fullmatch(marks)), 0)


class Groups:
    """Tokens in a row that belong together.

    Args:
        number: of the group of each token: the next one where another begins.
    """

    def __init__(self, number: NDArray[np.integer]) -> None:
        self._of = number - number[0]
        self._first = changes(number).nonzero()[0]

    def counts(self, flags: Flags) -> Ints:
        """Return the number of flagged tokens of each group."""
        return np.add.reduceat(flags, self._first, dtype=np.int32)

    def having(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return how many of some tokens each group has."""
        return np.bincount(self._of.take(places), minlength=len(self._first))

    def beside(self, places: NDArray[np.intp], at: NDArray[np.intp]) -> Flags:
        """Return whether the group of each of some tokens has one of others."""
        return np.asarray((self.having(places) > 0).take(self._of[at]))

    def tokens(self, groups: Flags) -> Flags:
        """Return what is said of each group for each of its tokens."""
        return np.asarray(groups[self._of])


def mostly_capitals(state: State) -> Flags:
    """Lines of which most words have a capital: titles, tables."""
    words, capitals = state.line.counts(state.word), state.line.counts(state.capital)
    mostly = (words >= 3) & (words <= TITLES) & (capitals >= MOSTLY * words)
    mostly &= state.line.counts(state.view.gap == G["comma"]) < 2
    mostly |= (words == 2) & (capitals == 2)
    return state.line.tokens(mostly)


def mostly_upper(state: State) -> Flags:
    """Lines in capitals."""
    view = state.view
    acronym = view.labelled(*(f"acr{n}" for n in range(2, 6)))
    loud = state.word & (view.caps == UPPER) & ~acronym
    words, upper = state.line.counts(state.word), state.line.counts(loud)
    return state.line.tokens((words >= 3) & (upper >= MOSTLY * words))


def sentence_start(state: State) -> Flags:
    """First words of sentences, lines and quotes."""
    view = state.view
    opening = ("open", "line", "colon", "call", "under", "backslash", "bar")
    start = among(view.gap, [G[name] for name in opening]) | state.opening
    short = behind(view.labelled("title", "rank", "letter"))
    dot = among(view.gap, [G["stop"], G["dot"]])
    marked = line_start(state) & view.labelled("int1", "int2", "bit")  # 3) New member
    return np.asarray(start | (dot & ~short) | (behind(marked) & (view.gap == G["other"])))


def line_start(state: State) -> Flags:
    """First tokens of lines."""
    return np.asarray((state.view.gap == G["line"]) | state.opening)


def areas(state: State, rows: Sequence[str]) -> NDArray[np.int64]:
    """Return the areas of medicine, as bits, that most words of each unit are about; 0: none.

    Args:
        rows: names of contexts: an area, and how much its words weigh.
    """
    unit = state.view.unit
    none, votes = np.zeros(int(unit[-1]) + 1, np.int64), dict[str, NDArray[np.int64]]()
    for row in rows:
        area, weight = row.split()
        words = np.bincount(unit[state.words(row)], minlength=len(none))
        votes[area] = votes.get(area, none) + int(weight) * words
    table = np.array([*votes.values(), none])
    most = (table == table.max(0)) & (table > 0)
    bits: NDArray[np.int64] = (1 << np.arange(len(table))) @ most
    return bits


def any_in_run(run: Ints, places: NDArray[np.intp], at: NDArray[np.intp]) -> Flags:
    """Return whether one of some places is in the run of a token, for each of others."""
    hit = np.zeros(len(run) + 1, np.bool_)
    hit[run.take(places)] = True
    hit[0] = False
    return hit.take(run.take(at))


def beside_drawn(state: State, at: NDArray[np.intp]) -> Flags:
    """Words of a run of capitals of which one is drawn."""
    return any_in_run(state.run, np.append(state.drawn(others=True), state.words("legal")), at)


def beside_name(state: State, at: NDArray[np.intp]) -> Flags:
    """Words of a run of Title words of which one is drawn, and no date, health word or nation."""
    return any_in_run(state.titles, state.drawn(state.apart, others=True), at)


def elsewhere(groups: Iterable[str], state: State, at: NDArray[np.intp]) -> Flags:
    """Words that some groups have drawn at another place of the unit, with a capital if it has."""
    hit, drawn = np.zeros(len(state.group), np.bool_), state.drawn(groups)
    named = state.capital | small_letters(state)
    hit[state.view.equal.take(drawn.compress(named.take(drawn)))] = True
    return hit.take(state.view.equal.take(at)) & named.take(at)


def clinical(state: State) -> Flags:
    """Units with four words of health or more, at least one of fifty."""
    places = state.words("clinical")
    if len(places) < 4:
        return np.zeros_like(state.word)
    count = state.unit.having(places)
    return state.unit.tokens((count >= 4) & (50 * count >= state.unit.counts(state.word)))


def small_letters(state: State) -> Flags:
    """Units of two words or more without capitals (one in fifty may have one)."""
    caps, words = state.view.caps, state.unit.counts(state.word)
    capitals = state.unit.counts((caps != LOWER) & (caps != NONE))
    return state.unit.tokens((50 * capitals <= words) & (words >= 2))


def foreign(state: State) -> Flags:
    """Units with four function words of another language or more (two that are German alone), one
    of eight words; no sentences with more English ones.
    """
    places = state.words("foreign")
    count = state.unit.having(places) + state.unit.having(state.words("german"))
    units = state.unit.tokens((count >= 4) & (8 * count >= state.unit.counts(state.word)))
    if not units.any():
        return units
    sentence = Groups(np.cumsum(sentence_start(state) | state.view.edge))
    return units & sentence.tokens(sentence.having(places) >= sentence.counts(english(state)))


def german(state: State) -> Flags:
    """Units with a function word that is German alone, and no *the*."""
    has, other = (state.unit.having(state.words(name)) for name in ("german", "english"))
    return state.unit.tokens((has > 0) & (other == 0))


def english(state: State) -> Flags:
    """Function words that are of no other language."""
    out = state.view.labelled("func")
    out[state.words("foreign")] = False
    return out


def about(subject: str, *others: str) -> Callable[[State], Flags]:
    """Return the relation of texts that have words for one subject and none for others."""

    def related(state: State) -> Flags:
        has, *rest = (state.text.having(state.words(name)) > 0 for name in (subject, *others))
        return state.text.tokens(has & ~np.any([np.zeros_like(has), *rest], 0))

    return related


def dotted_time(state: State, at: NDArray[np.intp]) -> Flags:
    """Numbers that may be times with a dot, in texts where others are: 8.05 beside 7.25am."""
    view = state.view
    clocks = (view.labelled("clock") & of_form(_DOTTED.search)(state)).nonzero()[0]
    times = np.append(state.drawn(["dotclock"]), clocks)
    return of_form(_DOT_CLOCK.fullmatch)(state).take(at) & state.text.beside(times, at)


def repeated_mark(state: State) -> Flags:
    """Single letters that begin more than one line: marks of questions and answers, of lists."""
    view = state.view
    mark = view.labelled("letter") & line_start(state)
    mark &= np.append(among(view.gap[1:], [G["stop"], G["dot"], G["colon"]]), False)
    count = np.bincount(view.equal.compress(mark), minlength=len(mark))
    return np.asarray(mark & (count > 1).take(view.equal))


def of_form(test: Callable[[str], object]) -> Callable[[State], Flags]:
    """Return the relation of strings whose forms pass a test."""
    return lambda state: np.array([*map(bool, map(test, state.view.forms)), False]).take(
        state.view.form  # words have the form -1
    )


def initials(state: State) -> Flags:
    """Two capitals that are the initials of two words beside each other in their text, and letters
    that are the one of such a word.
    """
    out = np.zeros(len(state.group), np.bool_)
    out[[token for token in state.view.pieces if state.view.form[token] < 0]] = True
    return out


FIXED: Final[dict[str, Callable[[State], Flags]]] = {
    "word": lambda state: state.word,
    "capline": mostly_capitals,
    "upline": mostly_upper,
    "start": sentence_start,
    "linestart": line_start,
    "clinical": clinical,
    "nocaps": small_letters,
    "foreign": foreign,
    "marks": repeated_mark,
    "section": of_form(_SECTION.fullmatch),
    "initials": initials,
    "adose": of_form(lambda form: _DOSE.search(DIGITS.sub(DIGIT, form))),
    "decimal": of_form(_DECIMAL.fullmatch),
    "in_german": german,
    "of_him": about("him", "her", "madam"),
    "of_her": about("her", "him", "sir"),
    "atwork": about("office", "leisure"),
    "of_britain": about("british", "american"),
    "of_america": about("american", "british"),
}
"""Relations that read the view alone, as ``of_`` and the name of a context does: of all tokens."""
ELSEWHERE: Final = {
    "again": NAMES,
    "placed": ["city"],
    "firmed": ["ao", "aoadj"],
    "traded": ["biz", "trade"],
    "shire": ["city_co"],
}
"""By a relation, the groups of the words that a token equals: only a drawn token may be asked."""
MOVING: Final[dict[str, Callable[[State, NDArray[np.intp]], Flags]]] = {
    "inrun": beside_drawn,
    "byname": beside_name,
    **{name: partial(elsewhere, groups) for name, groups in ELSEWHERE.items()},
    "dottime": dotted_time,
    "named": lambda state, at: state.line.beside(state.drawn(NAMES), at),
    "dated": lambda state, at: state.text.beside(state.drawn(["daymonth"]), at),
}
"""Relations that read what is drawn: of some tokens."""
