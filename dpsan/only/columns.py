"""Columns of a table whose last number is the sum of those above it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from dpsan.only.numerals import WHOLE

MOST: Final = 16
"""Numbers of a sum."""
LARGE: Final = 100_00
"""Hundredths of the smallest amount that is looked for far away."""


def summed_columns(
    table: Mapping[int, Sequence[tuple[int, int]]],
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield which numbers are the sums of a column of the lines before, and of which numbers.

    Args:
        table: by line its numbers: token, and hundredths.
    """
    for line, numbers in table.items():
        above = list[Sequence[tuple[int, int]]]()
        while len(above) < MOST and line - len(above) - 1 in table:
            above.append(table[line - len(above) - 1])
        counts = set[int]()
        for token, value in sorted(numbers, key=lambda number: -number[1]) if above[1:] else ():
            for count, parts in _column(value, above):
                if value >= LARGE or count > 2 or (count in counts and value >= 10 * WHOLE):
                    yield token, parts
                    counts.add(count)
                    break


def _column(
    value: int, above: Sequence[Sequence[tuple[int, int]]]
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield of which lines above, and their columns from the left or the right, a number is the
    sum.
    """
    width = min(map(len, above))
    for place in (*range(-1, -width - 1, -1), *range(width)):
        column, summed = [row[place] for row in above], 0
        for count, (_, number) in enumerate(column, 1):
            summed += number
            if count > 1 and summed == value:
                yield count, tuple(part for part, _ in column[:count])
