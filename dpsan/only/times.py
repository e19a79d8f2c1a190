"""Times of one text: whatever their forms, they keep the order of those that they stand for."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from functools import lru_cache
from itertools import chain, pairwise
from math import inf
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.only.decision import Decision
from dpsan.only.forms import DAY_FIRST, PADDED, SHORT, ZERO
from dpsan.only.numerals import DAY
from dpsan.only.slots import Slots
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
        rows = [row for row in zip(of_text, forms, strict=True) if _times(*row[1])[0]]
        rows.sort(key=lambda row: int(order[row[0]]))
        lists = [_times(group, form) for _, (group, form) in rows]
        ahead = [slot for slot, _ in rows]
        texts = [slots.texts[number] for number in slots.number[ahead].tolist()]
        drawn = [
            _minute(group, form, text) for (_, (group, form)), text in zip(rows, texts, strict=True)
        ]
        ranks = order[ahead].tolist()
        of_all = float(slots.chance[ahead].sum())
        for slot, text, likelier in _moved(lists, drawn, ranks):
            slots.texts[slots.number[ahead[slot]]] = text
            slots.chance[ahead[slot]] = min(likelier * of_all, 1.0)


def keep_days(slots: Slots, decision: Decision) -> None:
    """Let the days of all dates of a text, and their months, be in one order, whatever their forms.

    The least follows from the one that was drawn, and the others from it.

    Args:
        slots: with strings.
        decision: with the tokens of each day and month.
    """
    turns: defaultdict[tuple[int, int], list[list[int]]] = defaultdict(list)
    for kind, whole, parts in decision.sums:
        if kind in _WIDTHS:
            turns[kind, int(decision.text[whole])].append(slots.of_row[[*parts]].tolist())
    names = np.array([plan.pool[0] for plan in slots.plans])
    brief = {*(names[slots.pool] == "month3").nonzero()[0].tolist()}
    done = set[tuple[int, int]]()
    for (kind, _), ranks in turns.items():
        (width, step), at = _WIDTHS[kind], {*chain(*ranks)}
        room = width - step * (len(ranks) - 1)
        free = all(slots.new[slot] and (kind, slot) not in done for slot in at)
        if room < width // 2 or not free:
            continue
        done.update((kind, slot) for slot in at)
        least, anchor = [*range(1, room + 1)], ranks[0][0]
        if kind == OF_MONTH:  # May has no short form
            short = [n for n, of in enumerate(ranks) if not {*of}.isdisjoint(brief)]
            least = [month for month in least if _MAY - month not in short] or least
        runs, place = _runs(slots, anchor, kind) if slots.table[anchor] < 0 else ([], 0)
        drawn = int(runs[place] if runs else slots.number[anchor])
        for number, slot in ((number, slot) for number, of in enumerate(ranks) for slot in {*of}):
            _set_part(slots, slot, kind, least[drawn % len(least)] + step * number)
            slots.chance[slot] = min(-(-12 // len(least)) / 3, 1.0)  # of six months


def _runs(slots: Slots, slot: int, kind: int) -> tuple[list[str], int]:
    """Return the pieces of a date in digits, and which of them is its day or its month."""
    group, form, _ = slots.plans[slots.pool[slot]].pool
    lone = group != "daymonth" or (form[0] == DAY_FIRST) == (kind == OF_DAY)
    return re.split(r"(\d\d?)", slots.texts[slots.number[slot]]), 1 if lone else 3


def _set_part(slots: Slots, slot: int, kind: int, number: int) -> None:
    """Write the day of a date, or its month."""
    group, form, _ = slots.plans[slots.pool[slot]].pool
    if slots.table[slot] >= 0:
        slots.number[slot] = number - 1 - (group == "month3" and number > _MAY)
        return
    runs, place = _runs(slots, slot, kind)
    runs[place] = str(number).zfill(1 + (PADDED in form[:2] or form[0] == ZERO))
    slots.texts[slots.number[slot]] = ordinal(number) if group == "ordinal" else "".join(runs)


def _moved(
    lists: list[tuple[list[int], list[str]]], drawn: list[int], ranks: list[int]
) -> list[tuple[int, str, float]]:
    """Return which times move, to which, so that each is behind the one before it, or at the same
    time where it was, and a factor.

    A time to which others move is at most as likely as the factor times all chances: as many drawn
    times end there as the gaps of the forms hold minutes, and any number at the latest time.

    Args:
        lists: the minutes of the times of the form of each, ascending, and these times.
        drawn: the minute of each.
        ranks: ascending; times of one rank are equal where their forms have the same time.
    """
    pairs = zip(pairwise(drawn), pairwise(ranks), strict=True)
    if all(
        first < other if low < high else first == other for (first, other), (low, high) in pairs
    ):
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
        if ranks[at] == last and before in minutes:  # 19:30 and 7:30pm
            value = before
        elif value < before + (ranks[at] != last):
            value = minutes[bisect_right(minutes, before - (ranks[at] == last))]
        if value != drawn[at]:
            likelier = inf if value == bounds[-1 - at] else room
            out.append((at, texts[minutes.index(value)], likelier))
        before, last = value, ranks[at]
    return out


def _minute(group: str, form: str, text: str) -> int:
    """Return the minute of the day of a time of a form; -1: none."""
    match = _TIME.match(text)
    if match is None:
        return -1
    hour, half = int(match[1]), (match[3] or "").lower()
    if half:
        hour = hour % 12 + 12 * (half == "p")
    elif group == CLOCK and form[0] == SHORT and hour < 6:
        hour += 12
    return hour * 60 + int(match[2] or 0)


@lru_cache(1 << 10)
def _times(group: str, form: str) -> tuple[list[int], list[str]]:
    """Return the times of a form, ascending, as minutes and as strings; none with seconds."""
    pieces = template(group, form)
    sizes = radices(pieces)
    if len(sizes) > 1 or sizes[0] > DAY:
        return [], []
    texts = (string(pieces, [number]) for number in range(sizes[0]))
    pairs = sorted((_minute(group, form, text), text) for text in texts)
    if pairs[0][0] < 0 or pairs[-1][0] >= DAY:  # 33:18 is none
        return [], []
    return [minute for minute, _ in pairs], [text for _, text in pairs]
