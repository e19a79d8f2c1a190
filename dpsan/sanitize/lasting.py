"""Units that last: the replacements of a unit as bytes, and back.

A list of words may change with a version of dpsan, so a word is stored, not its number.  The bytes
hold what later draws depend on: which numbers of a pool are taken, and where the dates stand.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from dpsan.only.plans import Plans
from dpsan.only.slots import AGE, Pool
from dpsan.privacy.randomness import derive_key
from dpsan.sanitize.decided import DecidedTexts, Shared
from dpsan.sanitize.replacing import OnlyRewriter
from dpsan.sanitize.result import Sanitized, joined, together

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
        moved = block.in_units(of_context[block.decision.unit])
        subkey = derive_key(key, "block", number)  # streams of a unit begin anew
        parts.append(rewriter.drawn(moved, subkey, units, lasting=True))
    return replace(joined(together(parts), decided.counts), invisible=decided.invisible)


def packed(shared: Shared, plans: Plans) -> bytes:
    """Return a unit as bytes."""
    unit, words, hashes = shared.replacements[shared.units], [], [*shared.ids]
    for (home, *_), of_home in unit.words.items():
        for key, word in of_home.items():
            group, text = plans.stored(word)
            _, form, marks = word.pool
            about = hashes[key - _FIRST], home, group, form, marks, text
            words.append([*about, word.taken, word.chance])
    calendars = [
        [*of, calendar.at, calendar.size, calendar.start] for of, calendar in unit.calendars.items()
    ]
    parts = {"words": words, "calendars": calendars, "originals": [*shared.originals]}
    return json.dumps(parts, separators=(",", ":")).encode()


def unpacked(data: bytes, number: int, plans: Plans) -> Shared:
    """Return a unit.

    Args:
        data: that :func:`packed` returned.
        number: of the unit in its batch.
        plans: of the pools.
    """
    stored = json.loads(data)
    shared = Shared(number)
    unit = shared.replacements[shared.units]
    for group, part, at, size, start in stored["calendars"]:
        calendar = unit.calendars[group, part]
        calendar.at, calendar.size, calendar.start = at, size, start
    taken: defaultdict[Pool, list[int]] = defaultdict(list)
    for value, home, group, form, marks, text, place, chance in stored["words"]:
        key = shared.ids.setdefault(value, len(shared.ids)) + _FIRST
        word = plans.loaded((group, form, tuple(marks)), text, chance, place)
        unit.words[home, "", ()][key] = word
        if word.taken >= 0:
            taken[word.pool].append(word.taken)
    for pool, numbers in taken.items():
        plans.permutation(unit, pool).resume(numbers)
    shared.originals = {tuple(pair): None for pair in stored["originals"]}
    return shared
