"""Numbers of a pool: in random order, or ascending from a random one on, as dates do."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from dpsan.only import forms, view

ASCENDING: Final = frozenset(
    ("daymonth", "year", "clock", "mday", "month", "month3", "day", "day3", "hhmm", "dotclock")
) | {"ordinal", "workday", "workday3", "month_de", "month_fr", "day_de"}
"""Groups of dates: those of one form are near each other, and ascend in a text."""
_ORDERED: Final = "int number money percent quantity near grams minutes"
ORDERED: Final = frozenset(_ORDERED.split())
"""Groups of numbers: those of one form are in the order of the text where there are many."""
DOSED: Final = frozenset(("dose", "dose4", "microgram", "gram", "grams1"))
"""Groups of doses: in a text they are in their order, whatever their form."""
ROOM: Final = 5
"""Strings of a form for each number of a text: the order of few would tell them all."""
MONTHS: Final = 12
_STEPS: Final = 30
"""The part of a pool that the next date goes on at most."""
_FEW_STEPS: Final = 9
"""That of a pool of few, such as days of a month and times of six hours."""
_FEW: Final = 100
_MANY: Final = 4
"""Dates of a calendar; more of them take smaller steps."""
_FINE_STEPS: Final = 1000
"""That of a pool of more, such as times with seconds."""


@dataclass(slots=True)
class Permutation:
    """Numbers of a pool in random order, each once before any comes again."""

    size: int
    planned: int = 0
    """Numbers for which a bound was given."""
    used: int = 0
    moved: dict[int, int] = field(default_factory=dict)
    """Number at each place that holds another than its own."""

    def plan(self) -> int:
        """Return the bound of the uniform integer of the next number."""
        bound = self.size - self.planned % self.size
        self.planned += 1
        return bound

    def take(self, value: int, wanted: int = -1) -> int:
        """Return the next number, from a uniform integer below its bound.

        Args:
            value: the integer.
            wanted: a number that is taken instead where it is free; -1: none.
        """
        at = self._place(wanted) if wanted >= 0 else -1
        at = self.used + value if at < self.used else at
        number = self.moved.get(at, at)
        if at != self.used:
            self.moved[at] = self.moved.get(self.used, self.used)
        self.moved.pop(self.used, None)
        self.used += 1
        if self.used == self.size:
            self.used, self.moved = 0, {}
        return number

    def resume(self, numbers: Sequence[int]) -> None:
        """Go on behind numbers that were taken, in their order."""
        self.planned = len(numbers)
        last = {*numbers[len(numbers) - len(numbers) % self.size :]}
        self.used = len(last)
        free = sorted({*range(self.used)} - last)
        far = sorted(number for number in last if number >= self.used)
        self.moved = dict(zip(far, free, strict=True))

    def _place(self, number: int) -> int:
        """Return the place of a number, -1 if it was taken."""
        if number not in self.moved and number >= self.used:
            return number
        return next((at for at, other in self.moved.items() if other == number), -1)


@dataclass(slots=True)
class Calendar:
    """Where the dates of a unit stand, which pools of one group share."""

    at: int = 0
    """The number behind the last date, in its pool."""
    size: int = 1
    """Numbers of that pool."""
    start: float = 0.0
    """The part of the pool from which the first date is drawn; 0 before there is one."""


@dataclass(slots=True)
class Walk(Permutation):
    """Numbers of a pool in ascending order from a random one on, each once before any again.

    Behind the last number comes the first, so no number has more than its part of the start.
    """

    calendar: Calendar = field(default_factory=Calendar)

    def resume(self, numbers: Sequence[int]) -> None:
        """Go on behind numbers that were taken; the calendar tells where."""
        self.planned = len(numbers)
        last = numbers[len(numbers) - len(numbers) % self.size :]
        self.moved = dict.fromkeys(last, 0)

    def plan(self) -> int:
        """Return the bound of the uniform integer by which the walk goes on."""
        self.planned += 1
        coarse = _FEW_STEPS if self.size < _FEW else _STEPS
        return self.size // (coarse if self.size < _FINE_STEPS else _FINE_STEPS) or 1

    def plan_start(self, room: float) -> int:
        """Return the bound of the uniform integer at which the calendar begins.

        Args:
            room: the part of the pool that the other dates of the text go on at most.
        """
        bound = self.size - min(math.ceil(self.size * room), self.size // 2)
        self.calendar.start = bound / self.size
        return bound

    def begin(self, value: int) -> None:
        """Let the calendar begin at a uniform integer below the bound."""
        self.calendar.at, self.calendar.size = value, self.size

    def take(self, value: int, wanted: int = -1) -> int:
        """Return the next number, from a uniform integer below its bound; none is wanted."""
        reached = -(-self.calendar.at * self.size // self.calendar.size)
        number = (reached + value) % self.size
        while number in self.moved:
            number = (number + 1) % self.size
        self.moved[number] = 0
        if len(self.moved) == self.size:
            self.moved = {}
        self.calendar.at, self.calendar.size = number + 1, self.size
        return number


def permutation_of(
    group: str, form: str, size: int, calendars: defaultdict[tuple[str, int], Calendar]
) -> Permutation:
    """Return the numbers of a pool.

    Args:
        group: of the pool.
        form: of its strings.
        size: number of its words.
        calendars: by group and size where the dates of the unit stand; times of six hours of the
            day share one, but for those that are written without am, pm and a zero.
    """
    if group in ASCENDING:
        part = -int(form[1]) - 4 * (form[0] == forms.SHORT) if group == "clock" else size
        whole = MONTHS if group == "month3" else part  # May has no short name
        return Walk(size, calendar=calendars[group.removesuffix("3"), whole])
    return Permutation(size)


def begin_walks(
    permutations: Mapping[int, Permutation], texts: view.Whole, bounds: list[int]
) -> set[int]:
    """Let new calendars begin where they leave room for all dates of their first text.

    Args:
        permutations: of slots, in the order of the draws.
        texts: of each slot.
        bounds: of the integer of each slot; that where a calendar begins is set.

    Returns:
        The slots whose integers tell where calendars begin.
    """
    turns: defaultdict[int, list[tuple[int, Walk]]] = defaultdict(list)
    for at, walk in permutations.items():
        if isinstance(walk, Walk):
            turns[id(walk.calendar)].append((at, walk))
    begins = set()
    for (first, walk), *rest in turns.values():
        if not walk.calendar.start:
            for at, other in rest if len(rest) > _MANY else ():
                bounds[at] = max(min(bounds[at], other.size // (2 * len(rest))), 1)
            of_text = [pair for pair in rest if texts[pair[0]] == texts[first]]
            parts = [(bounds[at] + 1) / other.size for at, other in of_text]  # rounded up in each
            bounds[first] = walk.plan_start(sum(parts))
            begins.add(first)
    return begins
