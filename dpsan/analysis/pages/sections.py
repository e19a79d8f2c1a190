"""What a command says of its result: parts that are printed, and written on a page."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Final

from dpsan.errors import printable
from dpsan.outcomes.intervals import Estimate, Share
from dpsan.text.numerals import number

Cell = str | int | float | Share | Estimate | None
_NUMBER: Final = re.compile(r"[≥-]?\.?\d|-?$")
"""Beginning of a cell that is a number, or nothing."""


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
    spare: Sequence[int] = ()
    """Columns that a narrow terminal does without, the first ones first."""

    def texts(self) -> list[list[str]]:
        """Return all cells as they are written."""
        return [[written(cell, intervals=self.intervals) for cell in row] for row in self.rows]

    def right(self) -> set[int]:
        """Return the columns whose cells end together, as they are numbers."""
        columns = [*enumerate(zip(*self.texts(), strict=True))]
        return {at for at, cells in columns if at and all(map(_NUMBER.match, cells))}

    def without_zeros(self, names: Collection[str]) -> Section:
        """Return the same without those columns of these names that hold only zeros."""
        kept = [
            name not in names or any(row[at] for row in self.rows)
            for at, name in enumerate(self.columns)
        ]
        columns = [*compress(self.columns, kept)]
        return replace(self, columns=columns, rows=[[*compress(row, kept)] for row in self.rows])


@dataclass(frozen=True)
class Facts:
    """Names and values, each with a line on what it means, which a terminal has no room for."""

    heading: str
    rows: Sequence[tuple[str, str, str]]


@dataclass(frozen=True)
class Prose:
    """A paragraph, and lines below it."""

    heading: str
    text: str = ""
    lines: Sequence[str] = ()
    loud: bool = False
    """True for lines that must not be overlooked."""


@dataclass(frozen=True)
class Shown:
    """All that is said of one result."""

    about: str
    """What was done, and to what."""
    parts: Sequence[Section | Facts | Prose]
    conclusion: str = ""
    good: bool = False
    """False for a conclusion that is a warning."""
    warnings: Sequence[str] = ()
    """What must not be overlooked: on standard error, and on top of a page."""
    title: str = ""
    """Which of several results it is."""

    def filled(self) -> list[Section | Facts | Prose]:
        """Return the parts that say anything."""
        return [
            part
            for part in self.parts
            if any(getattr(part, name, ()) for name in ("rows", "notes", "text", "lines"))
        ]


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
    if isinstance(cell, Estimate):
        if cell.low < cell.high:
            return f"{cell.value:.4f} ({cell.low:.4f}-{cell.high:.4f})"
        return (
            f"{cell.value:.4f}" if cell.value >= 0.00095 or not cell.value else f"{cell.value:.0e}"
        )
    if cell is None:
        return "-"
    return printable(cell) if isinstance(cell, str) else number(cell)
