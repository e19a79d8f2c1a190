"""Slots: what one key of a unit becomes, when it is drawn, and what a unit has so far."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, cast

from dpsan.only.decision import COUNTRY
from dpsan.only.permutations import Calendar, Permutation, Walk

AGE: Final = 40
"""Bits of a key below the number of the unit of a long file."""
Pool = tuple[str, str, tuple[str, ...]]
"""Group, form, and the marks of a local part."""


@dataclass(slots=True)
class Slot:
    """Holds what one key of a unit becomes."""

    pool: Pool
    key: int
    unit: int
    text: int
    order: int
    """Number of dates of its group that are earlier in the text."""
    leader: int
    """Key of the country of a nation, of the city of a country; -1: none."""
    permutation: Permutation | None
    size: int
    """Number of words of its pool; 0 of a number by value, which has none."""
    chance: float
    """That the word stays as it is, at most: none of an address, whose host is reserved."""
    lead: Slot | None = None
    """The slot of the leader, whose number tells its own."""
    bound: int = 0
    """Bound of its uniform integer, 0: the size of its pool."""
    begins: bool = False
    """Whether its integer tells where the dates of the unit begin."""
    number: int = 0
    written: str = ""
    """The string, where the pool is no list of words."""
    names: tuple[int, ...] = ()
    """Keys of the names of the unit that an address is made of."""
    again: bool = False
    """Whether its pool was used up before, so that another word of the unit has its word, too."""

    def plan(self, permutation: Permutation) -> None:
        """Take the next bound of a permutation."""
        self.again = permutation.planned >= self.size and not self.names
        self.bound = permutation.plan()


@dataclass(slots=True)
class Unit:
    """Holds the replacements that one unit has so far."""

    names: dict[int, Slot] = field(default_factory=dict)
    """Of each name and medicine: its pool is that of its first token."""
    before: dict[int, Slot] = field(default_factory=dict)
    """The same of units that ended in the block: addresses in it name them."""
    slots: defaultdict[Pool, dict[int, Slot]] = field(default_factory=lambda: defaultdict(dict))
    """Of other words, by their pool."""
    permutations: dict[Pool, Permutation] = field(default_factory=dict)
    calendars: defaultdict[tuple[str, int], Calendar] = field(
        default_factory=lambda: defaultdict(Calendar)
    )
    age: int = 0
    """Number of this unit in a long file."""


def turn(slot: Slot) -> tuple[int, int, int]:
    """Return when a slot is drawn: in its text countries of cities before others, nations last."""
    country = slot.pool[0] == COUNTRY
    late = 1 + (slot.lead is None) if country else 3 * (slot.lead is not None)
    return slot.unit, slot.text, late


def begin_walks(new: Sequence[Slot], bounds: list[int]) -> None:
    """Let new calendars begin where they leave room for all dates of their first text."""
    turns: defaultdict[int, list[int]] = defaultdict(list)
    for at, slot in enumerate(new):
        if isinstance(slot.permutation, Walk):
            turns[id(slot.permutation.calendar)].append(at)
    for first, *rest in turns.values():
        slot, walk = new[first], cast(Walk, new[first].permutation)
        if not walk.calendar.start:
            parts = [bounds[at] / new[at].size for at in rest if new[at].text == slot.text]
            bounds[first] = walk.plan_start(sum(parts))
            slot.begins = True
        for at in (first, *rest):
            new[at].chance = 1 / (new[at].size * walk.calendar.start)


def stream_position(pool: Pool) -> int:
    """Return the second half of the stream position of the words of a pool."""
    digest = hashlib.sha256(repr(pool).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "little") | 1 << 63
