"""Sections of rows, which a command prints as tables or writes on a page."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import compress

from dpsan.errors import printable
from dpsan.outcomes.intervals import Share
from dpsan.text.numerals import number

Cell = str | int | float | Share | None


@dataclass(frozen=True)
class Section:
    """One table."""

    columns: Sequence[str]
    """The first one names the section."""
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    """Lines below it."""
    intervals: bool = True
    """True if shares are written with their confidence intervals."""

    def texts(self) -> list[list[str]]:
        """Return all cells as they are written."""
        return [[written(cell, intervals=self.intervals) for cell in row] for row in self.rows]

    def without_zeros(self, names: Collection[str]) -> Section:
        """Return the same without those columns of these names that hold only zeros."""
        kept = [
            name not in names or any(each[at] for each in self.rows)
            for at, name in enumerate(self.columns)
        ]
        columns = [*compress(self.columns, kept)]
        return replace(self, columns=columns, rows=[[*compress(row, kept)] for row in self.rows])


def written(cell: Cell, *, intervals: bool = True) -> str:
    """Return a cell as text: counts in full, shares in per cent, nothing as a dash."""
    if isinstance(cell, Share):
        if cell.value is None:
            return "-"
        share = f"{100 * cell.value:.2f} %"
        if not intervals:
            return share
        low, high = cell.interval
        return f"{share} ({100 * low:.2f}-{100 * high:.2f})"
    if cell is None:
        return "-"
    return printable(cell) if isinstance(cell, str) else number(cell)
