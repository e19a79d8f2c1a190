"""Different words of a unit become different strings, those of different forms too."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.only.injections import Injections
from dpsan.only.plans import ADDRESSES, Plans
from dpsan.only.slots import Pool, Slots, Units, unit_of
from dpsan.only.templates import finished, string
from dpsan.privacy.randomness import Streams

_DRAWS: Final = 32
"""Strings that are drawn for a word until one is free; then those of its form are used up."""


def keep_apart(
    slots: Slots,
    new: NDArray[np.intp],
    units: Mapping[int, Units],
    plans: Plans,
    streams: Streams,
    injections: Injections | None,
) -> int:
    """Draw strings again that another word of their unit and group became, in another form.

    Within a form they differ already, see :class:`dpsan.only.permutations.Permutation`.

    Args:
        slots: with strings.
        new: slots that were drawn, in order.
        units: what they have so far; their permutations go on.
        plans: of the pools.
        streams: of the new slots.
        injections: what gave slots their numbers; None: permutations of units that have had other
            blocks.

    Returns:
        How many share their string with another word all the same.
    """
    alone = [
        plan.table < 0 and len(plan.sizes) == 1 and plan.pool[0] not in ADDRESSES
        for plan in slots.plans
    ]
    indices = np.array(alone)[slots.pool[new]].nonzero()[0]
    at = new[indices]
    columns = indices, at, slots.unit[at], slots.pool[at], slots.number[at]
    rows = [*zip(*(column.tolist() for column in columns), strict=True)]
    used: defaultdict[tuple[int, Pool], dict[str, Pool]] = defaultdict(dict)
    for unit, pool in {(unit, pool) for _, _, unit, pool, _ in rows} if injections is None else ():
        home = slots.plans[pool].home
        words = unit_of(units, unit).words[home].values()
        used[unit, home] = {word.text: word.pool for word in words}
    again, pools = [], set()
    for index, slot, unit, pool, number in rows:
        plan = slots.plans[pool]
        if used[unit, plan.home].setdefault(slots.texts[number], plan.pool) != plan.pool:
            again.append((index, slot, unit, plan))
            pools.add((unit, pool))
    if injections and again:
        injections.go_on(slots, units, plans, pools)
    for step in range(_DRAWS):
        if not again:
            break
        permutations = [plans.permutation(unit_of(units, u), plan.pool) for _, _, u, plan in again]
        bounds = np.array([permutation.plan() for permutation in permutations], np.uint64)
        indices = np.array([index for index, *_ in again])
        values = streams.integers(f"only, again {step}", bounds, indices).tolist()
        left = []
        for row, permutation, value in zip(again, permutations, values, strict=True):
            _, slot, unit, plan = row
            number = permutation.take(value)
            text = finished(plan.pool[0], string(plan.pieces, [number]))
            others = used[unit, plan.home]
            if others.setdefault(text, plan.pool) != plan.pool:
                left.append(row)
                continue
            slots.write(slot, text)
            slots.taken[slot] = number
            slots.chance[slot] += 1 / max(plan.sizes[0] - len(others), 1)
        again = left
    return len(again)
