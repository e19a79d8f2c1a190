"""Parts of a command's result, which the terminal and a page show alike."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Final

from dpsan.errors import printable
from dpsan.outcomes.intervals import Estimate, Share
from dpsan.sanitize.figures import RANDOM
from dpsan.text.numerals import number

Cell = str | int | float | Share | Estimate | None
_NUMBER: Final = re.compile(r"[≥-]?\.?\d|-?$")
"""Beginning of a cell that is a number, or nothing."""
_MOST: Final = 34.0
"""Exponent above which a factor has no name."""


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


Part = Section | Facts | Prose


@dataclass(frozen=True)
class Shown:
    """All that is said of one result."""

    about: str
    """Heading: the command, and its input."""
    parts: Sequence[Part]
    conclusion: str = ""
    good: bool = False
    """False for a conclusion that is a warning."""
    warnings: Sequence[str] = ()
    """Warnings: printed on standard error, and on top of a page."""
    title: str = ""
    """Name of this result where a page has several."""

    def filled(self) -> list[Part]:
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


def odds(epsilon: float) -> str:
    """Return e^epsilon as people read it: ``e^8 = 2,981``.

    Args:
        epsilon: finite, in nats.
    """
    power = f"e^{number(epsilon)}"
    if epsilon > _MOST:
        return power
    factor = math.exp(epsilon)
    digits = 0 if factor >= 100 else 1 if factor >= 10 else 2
    bound = math.ceil(factor * 10**digits - 1e-9) / 10**digits  # a bound is never rounded down
    return f"{power} = {number(int(bound)) if not digits else f'{bound:g}'}"


def plain_meaning(epsilon: float, words: str = "any one word", delta: float = 0.0) -> str:
    """Say in a sentence what an LDP epsilon bounds.

    Args:
        epsilon: in nats; may be infinite.
        words: whose odds.
        delta: probability that the bound leaves out.
    """
    if math.isinf(epsilon):
        return f"Nothing bounds how far the text can raise the odds of {words}."
    if epsilon <= 0:
        return f"The text says nothing about {words}."
    but = f", but for a delta of {number(delta)}" if delta else ""
    told = f"Whoever sees the text can raise the odds of {words} by at most {odds(epsilon)}{but}."
    return f"{told} What is drawn is nearly random." if round(epsilon, 3) < RANDOM else told


def cosine_and_bound(achieved: float, bound: float) -> str:
    """Describe a mean cosine, and the bound for every mechanism of this epsilon."""
    most = math.ceil(bound * 10_000) / 10_000  # a bound is never rounded down
    return f"{achieved:.4f}; with this LDP epsilon no more than {most:.4f} is possible"
