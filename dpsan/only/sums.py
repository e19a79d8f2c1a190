"""Sums: which numbers of a text follow from others.

Public of these numbers is which of them is a sum, a difference, a product or a percentage of which
others, and which step from one time to the next is that from another time to its next.
"""

import re
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import combinations, pairwise, product
from typing import Final, NamedTuple

from dpsan.only.dates import full_year
from dpsan.only.numerals import DAY, LARGE, MOST, PLACES, WHOLE, minute, read, summed_columns
from dpsan.only.view import Sum

TOTAL, NET, PRODUCT, RATIO, GROWTH, DROP, REST, STEP, SPAN, HOURS, MINUTES = range(11)
"""Kinds: the sum of the parts; that but for the last, which is taken away; their product; what per
cent the first is of the second; the first and so many per cent more, or less; what is left of a
hundred per cent; as long behind the first as the second is behind the third; the days or years from
the second to the first, the hours, the minutes."""
RANGE, BELOW, INSIDE, ABOVE, AFTER, BOTH, BIRTH, OF_DAY, OF_MONTH = range(11, 20)
"""Kinds: the end of a range; where a value lies beside one; the next year; the days from one day
to another, with both; the age between two years, of which the earlier one follows; the dates with
one day or month, the least first."""
FEW: Final = frozenset((RATIO, REST, SPAN, BOTH, HOURS, MINUTES, BELOW, INSIDE, ABOVE, AFTER))
"""Kinds of which the results may be so few that one of them is likely."""
COUNTED: Final = frozenset((TOTAL, SPAN, BOTH, HOURS, MINUTES))
"""Kinds of which a part follows where the number is a count that passes."""
WORDS: Final = frozenset(("n19", "n1019"))
"""Their labels."""
AMOUNTS: Final = frozenset(("money", "number", "int3", "int4", "int5", "int6"))
"""Labels of numbers that may be results, whatever their size."""
PERCENT, CLOCK = "percent", "clock"
DATED: Final = {"int1": 0, "int2": 0, "agesex": 0, "year": 1, "dateyear": 1}
"""Labels of numbers that may be days, and of years."""
MONTHS: Final = 5
"""Their sort of months."""
_MONTHS: Final = "month month3? month? month_de month_fr month_es month_it"
LABELS: Final = {
    **dict.fromkeys((*AMOUNTS, *WORDS, "quantity", PERCENT), 1),
    **{label: 2 + of_year for label, of_year in DATED.items()},
    CLOCK: 4,
    **dict.fromkeys(_MONTHS.split(), MONTHS),
}
"""Labels of the numbers and times of which one may follow from others, and their sort: amounts,
days, years, times; and of months, beside which numbers are days."""
DAYS: Final = frozenset(("year", "mday"))
"""Groups of dates between which a number of days or years lies."""
_OPEN: Final = "int number money quantity age childage days2 minutes weeks months2 year"
_COUNTS: Final = {*DATED, *WORDS, "int3"}
RESULTS: Final = frozenset((*_OPEN.split(), PERCENT, CLOCK))
"""Groups of numbers that may follow from others."""
_PARTS: Final = "dose_hours near dotclock taxrate fewer more timesn fewn moren"
PARTS: Final = RESULTS | WORDS | {*_PARTS.split()}
"""Groups of numbers that others may follow from."""
_NEAR: Final = 6
"""Numbers before a product among which its factors are."""
_SECONDS: Final = re.compile(r"\d{1,2}([:.])\d\d\1\d\d")
_WEEKS: Final = 14
"""Days that are counted between two days of one month."""


class Item(NamedTuple):
    """A number of a text, in hundredths, and the value of its last digit; a time in minutes."""

    at: int
    label: str
    value: int
    unit: int


