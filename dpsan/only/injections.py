"""Numbers of pools whose unit has no other block: the permutations of all of them at once."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

import numpy as np

from dpsan.only import templates, view
from dpsan.only.permutations import ASCENDING, Permutation
from dpsan.only.plans import ADDRESSES, Plans
from dpsan.only.slots import Pool, Slots, Units, unit_of
from dpsan.privacy.randomness import Streams


class Injections:
    """The slots whose numbers are those of :class:`Permutation`, without an object for each pool.

    The number at rank r of a permutation is r plus a uniform integer below the rest of the pool, as
    long as no number of the pool comes twice so.  Left to the objects are several dates of a group,
    which ascend, countries that follow a city, and pools that are used up.

    Args:
        slots: of a block.
        own: slots that are new, in the order of their draws.
        bounds: sizes of the pools of all slots; those of the first of ``own`` become bounds of
            their integers.
    """

    def __init__(self, slots: Slots, pending: view.Indices, bounds: view.Whole) -> None:
        _, group = view.distinct(slots.unit[pending] * len(slots.plans) + slots.pool[pending])
        order = np.argsort(group, kind="stable")
        counts = np.bincount(group)
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
        names = [plan.pool[0].removesuffix("3") * plan.ascending for plan in slots.plans]
        dates = [sorted(ASCENDING).index(name) if name else -1 for name in names]
        date = np.array(dates)[slots.pool[pending]]
        _, of_unit = view.distinct(slots.unit[pending] * len(ASCENDING) + date)
        ascending = (date >= 0) & (np.bincount(of_unit)[of_unit] > 1)
        other = ascending | (slots.lead[pending] >= 0) | (rank >= bounds[pending])
        here = (np.bincount(group, other) == 0)[group]
        self.rest = pending[~here]
        """Slots that are left, in order."""
        self._at, self._group, self._rank = pending[here], group[here], rank[here]
        self._sizes = bounds[self._at]
        bounds[self._at] -= self._rank

    def take(self, slots: Slots) -> None:
        """Take the numbers of slots, which are uniform integers so far."""
        self._integers = numbers = slots.number[self._at]
        places = self._rank + numbers
        order = np.lexsort((places, self._group))
        group, place = self._group[order], places[order]
        twice = group[1:][(group[1:] == group[:-1]) & (place[1:] == place[:-1])]
        slots.number[self._at] = places
        again = np.isin(self._group, twice).nonzero()[0]
        columns = self._group[again].tolist(), numbers[again].tolist(), self._sizes[again].tolist()
        permutations: dict[int, Permutation] = {}
        for at, of_group, number, size in zip(self._at[again].tolist(), *columns, strict=True):
            permutation = permutations.setdefault(of_group, Permutation(size))
            slots.number[at] = permutation.take(number)

    def go_on(
        self, slots: Slots, units: Mapping[int, Units], plans: Plans, pools: set[tuple[int, int]]
    ) -> None:
        """Let the permutations of some pools go on after the numbers that were taken.

        Args:
            slots: see :meth:`take`.
            units: whose permutations these are.
            plans: of the pools.
            pools: unit and index of each.
        """
        here = np.isin(slots.pool[self._at], [pool for _, pool in pools]).nonzero()[0]
        at = self._at[here]
        columns = slots.unit[at].tolist(), slots.pool[at].tolist(), self._integers[here].tolist()
        for unit, pool, integer in zip(*columns, strict=True):
            if (unit, pool) in pools:
                permutation = plans.permutation(unit_of(units, unit), slots.plans[pool].pool)
                permutation.plan()
                permutation.take(integer)


# Different words of a unit become different strings, those of different forms too.

_DRAWS: Final = 32
"""Strings that are drawn for a word until one is free; then those of its form are used up."""


def keep_apart(
    slots: Slots,
    new: view.Indices,
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
            text = templates.finished(plan.pool[0], templates.string(plan.pieces, [number]))
            others = used[unit, plan.home]
            if others.setdefault(text, plan.pool) != plan.pool:
                left.append(row)
                continue
            slots.write(slot, text)
            slots.taken[slot] = number
            slots.chance[slot] += 1 / max(plan.sizes[0] - len(others), 1)
        again = left
    return len(again)
