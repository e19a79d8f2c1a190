"""Names inside e-mail addresses and handles: their pieces are words of the unit."""

from collections import defaultdict
from collections.abc import Mapping
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.only import forms, view
from dpsan.only.decision import GIVEN, SURNAMES, Decision
from dpsan.only.plans import NAME, NAMED, PATTERNS, Plans
from dpsan.only.slots import Pool, Slots, Units, unit_of
from dpsan.text.letter_case import address_spellings

_EMAIL: Final[Pool] = ("email", "", ())
INITIAL: Final = "initial"
"""Group of initials."""
INITIALS: Final = "acr2"
"""Group of initials of two names."""
_HOST: Final = "@example"
_OTHER_HOST: Final = "@mail{}.example"
"""Host of an address whose local part another address of the unit has too."""


def name_pieces(
    decision: Decision, pools: dict[Pool, int], groups: tuple[str, str]
) -> list[tuple[int, int, int]]:
    """Return row, key and pool of the pieces of addresses that no name of their text is.

    Args:
        decision: has ``~key`` for them.
        pools: indices; they grow.
        groups: of the last of several pieces or behind an initial, and of others.
    """
    pieces = []
    for row, parts in sorted(decision.locals.items()):
        flat = [*chain.from_iterable(parts)]
        keys = [part for part in flat if not isinstance(part, str)]
        for at, key in enumerate(keys):
            if key < 0:
                last = at == len(keys) - 1 and (at > 0 or flat[0] == forms.SMALL)
                pool: Pool = (groups[not last], "", ())
                pieces.append((row, ~key, pools.setdefault(pool, len(pools))))
    return pieces


def _written(slots: Slots, name: int, plans: Plans) -> str:
    """Return the name of a slot as addresses spell it."""
    table = plans.table((slots.table[name] + 1) * PATTERNS + view.LOWER, slots.texts)
    return max(address_spellings(str(table[slots.number[name]]).lower()), key=len)


class _People:
    """Pairs of names that stand side by side in a block, and so are of one person.

    Whether a hidden letter, or a hidden piece of an address, was that of the hidden name decides
    nothing.
    """

    def __init__(self, slots: Slots, decision: Decision, plans: Plans) -> None:
        self._slots, self._plans = slots, plans
        groups = [plan.pool[0] for plan in slots.plans]
        given = np.array([group in GIVEN | {INITIAL} for group in groups])[slots.pool]
        surname = np.array([group in SURNAMES for group in groups])[slots.pool]
        slot, beside = slots.of_row, decision.at[1:] == decision.at[:-1] + 1
        beside &= given[slot[:-1]] & surname[slot[1:]]
        first, last = slot[:-1][beside].tolist(), slot[1:][beside].tolist()
        pairs = [*zip(first, last, strict=True)][::-1]
        self.surname = {at: name for at, name in pairs if groups[slots.pool[at]] != INITIAL}
        """The surname behind each given name, where they first stand so."""
        self._before = {last: first for first, last in pairs}

    def letter(self, name: int, drawn: str, *, ahead: bool) -> str:
        """Return the letter before or behind a name in an address: that of the given name before
        it, or of the surname behind it, else the one that was drawn.
        """
        other = self._before.get(name, -1)
        if not ahead:
            other = self.surname.get(name, other)
        return _written(self._slots, other, self._plans)[0] if other >= 0 else drawn


def write_addresses(
    slots: Slots,
    new: NDArray[np.intp],
    decision: Decision,
    units: Mapping[int, Units],
    plans: Plans,
) -> None:
    """Write names of their units into new addresses and initials, and no e-mail address twice.

    Args:
        slots: of the decision, in which each name of an address has one.
        new: slots that were drawn, in order.
        decision: of the block.
        units: what they had before.
        plans: of the pools.
    """
    named = np.array([plan.home == NAMED for plan in slots.plans])[slots.pool].nonzero()[0]
    columns = slots.unit[named].tolist(), slots.key[named].tolist()
    slot_of = dict(zip(zip(*columns, strict=True), named.tolist(), strict=True))
    for row, cuts in sorted(decision.locals.items(), reverse=True):  # the first is written last
        at = int(slots.of_row[row])
        group, parts = slots.plans[slots.pool[at]].pool[0], [*chain.from_iterable(cuts)]
        names = [slot_of.get((int(slots.unit[at]), part), -1) for part in parts]
        if group in (INITIAL, INITIALS) and slots.new[at] and min(names) >= 0:
            letters = "".join(_written(slots, name, plans)[0] for name in names).upper()
            if group == INITIALS:
                slots.texts[slots.number[at]] = letters
            elif letters in plans.words[INITIAL]:
                slots.number[at] = plans.words[INITIAL].index(letters)
            # few first letters are frequent
            slots.chance[at] = max(slots.chance[at], 0.03 if group == INITIALS else 0.13)
    mail = np.array([plan.home == _EMAIL for plan in slots.plans])[slots.pool].nonzero()[0]
    used: defaultdict[int, set[str]] = defaultdict(set)
    for at, unit in zip(mail.tolist(), slots.unit[mail].tolist(), strict=True):
        if unit not in used:
            used[unit] = {word.text for word in unit_of(units, unit).words[_EMAIL].values()}
        text = slots.texts[slots.number[at]]
        if NAME not in text:
            used[unit].add(text)
    addressed = np.array([NAME in plan.pool[2] for plan in slots.plans])[slots.pool[new]]
    if not addressed.any():
        return
    people = _People(slots, decision, plans)
    for at in new[addressed].tolist():
        unit, text = int(slots.unit[at]), slots.texts[slots.number[at]]
        parts = [*chain.from_iterable(decision.locals[int(slots.row[at])])]
        keys = [part for part in parts if not isinstance(part, str)]
        names = [slot_of[unit, key if key >= 0 else ~key] for key in keys]
        if parts[0] == forms.SMALL and text[1:].lstrip("._-").startswith(NAME):
            text = people.letter(names[0], text[0], ahead=True) + text[1:]
        elif parts[-1] == forms.SMALL and names:
            end = (text + "@").index("@", 1) - 1
            head, letter = text[:end], text[end]
            if head.rstrip("._-").endswith(NAME):
                letter = people.letter(names[-1], letter, ahead=False)
            text = head + letter + text[end + 1 :]
        for name in names:
            text = text.replace(NAME, _written(slots, name, plans), 1)
        host, number = _HOST, 2
        while text in used[unit]:
            other = _OTHER_HOST.format(number)
            text = text.replace(host, other)
            host, number = other, number + 1
        if slots.plans[slots.pool[at]].home == _EMAIL:
            used[unit].add(text)
        slots.texts[slots.number[at]] = text