def sums_of(
    rows: Sequence[tuple[int, str, str]],
    joined: Container[int],
    wholes: Container[int],
    lines: Mapping[int, int],
) -> Iterator[Sum]:
    """Yield the sums of a text: of its dates, of its times, and of its numbers.

    A factor or a summand is no summand of a later sum: the result stands for it.

    Args:
        rows: token, label and text of its numbers and times.
        joined: tokens that a hyphen or dash joins to the one before.
        wholes: tokens of which the number before is a part, or the least: 318 of 450, 6 to 8.
        lines: of each token its line.
    """
    sorts = {LABELS[label] for _, label, _ in rows}
    if 3 in sorts:
        yield from _years(rows)
    if not sorts.isdisjoint((2, 3)):
        yield from _spans([row for row in rows if row[1] in DATED or row[1] in WORDS])
    if LABELS[CLOCK] in sorts:
        yield from _steps([row for row in rows if row[1] == CLOCK or DATED.get(row[1]) == 0])
    if 1 not in sorts:
        yield from _ranges(rows, joined, wholes)
        return
    before, left, equal = list[Item](), list[Item](), dict[int, Item]()
    numbers = [
        (token, label, *read(text))
        for token, label, text in rows
        if label != CLOCK and DATED.get(label) != 1
    ]
    table: dict[int, list[tuple[int, int]]] = {}
    for token, label, value, _ in numbers:
        if label not in WORDS:
            table.setdefault(lines[token], []).append((token, value))
    columns = {token: Sum(TOTAL, token, parts) for token, parts in summed_columns(table)}
    for token, label, value, decimals in numbers:
        if not value:
            continue
        item = Item(token, label, value, 10 ** (PLACES - decimals))
        same = equal.setdefault(value, item)
        result = columns.get(token)
        if label in WORDS:
            if len(before) > 1 and abs(before[-1].value - before[-2].value) == value:
                less, more = sorted(before[-2:], key=lambda item: item.value)
                yield Sum(TOTAL, more.at, (less.at, token))  # 14 rather than 16, two less
            before = [*before[1 - _NEAR :], item]
            continue
        if result:
            pass
        elif label == PERCENT:
            result = _percentage(item, before)
        elif label in AMOUNTS and same[1::2] != item[1::2] and min(same.unit, item.unit) < WHOLE:
            result = Sum(TOTAL, token, (same.at,))  # $80 and $80.00, 32.00 and £32.00
        elif label in AMOUNTS:
            alike = [earlier for earlier in before if earlier.label == label]
            result = (
                _product(item, before)
                or _total(item, left)
                or _change(item, before)
                or (alike and _change(alike[-1], [item, *before]))
                or _share(item, before, left)
                or _rest(item, left)
                or _repeated(item, before)
            )
        else:
            result = _total(item, left) or _counted(item, before) if value >= 10 * WHOLE else None
            if not result and before and before[-1].label == PERCENT:
                result = _share(item, before, left)
        ends = token in joined or (token in wholes and not result)
        if ends and before and before[-1].value < value and token - before[-1].at < _NEAR:
            yield Sum(RANGE, token, (before[-1].at,))
        if token in joined and len(before) > 1 and before[-1].value < value:
            measured, low = before[-2:]
            kind = INSIDE + (measured.value > value) - (measured.value < low.value)
            result = Sum(kind, measured.at, (low.at, token))
        gone: Sequence[int] = ()
        if result:
            yield result
            if result.kind == PRODUCT and label == "money" and (also := _total(item, left)):
                yield also  # 9 April is no factor of 9 x 26.08
            labels = [label, *(other.label for other in before if other.at in result.parts)]
            gone = () if PERCENT in labels or result.kind >= RANGE else result.parts
            left = [earlier for earlier in left if earlier.at not in gone]
        if label != PERCENT and (label in AMOUNTS or value >= 10 * WHOLE) and token not in gone:
            left = [*left[1 - MOST :], item]
        before = [*before[1 - _NEAR :], item]


def _years(rows: Sequence[tuple[int, str, str]]) -> Iterator[Sum]:
    """Yield which years are next to each other."""
    years: dict[int, int] = {}
    for token, label, text in rows:
        if DATED.get(label):
            years.setdefault(full_year(int(text)), token)
    for year in sorted(years):
        if year + 1 in years:
            yield Sum(AFTER, years[year + 1], (years[year],))


def _ranges(
    rows: Sequence[tuple[int, str, str]], joined: Container[int], wholes: Container[int]
) -> Iterator[Sum]:
    """Yield the ends of ranges of small numbers."""
    numbers = [(token, int(text)) for token, label, text in rows if DATED.get(label) == 0]
    for (start, least), (token, number) in pairwise(numbers):
        ends = token in joined or token in wholes
        if ends and token - start < 3 and least < number:
            yield Sum(RANGE, token, (start,))


