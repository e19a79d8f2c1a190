"""Numbers of many pools at once are those of a permutation object for each."""

from collections import defaultdict

import numpy as np
import pytest

from dpsan.only.injections import Injections
from dpsan.only.permutations import Permutation
from dpsan.only.plans import Plans
from dpsan.only.slots import Plan, Slots, Unit, unit_of

SIZES = [2, 3, 5, 40]


def drawn(seed):
    """Slots of many pools with uniform integers, and the order of their draws."""
    generator = np.random.default_rng(seed)
    n = 400
    unit, pool = generator.integers(0, 30, n), generator.integers(0, len(SIZES), n)
    pools = [(f"group {at}", "", ()) for at in range(len(SIZES))]
    plans = [Plan(p, 0, [size], [], p, False, 0.1) for p, size in zip(pools, SIZES, strict=True)]
    places, none, yes = np.arange(n), np.full(n, -1), np.ones(n, np.bool_)
    text, number, zeros = np.zeros(n, np.int32), np.zeros(n, np.int64), np.zeros(n)
    arrays = (pool, places, places, places, unit, text, none, yes, none, number, none, zeros, yes)
    slots, own = Slots(plans, *arrays), generator.permutation(n)
    bounds = np.array(SIZES)[pool]
    injections = Injections(slots, own, bounds)
    slots.number[:] = generator.integers(0, 1 << 40, n) % bounds
    return slots, own, bounds, injections


@pytest.mark.parametrize("seed", range(20))
def test_numbers_are_those_of_permutations(seed):
    slots, own, bounds, every = drawn(seed)
    unit, pool, integers = slots.unit, slots.pool, slots.number.copy()
    every.take(slots)
    left = {*every.rest.tolist()}
    permutations, checked = {}, set()
    for at in own.tolist():
        size = SIZES[pool[at]]
        permutation = permutations.setdefault((unit[at], pool[at]), Permutation(size))
        used_up = permutation.planned >= size
        if at not in left:
            assert permutation.plan() == bounds[at]
            assert permutation.take(int(integers[at])) == slots.number[at]
            assert not used_up
            checked.add(size)
        else:
            permutation.planned += 1
    assert checked == {*SIZES}  # both pools that meet a number twice and pools that do not
    full = {(unit[at], pool[at]) for at in left}
    groups = np.unique(np.stack([unit, pool]), axis=1, return_counts=True)
    over = {(u, p) for u, p, many in zip(*groups[0], groups[1], strict=True) if many > SIZES[p]}
    assert full == over


def test_a_pool_goes_on_after_its_numbers():
    """A number that is drawn again is none of its pool, as a permutation draws it."""
    slots, own, _, every = drawn(0)
    integers = slots.number.copy()
    every.take(slots)
    left = {*every.rest.tolist()}
    at = [slot for slot in own.tolist() if slot not in left]
    pools = {(int(slots.unit[slot]), int(slots.pool[slot])) for slot in at}
    plans = Plans(
        {"given_x": [], **{f"group {i}": ["x"] * n for i, n in enumerate(SIZES)}}, injective=True
    )
    units = defaultdict(lambda: defaultdict(Unit))
    every.go_on(slots, units, plans, pools)
    expected = {}
    for slot in at:
        pool = int(slots.unit[slot]), int(slots.pool[slot])
        permutation = expected.setdefault(pool, Permutation(SIZES[pool[1]]))
        permutation.plan()
        permutation.take(int(integers[slot]))
    for (unit, pool), permutation in expected.items():
        assert plans.permutation(unit_of(units, unit), slots.plans[pool].pool) == permutation
