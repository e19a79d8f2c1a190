"""Slots: what the keys of a block become, in arrays, and what a unit has so far."""

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsan.only import results, templates, view
from dpsan.only.dates import day_of_year, full_year, moment, weekday_of
from dpsan.only.decision import MONTHS, VALUE, WEEKDAYS, Decision
from dpsan.only.forms import DAY_FIRST, LATE_YEARS, NOW
from dpsan.only.numerals import minute
from dpsan.only.permutations import ORDERED, ROOM, Calendar, Permutation
from dpsan.only.sums import BIRTH, BOTH, CLOCK, DAYS, FEW, RESULTS, SPAN, STEP, TOTAL

WIDEST_TIME: Final = 5
"""Marks of a time with a dot: 12.30."""
_AGED: Final = ("age", "roundth")
"""Groups of ages: 45 years old, her 80th birthday."""
AGE: Final = 40
"""Bits of a key below the number of the unit of a long file."""
Pool = tuple[str, str, tuple[str, ...]]
"""Group, form, and the marks of a local part."""
Numbers = NDArray[np.int64]


class Plan(NamedTuple):
    """Tells how the words of a pool are drawn."""

    pool: Pool
    table: int
    """Index of the list of its words; -1 of strings."""
    sizes: list[int]
    """Bounds of the numbers of a string; of words their number."""
    pieces: list[templates.Piece]
    """Template of its strings."""
    home: Pool
    """The same for pools in which a word of a unit has one replacement."""
    ascending: bool
    chance: float
    """That a word stays as it is, at most: none of an address, whose host is reserved."""


class Word(NamedTuple):
    """Holds what a key of a unit became: a word by its number in a list, or a string."""

    pool: Pool
    table: int
    number: int
    text: str
    chance: float
    taken: int
    """Number that it has in the permutation of its pool; -1: none."""


@dataclass(slots=True)
class Unit:
    """Holds the replacements that one unit has so far."""

    words: defaultdict[Pool, dict[int, Word]] = field(default_factory=lambda: defaultdict(dict))
    """By their home and key."""
    permutations: dict[Pool, Permutation] = field(default_factory=dict)
    calendars: defaultdict[tuple[str, int], Calendar] = field(
        default_factory=lambda: defaultdict(Calendar)
    )
    area: str | None = None
    """Area of medicine of its scenario; empty: none."""


Units = defaultdict[int, Unit]
"""By their numbers: a long file has several units, one after the other."""
_NUMBERS: Final = 63 - AGE
"""Bits of the number of a unit of a long file."""


def unit_number(unit: Numbers, key: Numbers) -> Numbers:
    """Return the number of the unit of each key, which tells both file and unit."""
    return (unit << _NUMBERS) + (key >> AGE)


def unit_of(units: Mapping[int, Units], number: int) -> Unit:
    """Return a unit by its :func:`unit_number`."""
    file, unit = divmod(number, 1 << _NUMBERS)
    return units[file][unit]


