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
from dpsan.only.view import LOWER, MIXED, NONE, TITLE, UPPER, Flags, View

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
    def line(self) -> NDArray[np.int64]:
        """Number of the line of each token."""
        return np.cumsum((self.view.gap == G["line"]) | self.view.edge | self.opening)

    @cached_property
    def run(self) -> NDArray[np.int64]:
        """Number of the run of capitals of each token, 0: none."""
        return self.runs(self.capital, ("space", "amp", "hyphen"))

    @cached_property
    def titles(self) -> NDArray[np.int64]:
        """Number of the run of Title words of each token, 0: none."""
        return self.runs(self.capital & (self.view.caps != UPPER), ("space",))

    def runs(self, member: Flags, gaps: Sequence[str]) -> NDArray[np.int64]:
        """Return the number of the run of members of each token (0: none), joined by some gaps."""
        joined = among(self.view.gap, [G[name] for name in gaps])
        previous = np.append(False, (member & ~self.view.possessive)[:-1])
        return np.where(member, np.cumsum(member & ~(previous & joined)), 0)

    def drawn(self, names: Iterable[str]) -> Flags:
        """Return the tokens that some groups have drawn."""
        return among(self.group, [self.groups.index(name) for name in names if name in self.groups])


@dataclass(frozen=True)
class Relation:
    """A function of a state, and whether it reads what is drawn."""

    compute: Callable[[State], Flags]
    moves: bool


def among(codes: NDArray[np.integer], wanted: Sequence[int]) -> Flags:
    """Return which codes, below 512, are among some."""
    table = np.zeros(512, np.bool_)
    table[[*wanted]] = True
    found: Flags = table[codes]
    return found


def line_shares(state: State, wanted: Flags) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Words of the line of each token, and how many of them are wanted."""
    line, word = state.line, state.word
    words = np.bincount(line[word], minlength=line[-1] + 1)
    return words[line], np.bincount(line[word & wanted], minlength=len(words))[line]


def mostly_capitals(state: State) -> Flags:
    """Lines of which most words have a capital: titles, tables."""
    words, capitals = line_shares(state, state.capital)
    found: Flags = (words >= 3) & (capitals >= MOSTLY * words) | (words == 2) & (capitals == 2)
    return found


def mostly_upper(state: State) -> Flags:
    """Lines in capitals."""
    view = state.view
    acronym = among(view.label, [view.labels.index(f"acr{n}") for n in range(2, 6)])
    words, upper = line_shares(state, (view.caps == UPPER) & ~acronym)
    found: Flags = (words >= 3) & (upper >= MOSTLY * words)
    return found


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


def any_in_run(run: NDArray[np.int64], flags: Flags) -> Flags:
    """Return whether a token of the run is flagged."""
    hit = np.zeros(int(run.max(initial=0)) + 1, bool)
    hit[run[flags]] = True
    hit[0] = False
    return hit[run]


def beside_drawn(state: State) -> Flags:
    """Words of a run of capitals of which one is drawn."""
    return any_in_run(state.run, (state.group > 1) | state.words["legal"])


def beside_name(state: State) -> Flags:
    """Words of a run of Title words of which one is drawn, and no date, health word or nation."""
    return any_in_run(state.titles, (state.group > 1) & ~state.drawn(state.apart))


def name_elsewhere(state: State) -> Flags:
    """Words with a capital that are drawn as a name at another place of the unit."""
    hit = np.zeros(len(state.group), bool)
    hit[state.view.equal[state.drawn(NAMES) & state.capital]] = True
    return hit[state.view.equal] & state.capital


def counts_of(state: State, flags: Flags) -> NDArray[np.int64]:
    """Number of flagged tokens of the unit of each token."""
    unit = state.view.unit
    return np.bincount(unit[flags], minlength=unit[-1] + 1)[unit]


def clinical(state: State) -> Flags:
    """Units with four words of health or more, at least one of fifty."""
    count = counts_of(state, state.words["clinical"])
    found: Flags = (count >= 4) & (50 * count >= counts_of(state, state.word))
    return found


def small_letters(state: State) -> Flags:
    """Units of three words or more without capitals (one in fifty may have one)."""
    caps = state.view.caps
    words = counts_of(state, state.word)
    capitals = counts_of(state, (caps != LOWER) & (caps != NONE))
    found: Flags = (50 * capitals <= words) & (words >= 3)
    return found


def foreign(state: State) -> Flags:
    """Units with four function words of another language or more, one of eight words."""
    count = counts_of(state, state.words["foreign"])
    found: Flags = (count >= 4) & (8 * count >= counts_of(state, state.word))
    return found


def repeated_mark(state: State) -> Flags:
    """Single letters that begin more than one line: marks of questions and answers, of lists."""
    view = state.view
    mark = line_start(state) & (view.label == view.labels.index("letter"))
    mark &= np.append(among(view.gap[1:], [G["stop"], G["dot"], G["colon"]]), False)
    count = np.bincount(view.equal[mark], minlength=len(mark))
    found: Flags = mark & (count[view.equal] > 1)
    return found


RELATIONS: Final = {
    "word": Relation(lambda state: state.word, moves=False),
    "capline": Relation(mostly_capitals, moves=False),
    "upline": Relation(mostly_upper, moves=False),
    "start": Relation(sentence_start, moves=False),
    "linestart": Relation(line_start, moves=False),
    "clinical": Relation(clinical, moves=False),
    "nocaps": Relation(small_letters, moves=False),
    "foreign": Relation(foreign, moves=False),
    "marks": Relation(repeated_mark, moves=False),
    "inrun": Relation(beside_drawn, moves=True),
    "byname": Relation(beside_name, moves=True),
    "again": Relation(name_elsewhere, moves=True),
}
