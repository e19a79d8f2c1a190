"""Names in addresses: their pieces are words of the unit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.only.decision import GIVEN, Decision
from dpsan.only.marks import SMALL
from dpsan.only.plans import NAME, NAMED, PATTERNS, Plans
from dpsan.only.slots import Pool, Slots, Units, unit_of
from dpsan.only.view import LOWER

_EMAIL: Final[Pool] = ("email", "", ())
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
                last = at == len(keys) - 1 and (at > 0 or flat[0] == SMALL)
                pool: Pool = (groups[not last], "", ())
                pieces.append((row, ~key, pools.setdefault(pool, len(pools))))
    return pieces


def _written(slots: Slots, name: int, plans: Plans) -> str:
    """Return the name of a slot in small letters."""
    table = plans.table((slots.table[name] + 1) * PATTERNS + LOWER, slots.texts)
    return str(table[slots.number[name]]).lower()


def _initial(slots: Slots, decision: Decision, name: int, plans: Plans, letter: str) -> str:
    """Return the first letter of the given name before a name, or its initial, where its text has
    one, else the letter: whether the hidden initial was that of the hidden name decides nothing.
    """
    row = int(slots.row[name])
    given = int(slots.of_row[row - 1])
    beside = row > 0 and decision.at[row - 1] == decision.at[row] - 1
    if beside and slots.plans[slots.pool[given]].pool[0] in GIVEN | {"initial"}:
        return _written(slots, given, plans)[0]
    return letter


def write_addresses(
    slots: Slots,
    new: NDArray[np.intp],
    decision: Decision,
    units: Mapping[int, Units],
    plans: Plans,
) -> None:
    """Write names of their units into new addresses, and no e-mail address of a unit twice.

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
    mail = np.array([plan.home == _EMAIL for plan in slots.plans])[slots.pool].nonzero()[0]
    used: defaultdict[int, set[str]] = defaultdict(set)
    for at, unit in zip(mail.tolist(), slots.unit[mail].tolist(), strict=True):
        if unit not in used:
            used[unit] = {word.text for word in unit_of(units, unit).words[_EMAIL].values()}
        text = slots.texts[slots.number[at]]
        if NAME not in text:
            used[unit].add(text)
    addressed = np.array([NAME in plan.pool[2] for plan in slots.plans])[slots.pool[new]]
    for at in new[addressed].tolist():
        unit, text = int(slots.unit[at]), slots.texts[slots.number[at]]
        parts = [*chain.from_iterable(decision.locals[int(slots.row[at])])]
        names = [part if part >= 0 else ~part for part in parts if not isinstance(part, str)]
        for name in (slot_of[unit, key] for key in names):
            if parts[0] == SMALL and text[1:].lstrip("._-").startswith(NAME):
                text = _initial(slots, decision, name, plans, text[0]) + text[1:]
            text = text.replace(NAME, _written(slots, name, plans), 1)
        host, number = _HOST, 2
        while text in used[unit]:
            other = _OTHER_HOST.format(number)
            text = text.replace(host, other)
            host, number = other, number + 1
        if slots.plans[slots.pool[at]].home == _EMAIL:
            used[unit].add(text)
        slots.texts[slots.number[at]] = text