@dataclass(slots=True, eq=False)
class Slots:
    """Arrays over what the keys of a block become, in the order of their first rows."""

    plans: list[Plan]
    pool: NDArray[np.intp]
    """Index of the plan."""
    row: NDArray[np.intp]
    """First row in the decision."""
    of_row: NDArray[np.intp]
    """Slot of each row."""
    key: Numbers
    unit: Numbers
    """See :func:`unit_number`."""
    text: NDArray[np.int32]
    lead: NDArray[np.intp]
    """Slot of the city of a country, of the country of a nation; -1: none."""
    own: NDArray[np.bool_]
    """Whether its number comes from a permutation of its unit."""
    table: NDArray[np.intp]
    number: Numbers
    taken: Numbers
    """Number in the permutation; -1: none."""
    chance: NDArray[np.float64]
    new: NDArray[np.bool_]
    texts: list[str] = field(default_factory=list)
    """Strings, by their number."""

    def recall(self, units: Mapping[int, Units]) -> None:
        """Give the slots that their unit has what they became."""
        numbers = self.unit.tolist()
        of_number = {number: unit_of(units, number).words for number in {*numbers}}
        rows = zip(numbers, self.pool.tolist(), self.key.tolist(), strict=True)
        for at, (number, pool, key) in enumerate(rows if any(of_number.values()) else ()):
            words = of_number[number]
            word = words[self.plans[pool].home].get(key) if words else None
            if word is not None:
                self.new[at], self.chance[at] = False, word.chance
                self.table[at], self.number[at] = word.table, word.number
                if word.table < 0:
                    self.write(at, word.text)

    def write(self, at: int, text: str) -> None:
        """Let a slot be a string."""
        self.table[at], self.number[at] = -1, len(self.texts)
        self.texts.append(text)

    def words(self, at: list[int], lists: Sequence[Sequence[str]]) -> list[str]:
        """Return what some slots have become, with the words of all tables."""
        of = zip(self.table[at].tolist(), self.number[at].tolist(), strict=True)
        return [(self.texts if table < 0 else lists[table])[number] for table, number in of]

    def remember(self, units: Mapping[int, Units], new: Iterable[int]) -> None:
        """Add new slots to their units, in the order of their draws."""
        for at in new:
            table, number = int(self.table[at]), int(self.number[at])
            plan = self.plans[self.pool[at]]
            text = self.texts[number] if table < 0 else ""
            word = Word(plan.pool, table, number, text, float(self.chance[at]), int(self.taken[at]))
            unit_of(units, int(self.unit[at])).words[plan.home][int(self.key[at])] = word


def keep_order(slots: Slots, new: NDArray[np.intp], order: NDArray[np.int32]) -> None:
    """Give the new numbers of each text and form the order of what they stand for.

    Any set of numbers is as likely as another of its size, in any order: it is sorted.

    Args:
        order: how many numbers of its form are smaller in the text, of each slot.
    """
    ordered = np.array([plan.pool[0] in ORDERED for plan in slots.plans])
    at = new[ordered[slots.pool[new]]]
    members: defaultdict[tuple[int, int, int], list[int]] = defaultdict(list)
    columns = slots.unit[at].tolist(), slots.text[at].tolist(), slots.pool[at].tolist()
    for place, slot in zip(zip(*columns, strict=True), at.tolist(), strict=True):
        members[place].append(slot)
    for (*_, pool), of_text in members.items():
        room = 2 if slots.plans[pool].pool[0] == VALUE else ROOM
        if 1 < len(of_text) <= slots.plans[pool].sizes[0] // room:
            numbers = slots.number[of_text].tolist()
            numbers.sort(key=lambda number: moment(slots.texts[number], day_first=None))
            slots.number[sorted(of_text, key=order.__getitem__)] = numbers
            slots.chance[of_text] *= len(of_text)


