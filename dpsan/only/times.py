"""Times of one text: whatever their forms, they keep the order of those that they stand for."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from math import inf
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.only.dates import day_of_year, evenings, moment
from dpsan.only.decision import Decision
from dpsan.only.marks import DAY_FIRST, PADDED, SHORT, ZERO
from dpsan.only.numerals import DAY
from dpsan.only.slots import Plan, Slots
from dpsan.only.sums import CLOCK, OF_DAY, OF_MONTH
from dpsan.only.templates import ordinal, radices, string, template

TIMES: Final = frozenset((CLOCK, "dotclock"))
"""Groups of times that are in one order."""
_WIDTHS: Final = {OF_DAY: (22, 2), OF_MONTH: (12, 1)}
"""Days of each month and months, and how far apart those of a text are."""
_MAY: Final = 5
_TIME: Final = re.compile(r"\D{0,2}(\d{1,2})(?:[:.h](\d\d))?(?:.*?([apAP]))?")


def keep_times(slots: Slots, new: NDArray[np.intp], order: NDArray[np.int32]) -> None:
    """Move new times of each text that are out of order to the next one of their form.

    Args:
        slots: with strings.
        new: slots that were drawn.
        order: how many times of the text are earlier, of each slot.
    """
    of_times = np.array([plan.pool[0] in TIMES for plan in slots.plans])
    at = new[of_times[slots.pool[new]]]
    members: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    columns = slots.unit[at].tolist(), slots.text[at].tolist(), at.tolist()
    for unit, text, slot in zip(*columns, strict=True):
        members[unit, text].append(slot)
    for of_text in members.values():
        pools = [slots.plans[pool].pool for pool in slots.pool[of_text].tolist()]
        forms = [(group, form) for group, form, _ in pools]
        if len({*forms}) < 2:
            continue  # those of one form are in order
        none = np.zeros(len(forms), np.int8)
        late = len(evenings([form for _, form in forms], none)) > 0
        rows = [row for row in zip(of_text, forms, strict=True) if _times(*row[1], late=late)[0]]
        rows.sort(key=lambda row: int(order[row[0]]))
        lists = [_times(group, form, late=late) for _, (group, form) in rows]
        ahead = [slot for slot, _ in rows]
        texts = [slots.texts[number] for number in slots.number[ahead].tolist()]
        drawn = [
            _minute(group, form, text, late=late)
            for (_, (group, form)), text in zip(rows, texts, strict=True)
        ]
        ranks = order[ahead].tolist()
        of_all = float(slots.chance[ahead].sum())
        for slot, text, likelier in _moved(lists, drawn, ranks):
            slots.texts[slots.number[ahead[slot]]] = text
            slots.chance[ahead[slot]] = min(likelier * of_all, 1.0)


def keep_days(slots: Slots, decision: Decision, words: Mapping[str, Sequence[str]]) -> None:
    """Let the days of all dates of a text, and their months, be in one order, whatever their forms.

    The least follows from the one that was drawn, and the others from it.

    Args:
        slots: with strings.
        decision: with the tokens of each day and month.
        words: by group, in the order of their tables.
    """
    turns: defaultdict[tuple[int, int], list[list[int]]] = defaultdict(list)
    for kind, whole, parts in decision.sums:
        if kind in _WIDTHS:
            turns[kind, int(decision.text[whole])].append(slots.of_row[[*parts]].tolist())
    done = set[tuple[int, int]]()
    for (kind, _), ranks in turns.items():
        (width, step), at = _WIDTHS[kind], {*chain(*ranks)}
        room = width - step * (len(ranks) - 1)
        free = all(slots.new[slot] and (kind, slot) not in done for slot in at)
        if room < width // 2 or not free:
            continue
        groups_of = [{_group(slots, slot) for slot in members} for members in ranks]
        short = [number for number, groups in enumerate(groups_of) if "month3" in groups]
        done.update((kind, slot) for slot in at)
        drawn = _part(slots, ranks[0][0], kind, words)
        least = [*range(1, room + 1)]
        if kind == OF_MONTH:  # May has no short form
            least = [month for month in least if _MAY - month not in short] or least
        for number, members in enumerate(ranks):
            for slot in {*members}:
                _set_part(slots, slot, kind, least[drawn % len(least)] + step * number, words)
                slots.chance[slot] = 1 / 3  # of six months, or four ordinals


def _group(slots: Slots, slot: int) -> str:
    """Return the group of a slot."""
    plan: Plan = slots.plans[slots.pool[slot]]
    return plan.pool[0]


def _part(slots: Slots, slot: int, kind: int, words: Mapping[str, Sequence[str]]) -> int:
    """Return the day of a date, or its month."""
    group, form, _ = slots.plans[slots.pool[slot]].pool
    (text,) = slots.words([slot], [*words.values()])
    if group == "daymonth":
        return day_of_year(text, "", day_first=form[0] == DAY_FIRST)[kind == OF_DAY]
    return moment(text, day_first=False) if kind == OF_MONTH else int(re.sub(r"\D", "", text))


def _set_part(
    slots: Slots, slot: int, kind: int, number: int, words: Mapping[str, Sequence[str]]
) -> None:
    """Write the day of a date, or its month."""
    group, form, _ = slots.plans[slots.pool[slot]].pool
    if slots.table[slot] >= 0:
        name = words["month"][number - 1]
        slots.number[slot] = words[group].index(name[:3] if group == "month3" else name)
        return
    text = slots.texts[slots.number[slot]]
    if group == "daymonth":
        first = form[0] == DAY_FIRST
        pair = [*day_of_year(text, "", day_first=first)]
        pair[kind == OF_DAY] = number
        numbers = reversed(pair) if first else pair
        text = form[2:].join(str(part).zfill(1 + (form[1] == PADDED)) for part in numbers)
    else:
        width = len(form) if form[0] == ZERO else 1
        text = ordinal(number) if group == "ordinal" else str(number).zfill(width)
    slots.texts[slots.number[slot]] = text


def _moved(
    lists: list[tuple[list[int], list[str]]], drawn: list[int], ranks: list[int]
) -> list[tuple[int, str, float]]:
    """Return which times move, to which, so that each is behind the one before it, and a factor.

    A time to which others move is at most as likely as the factor times all chances: as many drawn
    times end there as the gaps of the forms hold minutes, and any number at the latest time.

    Args:
        lists: the minutes of the times of the form of each, ascending, and these times.
        drawn: the minute of each.
        ranks: ascending; times of one rank may be equal.
    """
    pairs = zip(pairwise(drawn), pairwise(ranks), strict=True)
    if all(first < other or low == high for (first, other), (low, high) in pairs):
        return []
    bounds, latest, last = list[int](), DAY, -1
    for (minutes, _), rank in zip(lists[::-1], ranks[::-1], strict=True):
        place = bisect_left(minutes, latest + (rank == last)) - 1
        if place < 0:
            return []  # there is no room
        latest, last = minutes[place], rank
        bounds.append(latest)
    out, before, last, room = [], -1, -1, 0
    for at, (minutes, texts) in enumerate(lists):
        room += max((other - first for first, other in pairwise(minutes)), default=DAY)
        value = min(drawn[at], bounds[-1 - at])
        if value < before + (ranks[at] != last):
            value = minutes[bisect_right(minutes, before - (ranks[at] == last))]
        if value != drawn[at]:
            likelier = inf if value == bounds[-1 - at] else room
            out.append((at, texts[minutes.index(value)], likelier))
        before, last = value, ranks[at]
    return out


def _minute(group: str, form: str, text: str, *, late: bool) -> int:
    """Return the minute of the day of a time of a form, late in the day; -1: none."""
    match = _TIME.match(text)
    if match is None:
        return -1
    hour, half = int(match[1]), (match[3] or "").lower()
    if half:
        hour = hour % 12 + 12 * (half == "p")
    elif (group == CLOCK and form[0] == SHORT and hour < 6) or (
        late and hour < 12 and text[0] != "0"
    ):
        hour += 12
    return hour * 60 + int(match[2] or 0)


@lru_cache(1 << 10)
def _times(group: str, form: str, *, late: bool) -> tuple[list[int], list[str]]:
    """Return the times of a form, ascending, as minutes and as strings; none with seconds."""
    pieces = template(group, form)
    sizes = radices(pieces)
    if len(sizes) > 1 or sizes[0] > DAY:
        return [], []
    texts = (string(pieces, [number]) for number in range(sizes[0]))
    pairs = sorted((_minute(group, form, text, late=late), text) for text in texts)
    if pairs[0][0] < 0:
        return [], []
    return [minute for minute, _ in pairs], [text for _, text in pairs]
