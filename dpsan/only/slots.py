"""Slots: what the keys of a block become, in arrays, and what a unit has so far."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsan.only.permutations import Calendar, Permutation
from dpsan.only.templates import Piece

AGE: Final = 40
"""Bits of a key below the number of the unit of a long file."""
Pool = tuple[str, str, tuple[str, ...]]
"""Group, form, and the marks of a local part."""
Numbers = NDArray[np.int64]


class Plan(NamedTuple):
    """Tells how the words of a pool are drawn."""

    pool: Pool
    table: int
    """Index of the list of its words; -1 of strings."""
    sizes: list[int]
    """Bounds of the numbers of a string; of words their number."""
    pieces: list[Piece]
    """Template of its strings."""
    named: bool
    """Whether a word of it is one in all such pools: names and medicines."""
    ascending: bool
    chance: float
    """That a word stays as it is, at most: none of an address, whose host is reserved."""


class Word(NamedTuple):
    """Holds what a key of a unit became: a word by its number in a list, or a string."""

    table: int
    number: int
    text: str
    chance: float


@dataclass(slots=True)
class Unit:
    """Holds the replacements that one unit has so far."""

    names: dict[int, Word] = field(default_factory=dict)
    """Of each name and medicine: its pool is that of its first token."""
    words: defaultdict[Pool, dict[int, Word]] = field(default_factory=lambda: defaultdict(dict))
    """Of others, by their pool."""
    permutations: dict[Pool, Permutation] = field(default_factory=dict)
    calendars: defaultdict[tuple[str, int], Calendar] = field(
        default_factory=lambda: defaultdict(Calendar)
    )

    def of(self, plan: Plan) -> dict[int, Word]:
        """Return the replacements of a pool by their keys."""
        return self.names if plan.named else self.words[plan.pool]


Units = defaultdict[int, Unit]
"""By their numbers: a long file has several units, one after the other."""


@dataclass(slots=True, eq=False)
class Slots:
    """Arrays over what the keys of a block become, in the order of their first rows."""

    plans: list[Plan]
    pool: NDArray[np.intp]
    """Index of the plan."""
    row: NDArray[np.intp]
    """First row in the decision."""
    of_row: NDArray[np.intp]
    """Slot of each row."""
    key: Numbers
    unit: Numbers
    """Number of the unit, which differs between the units of a long file."""
    text: NDArray[np.int32]
    lead: NDArray[np.intp]
    """Slot of the city of a country, of the country of a nation; -1: none."""
    own: NDArray[np.bool_]
    """Whether its number comes from a permutation of its unit."""
    table: NDArray[np.intp]
    number: Numbers
    chance: NDArray[np.float64]
    new: NDArray[np.bool_]
    texts: list[str] = field(default_factory=list)
    """Strings, by their number."""

    def recall(self, units: Units) -> None:
        """Give the slots that their unit has what they became."""
        columns = self.unit.tolist(), self.pool.tolist(), self.key.tolist()
        for at, (unit, pool, key) in enumerate(zip(*columns, strict=True)):
            word = units[unit].of(self.plans[pool]).get(key)
            if word is not None:
                self.new[at], self.chance[at] = False, word.chance
                self.table[at], self.number[at] = word.table, word.number
                if word.table < 0:
                    self.write(at, word.text)

    def write(self, at: int, text: str) -> None:
        """Let a slot be a string."""
        self.table[at], self.number[at] = -1, len(self.texts)
        self.texts.append(text)

    def remember(self, units: Units) -> None:
        """Add new slots to their units."""
        for at in np.flatnonzero(self.new).tolist():
            table, number = int(self.table[at]), int(self.number[at])
            text = self.texts[number] if table < 0 else ""
            of_pool = units[int(self.unit[at])].of(self.plans[self.pool[at]])
            of_pool[int(self.key[at])] = Word(table, number, text, float(self.chance[at]))


def stream_position(pool: Pool) -> int:
    """Return the second half of the stream position of the words of a pool."""
    digest = hashlib.sha256(repr(pool).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "little") | 1 << 63