def settle(slots: Slots, sums: Sequence[view.Sum], lists: Sequence[Sequence[str]]) -> None:
    """Write the numbers that follow from others of their text.

    What one sum has, no later one changes: then another of its numbers follows, or none.

    Args:
        sums: by their rows.
        lists: of words.
    """
    pools = [plan.pool for plan in slots.plans]
    wide = [group == "dotclock" and len(form) > WIDEST_TIME for group, form, _ in pools]  # 5,607.00
    free = [pool[0] in RESULTS | DAYS or no for pool, no in zip(pools, wide, strict=True)]
    follows = np.array(free)[slots.pool]
    fixed = np.append(~slots.new | (slots.table >= 0) | ~follows, True)  # the last: counts
    valued = np.array([pool[0] == VALUE for pool in pools])[slots.pool]
    measured = {*(slots.new & valued).nonzero()[0].tolist()}
    of_row = np.append(slots.of_row, len(slots.new))
    steps = {int(of_row[whole]) for kind, whole, _ in sums if kind == STEP}
    times = [at for at, pool in enumerate(slots.pool.tolist()) if pools[pool][0] == CLOCK]
    firm = [at for at in times if at not in steps and slots.table[at] < 0] if steps else []
    for kind, *rows in ((kind, whole, *parts) for kind, whole, parts in sums):
        if kind >= BIRTH:
            continue
        places = of_row[np.maximum(rows, -1)].tolist()
        drawn = [at for at in places if at < len(slots.new)]
        word_of = dict(zip(drawn, slots.words(drawn, lists), strict=True))
        texts = [word_of.get(at, str(-1 - row)) for at, row in zip(places, rows, strict=True)]
        to = 0
        if kind == TOTAL and fixed[places[0]]:
            to = max((at for at, place in enumerate(places) if not fixed[place]), default=0)
        others = [text for at, text in enumerate(texts) if at not in (0, to)]
        if counted := rows[0] < 0 and kind != TOTAL:
            to, text = results.reach(kind, *texts)
        target = places[to]
        if not fixed[target] or (kind in (SPAN, BOTH) and not to and target in measured):
            if not counted:
                text = results.follow(kind, texts[to], others, texts[0] if to else "")
            if kind == STEP:
                beside = [at for at in firm if slots.text[at] == slots.text[target]]
                fits = _fits(text, texts[to], slots.words(beside, lists))
                text = text if fits else texts[to]
            slots.texts[slots.number[target]] = text
            slots.chance[target] = 1.0 if kind in FEW else slots.chance[[*{*drawn}]].sum()
            if kind == SPAN and not (to or fixed[places[-1]]) and texts[-1][2:]:  # no 1 years
                early = min(int(texts[-1]), full_year(int(texts[1])) - 2)
                slots.texts[slots.number[places[-1]]] = str(early)
        fixed[places] = True


def fit_births(slots: Slots, decision: Decision, lists: Sequence[Sequence[str]]) -> None:
    """Write the years of birth of people who are of their age on the date of another year.

    Args:
        decision: of which the sums and dates are.
        lists: of words.
    """
    for _, whole, (last, first) in (row for row in decision.sums if row.kind == BIRTH):
        birth = int(slots.of_row[first])
        if slots.new[birth] and slots.table[birth] < 0:
            age, year, drawn = slots.words([*slots.of_row[[whole, last, first]].tolist()], lists)
            now, day = (_day(slots, decision, row, lists) for row in (last, first))
            years = int(re.sub(r"\D", "", age) or 0) + ((0, 0) < now < day)
            slots.texts[slots.number[birth]] = str(full_year(int(year)) - years)[-len(drawn) :]
            slots.chance[birth] = slots.chance[slots.of_row[whole]]


def fit_ages(slots: Slots, decision: Decision, lists: Sequence[Sequence[str]]) -> None:
    """Write the one year before 2000 of a text with one age, as that of a birth: it is of this age
    in its latest other year, or two years before the last one of the lists.

    Args:
        decision: whose sums tie no age of these texts to years.
        lists: of words.
    """
    year, ages_of = decision.groups.index("year"), [*map(decision.groups.index, _AGED)]
    rows = view.among(decision.group, ages_of).nonzero()[0]
    tied = [int(decision.text[row.whole]) for row in decision.sums if row.kind == BIRTH]
    texts = {*decision.text[rows].tolist()} - {*tied}
    found = {text: (set[int](), set[int](), set[int]()) for text in texts}
    rows = view.among(decision.group, [*ages_of, year]).nonzero()[0] if texts else rows[:0]
    for row in (row for row in rows.tolist() if int(decision.text[row]) in texts):
        late = decision.group[row] == year and decision.forms[decision.form[row]][:1] in LATE_YEARS
        part = int(decision.group[row] == year) + int(late)
        found[int(decision.text[row])][part].add(int(slots.of_row[row]))
    for ages, births, others in found.values():
        if len(ages) == len(births) == 1:
            (of_age,), (birth,) = ages, births
            years = [full_year(int(other)) for other in slots.words([*others], lists)]
            if slots.new[birth] and slots.table[birth] < 0:
                text, drawn = slots.words([of_age, birth], lists)
                born = max(years, default=NOW - 2) - int(re.sub(r"\D", "", text))
                slots.texts[slots.number[birth]] = str(born)[-len(drawn) :]
                slots.chance[birth] = slots.chance[of_age]


