"""Relations of a view that are no local pattern: each is a bool array over the tokens.

A relation reads the arrays of the view and what is drawn so far, never a text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.only.view import GAP as G
from dpsan.only.view import LOWER, MIXED, NONE, TITLE, UPPER, Flags, Ints, View, among

MOSTLY: Final = 0.6
NAMES: Final = ["given_m", "given_f", "given_u", "given_x", "surname", "surnamepl"]


@dataclass
class State:
    """A view with what rules have drawn so far, and what several relations read."""

    view: View
    group: NDArray[np.int16]
    """Group of each token: 0 undecided, 1 passes, else what draws it."""
    groups: list[str]
    """Names of the groups."""
    words: dict[str, Flags]
    """Words of some kinds: ``legal`` (forms of companies), ``clinical``, ``foreign``."""
    apart: Sequence[str]
    """Groups of words that stand beside no name: their capitals are those of titles."""

    @cached_property
    def word(self) -> Flags:
        """Tokens that are words."""
        found: Flags = (self.view.form < 0) & ~self.view.edge
        return found

    @cached_property
    def capital(self) -> Flags:
        """Words with a capital."""
        return among(self.view.caps, [TITLE, UPPER, MIXED]) & self.word

    @cached_property
    def opening(self) -> Flags:
        """First tokens of texts."""
        return np.append(False, self.view.edge[:-1])

    @cached_property
    def line(self) -> Ints:
        """Number of the line of each token."""
        return numbers((self.view.gap == G["line"]) | self.view.edge | self.opening)

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
        previous = np.append(False, (member & ~self.view.possessive)[:-1])
        return numbers(member & ~(previous & joined)) * member

    def drawn(self, names: Iterable[str]) -> Flags:
        """Return the tokens that some groups have drawn."""
        return among(self.group, [self.groups.index(name) for name in names if name in self.groups])


def numbers(begins: Flags) -> Ints:
    """Return the number of the group of each token, from 1, by which tokens begin one."""
    return np.cumsum(begins, dtype=np.int32)


def counts(group: Ints, flags: Flags) -> NDArray[np.intp]:
    """Return the number of flagged tokens of each group."""
    return np.bincount(group.compress(flags), minlength=group[-1] + 1)


def mostly_capitals(state: State) -> Flags:
    """Lines of which most words have a capital: titles, tables."""
    words, capitals = counts(state.line, state.word), counts(state.line, state.capital)
    found = (words >= 3) & (capitals >= MOSTLY * words) | (words == 2) & (capitals == 2)
    return np.asarray(found[state.line])


def mostly_upper(state: State) -> Flags:
    """Lines in capitals."""
    view = state.view
    acronym = among(view.label, [view.labels.index(f"acr{n}") for n in range(2, 6)])
    words = counts(state.line, state.word)
    upper = counts(state.line, state.word & (view.caps == UPPER) & ~acronym)
    return ((words >= 3) & (upper >= MOSTLY * words)).take(state.line)


def sentence_start(state: State) -> Flags:
    """First words of sentences, lines and quotes."""
    view = state.view
    opening = ("open", "line", "colon", "call", "under", "backslash")
    start = among(view.gap, [G[name] for name in opening]) | state.opening
    short = among(view.label, [view.labels.index(name) for name in ("title", "rank", "letter")])
    short = np.append(False, short[:-1])
    dot = among(view.gap, [G["stop"], G["dot"]])
    found: Flags = start | (dot & ~short)
    return found


def line_start(state: State) -> Flags:
    """First tokens of lines."""
    found: Flags = (state.view.gap == G["line"]) | state.opening
    return found


def any_in_run(run: Ints, flags: Flags, at: NDArray[np.intp]) -> Flags:
    """Return whether a token of the run of some tokens is flagged."""
    hit = np.zeros(len(run) + 1, np.bool_)
    hit[run.compress(flags)] = True
    hit[0] = False
    return hit[run.take(at)]


def beside_drawn(state: State, at: NDArray[np.intp]) -> Flags:
    """Words of a run of capitals of which one is drawn."""
    return any_in_run(state.run, (state.group > 1) | state.words["legal"], at)


def beside_name(state: State, at: NDArray[np.intp]) -> Flags:
    """Words of a run of Title words of which one is drawn, and no date, health word or nation."""
    return any_in_run(state.titles, (state.group > 1) & ~state.drawn(state.apart), at)


def elsewhere(state: State, groups: Iterable[str], at: NDArray[np.intp]) -> Flags:
    """Words with a capital that some groups have drawn at another place of the unit."""
    hit = np.zeros(len(state.group), np.bool_)
    hit[state.view.equal.compress(state.drawn(groups) & state.capital)] = True
    return hit.take(state.view.equal.take(at)) & state.capital.take(at)


def name_elsewhere(state: State, at: NDArray[np.intp]) -> Flags:
    """Words with a capital that are drawn as a name at another place of the unit."""
    return elsewhere(state, NAMES, at)


def place_elsewhere(state: State, at: NDArray[np.intp]) -> Flags:
    """Words with a capital that are drawn as a city of the world at another place of the unit."""
    return elsewhere(state, ["city"], at)


def clinical(state: State) -> Flags:
    """Units with four words of health or more, at least one of fifty."""
    unit, words = state.view.unit, state.words["clinical"]
    count = counts(unit, words)
    return ((count >= 4) & (50 * count >= counts(unit, state.word))).take(unit)


def small_letters(state: State) -> Flags:
    """Units of three words or more without capitals (one in fifty may have one)."""
    unit, caps = state.view.unit, state.view.caps
    words = counts(unit, state.word)
    capitals = counts(unit, (caps != LOWER) & (caps != NONE))
    return ((50 * capitals <= words) & (words >= 3)).take(unit)


def foreign(state: State) -> Flags:
    """Units with four function words of another language or more, one of eight words."""
    unit, words = state.view.unit, state.words["foreign"]
    count = counts(unit, words)
    return ((count >= 4) & (8 * count >= counts(unit, state.word))).take(unit)


def about(subject: str, *others: str) -> Callable[[State], Flags]:
    """Return the relation of texts that have words for one subject and none for others."""

    def related(state: State) -> Flags:
        text = state.view.text
        has, *rest = (counts(text, state.words[name]) > 0 for name in (subject, *others))
        return np.asarray((has & ~np.any([np.zeros_like(has), *rest], 0)).take(text))

    return related


def repeated_mark(state: State) -> Flags:
    """Single letters that begin more than one line: marks of questions and answers, of lists."""
    view = state.view
    mark = line_start(state) & (view.label == view.labels.index("letter"))
    mark &= np.append(among(view.gap[1:], [G["stop"], G["dot"], G["colon"]]), False)
    count = np.bincount(view.equal.compress(mark), minlength=len(mark))
    found: Flags = mark & (count > 1).take(view.equal)
    return found


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
    "of_him": about("him", "her"),
    "of_her": about("her", "him"),
    "of_child": about("child"),
    "atwork": about("office", "leisure"),
    "of_britain": about("british", "american"),
    "of_america": about("american", "british"),
}
"""Relations that read the view alone: of all tokens."""
MOVING: Final[dict[str, Callable[[State, NDArray[np.intp]], Flags]]] = {
    "inrun": beside_drawn,
    "byname": beside_name,
    "again": name_elsewhere,
    "placed": place_elsewhere,
}
"""Relations that read what is drawn: of some tokens."""
