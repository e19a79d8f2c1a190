"""Units that last: the replacements of a unit as bytes, and back.

A list of words may change with a version of dpsan, so a word is stored, not its number.  The bytes
hold what later draws depend on: which numbers of a pool are taken, and where the dates stand.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from dpsan.only.decision import of_names
from dpsan.only.draws import Draws
from dpsan.only.permutations import Permutation, permutation_of
from dpsan.only.slots import AGE, Pool, Slot
from dpsan.privacy.randomness import derive_key
from dpsan.sanitize.decided import DecidedTexts, Shared, in_units, joined, merged
from dpsan.sanitize.replacing import OnlyRewriter
from dpsan.sanitize.result import Sanitized

_FIRST: Final = 1 << AGE
"""Key of the first word: a unit that lasts never ends."""


def replaced(
    rewriter: OnlyRewriter,
    decided: DecidedTexts,
    key: bytes,
    units: Sequence[Shared],
    of_text: Sequence[int],
) -> Sanitized:
    """Replace what was decided in the next texts of units, which may have had others.

    Args:
        rewriter: that decided.
        decided: texts, each of which is a context or has several.
        key: fresh and secret.
        units: they grow.
        of_text: index of the unit of each text.
    """
    of_context, parts = np.repeat(of_text, decided.counts), []
    for number, block in enumerate(decided.blocks):
        moved = in_units(block, of_context[block.decision.unit])
        own = derive_key(key, "block", number)  # streams of a unit begin anew
        parts.append(rewriter.drawn(moved, own, units, lasting=True))
    return replace(joined(merged(parts), decided.counts), invisible=decided.invisible)


def packed(shared: Shared, draws: Draws) -> bytes:
    """Return a unit as bytes."""
    unit, words = shared.unit, []
    hashes = [*shared.ids]
    every = [(slot.pool[0], slot) for slot in unit.names.values()]
    every += [(home[0], slot) for home, slots in unit.slots.items() for slot in slots.values()]
    for home, slot in every:
        group, form, marks = slot.pool
        text = slot.written or draws.words(group)[slot.number]
        taken = slot.permutation is not None
        about = hashes[slot.key - _FIRST], home, group, form, marks, text
        words.append([*about, slot.number, taken, slot.chance])
    calendars = [[*of, each.at, each.size, each.start] for of, each in unit.calendars.items()]
    parts = {"words": words, "calendars": calendars, "originals": [*shared.originals]}
    return json.dumps(parts, separators=(",", ":")).encode()


def unpacked(data: bytes, number: int, draws: Draws) -> Shared:
    """Return a unit.

    Args:
        data: that :func:`packed` returned.
        number: of the unit in its batch.
    """
    stored = json.loads(data)
    shared = Shared(number)
    unit = shared.unit
    unit.age = shared.units
    for group, part, at, size, start in stored["calendars"]:
        calendar = unit.calendars[group, part]
        calendar.at, calendar.size, calendar.start = at, size, start
    taken: defaultdict[Pool, list[int]] = defaultdict(list)
    for row in stored["words"]:
        slot, home, own = _slot(row, shared, draws)
        of_words = unit.names if of_names(home) else unit.slots[home, "", ()]
        of_words[slot.key] = slot
        if own and slot.number >= 0:
            taken[slot.pool].append(slot.number)
    for pool, numbers in taken.items():
        unit.permutations[pool] = permutation = permutation_of(
            pool[0], pool[1], draws.size(pool), unit.calendars
        )
        permutation.resume(numbers)
    shared.originals = {tuple(pair): None for pair in stored["originals"]}
    return shared


def _slot(row: Sequence[Any], shared: Shared, draws: Draws) -> tuple[Slot, str, bool]:
    """Return a slot, its group in the unit, and whether its number is taken from its pool."""
    value, home, group, form, marks, text, number, taken, chance = row
    pool, written = (group, form, tuple(marks)), text
    if draws.words(group):
        number = draws.number(group, text)
        written = "" if number >= 0 else text
    key = shared.ids.setdefault(value, len(shared.ids)) + _FIRST
    slot = Slot(pool, key, 0, 0, 0, -1, None, 0, chance, number=number, written=written)
    if taken:
        slot.permutation = _TAKEN
    return slot, home, taken


_TAKEN: Final = Permutation(0)
"""Stands for the permutation of a slot whose number is known."""
