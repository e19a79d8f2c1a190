"""Numbers of many pools at once are those of a permutation object for each."""

import numpy as np
import pytest

from dpsan.only.injections import Injections
from dpsan.only.permutations import Permutation
from dpsan.only.slots import Plan, Slots


def slots_of(unit, pool, sizes, generator):
    n = len(unit)
    pools = [(f"group {at}", "", ()) for at in range(len(sizes))]
    plans = [Plan(p, 0, [size], [], p, False, 0.1) for p, size in zip(pools, sizes, strict=True)]
    places = np.arange(n)
    none = np.full(n, -1)
    yes = np.ones(n, np.bool_)
    text = np.zeros(n, np.int32)
    number, zeros = np.zeros(n, np.int64), np.zeros(n)
    arrays = (pool, places, places, places, unit, text, none, yes, none, number, none, zeros, yes)
    return Slots(plans, *arrays)


@pytest.mark.parametrize("seed", range(20))
def test_numbers_are_those_of_permutations(seed):
    generator = np.random.default_rng(seed)
    sizes = [2, 3, 5, 40]
    unit, pool = generator.integers(0, 30, 400), generator.integers(0, len(sizes), 400)
    slots = slots_of(unit, pool, sizes, generator)
    own = generator.permutation(400)
    bounds = np.array(sizes)[pool]
    every = Injections(slots, own, bounds)
    drawn = generator.integers(0, 1 << 40, 400) % bounds
    slots.number[:] = drawn
    every.take(slots)
    left = {*every.rest.tolist()}
    permutations, checked = {}, set()
    for at in own.tolist():
        size = sizes[pool[at]]
        permutation = permutations.setdefault((unit[at], pool[at]), Permutation(size))
        used_up = permutation.planned >= size
        if at not in left:
            assert permutation.plan() == bounds[at]
            assert permutation.take(int(drawn[at])) == slots.number[at]
            assert not used_up
            checked.add(size)
        else:
            permutation.planned += 1
    assert checked == {*sizes}  # both pools that meet a number twice and pools that do not
    full = {(unit[at], pool[at]) for at in left}
    groups = np.unique(np.stack([unit, pool]), axis=1, return_counts=True)
    over = {(u, p) for u, p, many in zip(*groups[0], groups[1], strict=True) if many > sizes[p]}
    assert full == over
