"""Doses that the drawn medicine has, by a public table: a function of what was drawn alone."""

import re
from bisect import bisect
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Final

from dpsan.only.decision import MEDICINE, Decision
from dpsan.only.permutations import DOSED
from dpsan.only.slots import Slots
from dpsan.only.view import among

UNITS: Final = {"microgram": "mcg", "gram": "g", "grams1": "g"}
"""Groups of doses in other units than mg."""
_JOINED: Final = re.compile(r"[\d.,]+(mg|mcg|µg|g)")
_BEHIND: Final = 16
_BEFORE: Final = 3
_AHEAD: Final = 4
"""Tokens from a medicine to its dose, and from a dose to its medicine, which count as more."""
_FAR: Final = 8
"""Medicines further ahead: the last one that has doses is that of a dose beside none."""
Doses = Mapping[tuple[str, str], Sequence[str]]
"""Doses of a medicine in a unit, ascending."""


def fit_doses(decision: Decision, slots: Slots, tokens: list[str], doses: Doses) -> None:
    """Write doses that the medicine beside them has, in the order of what they stand for.

    Args:
        decision: what is drawn.
        slots: of it; the chance of a dose grows.
        tokens: what was drawn, by row; doses change.
        doses: of medicines.
    """
    of_medicines, of_doses = _codes(decision.groups)
    medicines: list[int] = among(decision.group, of_medicines).nonzero()[0].tolist()
    places = decision.at[medicines].tolist()
    several: defaultdict[tuple[int, str, str], list[int]] = defaultdict(list)
    for row in among(decision.group, of_doses).nonzero()[0].tolist() if medicines else ():
        name = decision.groups[decision.group[row]]
        joined = _JOINED.fullmatch(tokens[row]) if name == "quantity" else None
        unit = UNITS.get(name, "mg") if name in DOSED else joined[1] if joined else ""
        token = int(decision.at[row])
        found: list[tuple[int, tuple[str, str]]] = []
        begin, behind = bisect(places, token - _BEHIND - 1), bisect(places, token + _BEFORE)
        near = zip(medicines[begin:behind], places[begin:behind], strict=True)
        before = slice(max(begin - _FAR, 0), begin)
        far = [*zip(medicines[before], places[before], strict=True)][::-1]
        for at, place in chain(near, far) if unit else ():
            if decision.text[at] != decision.text[row] or (found and place < token - _BEHIND):
                continue
            its = tokens[at].lower(), unit.replace("µg", "mcg")
            if its in doses:
                found.append((token - place if place < token else place - token + _AHEAD, its))
        if found:
            several[int(decision.text[row]), *min(found)[1]].append(row)
    for (_, word, unit), rows in several.items():
        usual = [*doses[word, unit]]
        size = {int(slots.of_row[row]): int(decision.order[row]) for row in reversed(rows)}
        ascending = sorted(size, key=size.__getitem__)
        while len(usual) < len(ascending):  # two doses never become one
            usual.append(f"{2 * float(usual[-1]):g}")
        first = next(row for row in rows if slots.of_row[row] == ascending[0])
        starts = range(len(usual) - len(ascending) + 1)
        as_long = [at for at in starts if _digits(usual[at]) == _digits(tokens[first])] or starts
        start = as_long[sum(map(ord, tokens[first])) % len(as_long)]
        for row in rows:
            slot = int(slots.of_row[row])
            end = tokens[row][len(tokens[row].rstrip("mcgµ")) :]
            tokens[row] = usual[start + ascending.index(slot)] + end
            slots.chance[slot] = min(2 / len(as_long), 1.0)


@lru_cache(8)
def _codes(groups: tuple[str, ...]) -> tuple[list[int], list[int]]:
    """Return the codes of the groups of medicines, and of doses."""
    medicines = [code for code, name in enumerate(groups) if name.startswith(MEDICINE)]
    return medicines, [code for code, name in enumerate(groups) if name in {*DOSED, "quantity"}]


def _digits(dose: str) -> int:
    """Return the number of digits of a dose before a point: that of its form."""
    return len(dose.partition(".")[0].rstrip("mcgµ"))