def _spans(rows: Sequence[tuple[int, str, str]]) -> Iterator[Sum]:
    """Yield between which numbers that may be days or years as many lie as another number says."""
    numbers = [
        (token, DATED.get(label, -1), int(text) if text.isdigit() else read(text)[0] // WHOLE)
        for token, label, text in rows
    ]
    years = {number: token for token, of_year, number in numbers if of_year > 0}
    starts, longest = [*years.items()][:MOST], max(years, default=0) - min(years, default=0)
    told = set[int]()
    for row, (at, of_year, number) in enumerate(numbers):
        if of_year > 0 or not 1 < number < WHOLE:
            continue
        if number <= _WEEKS:
            near = numbers[max(row - _NEAR, 0) : row + _NEAR]
            days: dict[int, int] = {}
            for token, far, day in near:
                if not far and token != at:
                    days.setdefault(day, token)
            for kind, start in product((SPAN, BOTH), days):
                if start + number - (kind == BOTH) in days:
                    yield Sum(kind, at, (days[start + number - (kind == BOTH)], days[start]))
    counts = [pair[::2] for pair in numbers if pair[1] < 1 < pair[2] < min(WHOLE, longest + 1)]
    for more, (at, number), (start, first) in product((0, 1), counts, starts):
        end = years.get(start + number + more)
        if end is not None and not {first, end} <= told:
            told |= {first, end}
            yield Sum(SPAN, at, (end, first))


def _steps(rows: Sequence[tuple[int, str, str]]) -> Iterator[Sum]:
    """Yield which steps from a time to the next are equal, or as long as a number says."""
    steps: dict[int, tuple[int, int]] = {}
    clocks = [row for row in rows if row[1] == CLOCK and not _SECONDS.match(row[2])]
    times = [(token, minute(text)) for token, _, text in clocks]
    for (before, first), (token, second) in pairwise([pair for pair in times if pair[1] >= 0]):
        step = (second - first) % DAY
        if step in steps:
            yield Sum(STEP, token, (before, *steps[step]))
        elif step:
            steps[step] = token, before
    for token, label, text in rows if steps else ():
        number = 0 if label == CLOCK else int(text)
        for kind, step in ((MINUTES, number), (HOURS, number * 60)):
            if step in steps and number > 1:
                yield Sum(kind, token, steps[step])


def _percentage(item: Item, before: Sequence[Item]) -> Sum | None:
    """Return how a percentage and the two amounts before it follow from each other, or how it
    does from percentages.
    """
    shares = [earlier for earlier in before if earlier.label == PERCENT]
    for first in range(len(shares)):
        if sum(earlier.value for earlier in shares[first:]) + item.value == WHOLE**2:
            return Sum(REST, item.at, tuple(earlier.at for earlier in shares[first:]))
    amounts = [earlier for earlier in before if earlier.label != PERCENT][-2:]
    for one, second in (amounts, amounts[::-1]) if len(amounts) > 1 else ():
        if 2 * abs(one.value * WHOLE**2 - item.value * second.value) <= item.unit * second.value:
            return Sum(RATIO, item.at, (one.at, second.at))
    pairs = (amounts, amounts[::-1]) if len(amounts) > 1 else ()
    return next(filter(None, (_change(one, [first, item]) for first, one in pairs)), None)


def _product(item: Item, before: Sequence[Item]) -> Sum | None:
    """Return of which numbers an amount is the product, the percentage or a part."""
    _, _, wanted, unit = item
    rows = [(row, row.value, row.label == PERCENT) for row in before[::-1] if row.value != WHOLE]
    whole, near, rough = WHOLE * wanted, WHOLE * unit // 2, WHOLE * WHOLE * (unit == WHOLE)
    for (first, factor, share), (second, other, percent) in combinations(rows, 2):
        made = factor * other
        if share or percent:
            part, whole_of = (second, factor) if share else (first, other)
            if share and percent:
                continue
            if part.label in AMOUNTS and part.value * WHOLE**2 == wanted * whole_of:
                return Sum(PRODUCT, part.at, (item.at, (first if share else second).at))
            if abs(made - WHOLE * whole) <= WHOLE * near:
                return Sum(PRODUCT, item.at, (first.at, second.at))
            continue
        if abs(made - whole) <= near or 0 < made - whole < rough:  # 329 and change
            return Sum(PRODUCT, item.at, (first.at, second.at))
        if factor * wanted == other * WHOLE and first.label in _COUNTS:
            return Sum(PRODUCT, second.at, (first.at, item.at))
        if other * wanted == factor * WHOLE and second.label in _COUNTS:
            return Sum(PRODUCT, first.at, (second.at, item.at))
    counts = [(row, factor) for row, factor, _ in rows if row.label in _COUNTS]
    made = wanted * WHOLE**2
    pairs = [
        (first, second, made // (factor * other))
        for (first, factor), (second, other) in combinations(counts, 2)
        if made % (factor * other) == 0
    ]
    for third, (first, second, factor) in product(
        [row for row, _, share in rows if not share], pairs
    ):
        if third.value == factor and third not in (first, second):
            return Sum(PRODUCT, item.at, (first.at, second.at, third.at))
    return None


def _change(item: Item, before: Sequence[Item]) -> Sum | None:
    """Return of which amount before it an amount is so many per cent more, or less."""
    shares = [earlier for earlier in before if earlier.label == PERCENT]
    for share, first in product(
        shares, (earlier for earlier in before if earlier.label in AMOUNTS)
    ):
        for kind, part in ((GROWTH, share.value), (DROP, -share.value)):
            off = 2 * abs(first.value * (WHOLE**2 + part) - item.value * WHOLE**2)
            if off <= item.unit * WHOLE**2:
                return Sum(kind, item.at, (first.at, share.at))
    return None


def _counted(item: Item, before: Sequence[Item]) -> Sum | None:
    """Return of which counts just before it a count is the sum or the product."""
    near = [earlier for earlier in before[-4:] if earlier.label in _COUNTS]
    if len(near) > 1 and near[-1].value + near[-2].value == item.value:
        return Sum(TOTAL, item.at, (near[-2].at, near[-1].at))
    for first, second in combinations(near, 2):
        if first.value * second.value == item.value * WHOLE and item.value >= 24 * WHOLE:
            return Sum(PRODUCT, item.at, (first.at, second.at))
    return None


def _share(item: Item, before: Sequence[Item], left: Sequence[Item]) -> Sum | None:
    """Return of which amount far before it an amount is the percentage just before it."""
    share = before[-1] if before else item
    for whole in reversed(left) if share.label == PERCENT else ():
        if abs(whole.value * share.value - item.value * WHOLE**2) <= item.unit * WHOLE**2 // 2:
            return Sum(PRODUCT, item.at, (whole.at, share.at))
    return None


def _rest(item: Item, left: Sequence[Item]) -> Sum | None:
    """Return of which amount far before it an amount is what the last one leaves, or of which two
    it is the sum.
    """
    alike = [earlier for earlier in left if earlier.unit == item.unit]
    for whole in alike[:-1] if item.value >= LARGE else ():
        if whole.value - alike[-1].value == item.value:
            return Sum(NET, item.at, (whole.at, alike[-1].at))
    large = [earlier for earlier in left[-_NEAR:] if earlier.value >= LARGE]
    for first, second in combinations(large, 2):
        if first.value + second.value == item.value:
            return Sum(TOTAL, item.at, (first.at, second.at))
    return None


def _repeated(item: Item, before: Sequence[Item]) -> Sum | None:
    """Return of which amount an amount is twice as much, or that of twelve months, or what a count
    leaves of it.
    """
    amounts = [earlier for earlier in before if earlier.label == item.label]
    for earlier, times in product(amounts[:-4:-1], (2, 12)):
        if earlier.value * times == item.value >= 10 * WHOLE:
            return Sum(TOTAL, item.at, (earlier.at,) * times)
    few = [earlier for earlier in before if DATED.get(earlier.label) == 0 or earlier.label in WORDS]
    for earlier, count in product(amounts, few):
        if earlier.value - count.value == item.value:
            return Sum(NET, item.at, (earlier.at, count.at))
    return None


def _total(item: Item, left: Sequence[Item]) -> Sum | None:
    """Return of which numbers before it a number is the sum, or what they leave of one of them."""
    _, label, wanted, unit = item
    alike = [earlier for earlier in left if earlier.label == label and earlier.unit == unit]
    most = wanted + 2 * max((earlier.value for earlier in left), default=0)
    once = [item for at, item in enumerate(alike) if not at or item.value != alike[at - 1].value]
    amounts = [earlier for earlier in left if earlier.label in AMOUNTS]
    rows = (alike, once, amounts, left)  # once: one at 95.00, that is 95.00
    for row in (row for at, row in enumerate(rows) if row and row not in rows[:at]):
        summed = 0
        for count, first in enumerate(reversed(row)):
            value = first.value
            before, summed = summed, summed + value
            at = len(row) - count - 1
            if before > most:
                break  # so much is no sum, and no part
            if count and summed == wanted:
                return Sum(TOTAL, item.at, _places(row[at:]))
            if count and value - before == wanted:
                return Sum(TOTAL, first.at, _places([*row[at + 1 :], item]))
            if count == 1 and before - value == wanted:
                return Sum(TOTAL, row[-1].at, _places([first, item]))
            if count > 2 and row is alike and wanted >= LARGE:  # 129.00 is the price of one
                extra = [earlier for earlier in row[at:] if summed - earlier.value == wanted]
                if extra:
                    rest = [earlier for earlier in row[at:] if earlier is not extra[-1]]
                    return Sum(TOTAL, item.at, _places(rest))
            if count > 1 and row is alike and unit == 1:
                less = [earlier for earlier in row[at:] if summed - 2 * earlier.value == wanted]
                if less:
                    rest = [earlier for earlier in row[at:] if earlier is not less[0]]
                    return Sum(NET, item.at, _places([*rest, less[0]]))
    return None


def _places(items: Sequence[Item]) -> tuple[int, ...]:
    """Return the tokens of numbers."""
    return tuple(item.at for item in items)