def _day(
    slots: Slots, decision: Decision, row: int, lists: Sequence[Sequence[str]]
) -> tuple[int, int]:
    """Return the month and the day that stand before a year, as far as they do."""
    rows = [at for at in (row - 1, row - 2) if at >= 0 and decision.at[row] - decision.at[at] <= 2]
    of = slots.of_row[rows].tolist()
    day, month = "", ""
    for at, text in zip(of, slots.words(of, lists), strict=True):
        group, form, _ = slots.plans[slots.pool[at]].pool
        if group == "daymonth":
            return day_of_year(text, "", day_first=form[:1] == DAY_FIRST)
        day, month = (text if group == "mday" else day), (text if group in MONTHS else month)
    return day_of_year(day, month, day_first=False) if day and month else (0, 0)


def _fits(text: str, drawn: str, others: Sequence[str]) -> bool:
    """Return whether a time is among others where the drawn one is."""
    at, before = minute(text), minute(drawn)
    return all((minute(other) < at) == (minute(other) < before) for other in others)


def name_days(
    slots: Slots,
    weekdays: Sequence[tuple[int, ...]],
    words: Mapping[str, Sequence[str]],
    order: NDArray[np.int32],
) -> None:
    """Let the weekdays before dates be those of the dates.

    One that stands before several dates moves the later ones to its next day.

    Args:
        weekdays: rows of each, see :class:`dpsan.only.decision.Decision`.
        words: by group, in the order of their tables.
        order: how many weekdays of the text are earlier, of each slot.
    """
    tables, lists, fixed = [*words], [*words.values()], {*(~slots.new).nonzero()[0].tolist(), -1}
    named = np.array([plan.pool[0] in WEEKDAYS for plan in slots.plans])[slots.pool]
    at_day: defaultdict[tuple[int, int], list[int]] = defaultdict(list)  # Thurs and Thursday
    for slot in (named & (slots.table >= 0)).nonzero()[0].tolist():
        at_day[int(slots.text[slot]), int(order[slot])].append(slot)
    for rows in weekdays:
        at = [int(slots.of_row[row]) if row >= 0 else -1 for row in rows]
        name, number = at[:2]
        if slots.table[name] < 0:
            continue  # a word that its list has no more
        forms = [slots.plans[slots.pool[place]].pool[1] for place in at]
        texts = [
            word if place >= 0 else ""
            for place, word in zip(at, slots.words(at, lists), strict=True)
        ]
        if forms[2] and texts[2]:  # the month of a date in digits
            month, _ = day_of_year(texts[2], "", day_first=forms[2][:1] == DAY_FIRST)
            texts[2] = words["month"][month - 1]
        weekday = weekday_of(texts[1], texts[2], texts[3], day_first=forms[1][:1] == DAY_FIRST)
        group = tables[slots.table[name]]
        listed_day = weekday if weekday < len(words[group]) else 0
        ahead = (int(slots.number[name] if name in fixed else listed_day) - weekday) % 7
        written = re.match(r"\d\d?(?=\D*$)", texts[1])  # of 8/12 only the weekday may move
        if ahead and number not in fixed and written:
            day, weekday = int(written[0]) + ahead, weekday + ahead
            day -= 7 * (day > 28)
            new = str(day).zfill(len(written[0])) if texts[1].isdigit() else templates.ordinal(day)
            slots.texts[slots.number[number]] = new
            slots.chance[number] = min(7 * slots.chance[number], 1.0)
        at += [] if name in fixed else at_day[int(slots.text[name]), int(order[name])]
        for slot in {name, *at[4:]} - fixed:
            slots.number[slot] = weekday % 7
            slots.chance[slot] = 0.5  # Saturday and Sunday may become Monday
            group = tables[slots.table[slot]]
            if weekday % 7 >= len(words[group]):
                slots.table[slot] = tables.index(group.removeprefix("work"))
        fixed.update(at)


def stream_position(pool: Pool) -> int:
    """Return the second half of the stream position of the words of a pool."""
    digest = hashlib.sha256(repr(pool).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "little") | 1 << 63
