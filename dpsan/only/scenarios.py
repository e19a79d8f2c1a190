"""Scenarios: health words of a unit are about one area of medicine, so that they fit each other.

An illness, its medicine, its symptom and its test come from the rows of one area.  Which one is a
function of the decision and of random numbers alone: one of those that most words of the unit are
about.  What an area has no words for comes from the general list of its group.
"""

from collections.abc import Mapping, Sequence
from itertools import islice
from math import lcm
from typing import Final

from dpsan.only.slots import Pool, Slots, Units, unit_of
from dpsan.only.view import Ids

SCENARIO: Final = "scenario"
"""List of the words of all scenarios."""
SHARED: Final[Pool] = (SCENARIO, "", ())
"""Home of their words: what is an illness here and a symptom there has one replacement."""
_LEAST: Final = 4
"""Words of an area and a group: where it has fewer, some of the general list stand beside them."""
_MOST: Final = 22
"""Words, or areas, of which one is drawn, at most."""
_CHOICES: Final = lcm(*range(1, _MOST + 1))
"""As many integers stand for each of so many words."""
BOUND: Final = _CHOICES**2
"""Bound of the integer of a word: its remainder chooses the word, its quotient the area."""


class Scenarios:
    """Scenarios of some areas.

    Args:
        rows: words of an area and a group.
        words: by group its output words.
        areas: names of the areas by their bits, each with a weight and once or more.
    """

    def __init__(
        self,
        rows: Mapping[tuple[str, str], Sequence[str]],
        words: Mapping[str, Sequence[str]],
        areas: Sequence[str],
    ) -> None:
        number = {word: at for at, word in enumerate(words[SCENARIO])} if rows else {}
        self._table = [*words].index(SCENARIO) if rows else -1
        self.groups = {group for _, group in rows}
        """Groups whose words fit each other."""
        self._general = {group: [number[word] for word in words[group]] for group in self.groups}
        self._rows = dict[tuple[str, str], list[int]]()
        for place, listed in rows.items():
            row = [number[word] for word in listed]
            others = (word for word in self._general[place[1]] if word not in row)
            self._rows[place] = [*row, *islice(others, max(_LEAST - len(row), 0))]
        self._areas = [*dict.fromkeys(area.split()[0] for area in areas)]

    def choose(
        self, slots: Slots, new: Sequence[int], units: Mapping[int, Units], area: Ids
    ) -> int:
        """Choose the words of some slots, whose numbers are uniform below :data:`BOUND` so far.

        Args:
            slots: of a block.
            new: these slots, in the order of their draws.
            units: what they have so far; they get an area.
            area: bits of the areas of each row.

        Returns:
            How many have a word that another one of their unit has too.
        """
        reused, taken = 0, dict[int, set[int]]()
        for at in new:
            number, row = int(slots.unit[at]), int(slots.row[at])
            unit = unit_of(units, number)
            if number not in taken:
                words_of = unit.words[SHARED].values()
                taken[number] = {word.number for word in words_of if word.table == self._table}
            which, value = divmod(int(slots.number[at]), _CHOICES)
            if unit.area is None:
                bits = int(area[row])
                areas = [name for bit, name in enumerate(self._areas) if bits >> bit & 1][:_MOST]
                unit.area = areas[which % len(areas)] if areas else ""
            group = slots.plans[slots.pool[at]].pool[0]
            listed = self._rows.get((unit.area, group), []), self._general[group]
            free = [[word for word in words if word not in taken[number]] for words in listed]
            reused += not any(free)
            words = (free[0] or free[1] or listed[1])[:_MOST]
            slots.table[at], slots.number[at] = self._table, words[value % len(words)]
            slots.chance[at] = 1 / len(words)
            taken[number].add(int(slots.number[at]))
        return reused
