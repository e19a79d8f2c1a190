"""Names in addresses: their pieces are words of the unit."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.only.decision import GIVEN, NAMES, Decision
from dpsan.only.marks import SMALL
from dpsan.only.plans import NAME, NAMED, PATTERNS, Plans
from dpsan.only.slots import Pool, Slots, Units, unit_of
from dpsan.only.view import LOWER

_MOST: Final = 0.1
"""Share of the given names that begin with one letter, at most."""
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
    """Return the first letter of the given name before a name, where its text has one, else the
    letter: whether the hidden initial was that of the hidden name decides nothing.
    """
    row = int(slots.row[name])
    given = int(slots.of_row[row - 1])
    beside = row > 0 and decision.at[row - 1] == decision.at[row] - 1
    if beside and slots.plans[slots.pool[given]].pool[0] in GIVEN:
        return _written(slots, given, plans)[0]
    return letter


def write_initials(decision: Decision, tokens: list[str]) -> float:
    """Let an initial beside a surname be that of the given name before this surname elsewhere in
    the unit, whether the hidden initial was that of the hidden name or not.

    Returns:
        How many more tokens may stay as they were than those of drawn letters, at most.
    """
    names, given = ([decision.groups.index(name) for name in group] for group in (NAMES, GIVEN))
    group, near = decision.group, np.append(np.diff(decision.at) == 1, False)
    pairs = (near & np.isin(group, given) & np.isin(np.append(group[1:], 0), names)).nonzero()[0]
    unit = (decision.unit.astype(np.int64) << 32) + decision.key
    first = {int(unit[row + 1]): row for row in reversed(pairs.tolist())}
    first |= {int(unit[row]): row + 1 for row in reversed(pairs.tolist())}  # Linnea F.
    more = 0.0
    for row in (group == decision.groups.index("initial")).nonzero()[0].tolist():
        beside = [row + 1] if near[row] else [row - 1] if row and near[row - 1] else []
        of_name = first.get(int(unit[beside[0]])) if beside else None
        if of_name is not None and len(tokens[row]) == 1 and tokens[row].isupper():
            tokens[row] = tokens[of_name][:1].upper()
            more += _MOST
    return more


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
