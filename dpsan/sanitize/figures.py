"""The figures of a run: every number that its statement prints about draws and losses.

Sentences are made of them in one place (:mod:`dpsan.sanitize.statement`); ``verify`` and tests
compare the figures and read no sentence.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from dpsan.privacy.guarantee import Composed
from dpsan.sanitize.remembered import LedgerTotals
from dpsan.text.numerals import counted, number


class Figure(NamedTuple):
    """A number of a statement, with what belongs to it."""

    value: float
    """Nats, the unit of the mechanism, a count, or a share."""
    delta: float = 0.0
    charges: int = 0
    """Draws or lines that it adds up."""

    def __str__(self) -> str:
        if math.isinf(self.value):
            return "without bound"
        delta = f" with delta {number(self.delta)}" if self.delta else ""
        return number(self.value) + delta


Figures = dict[tuple[str, str], Figure]
"""By name (``loss``, ``draws``, ``sum``, ``unchanged``, ``smallest group``, ``names in plain
sight`` (the probability that one is original, of so many), ``per unit``, ``public words``, or a
better composition) and scope (``word``, ``copies``, ``record``, ``file``, ``run``, ``vocabulary``,
or a metric)."""


def loss(composed: Composed, charges: int = 0) -> Figure:
    """Return the figure of several draws together."""
    return Figure(composed.epsilon, composed.delta, charges)


def ledger_line(ledger: LedgerTotals, name: str, most: int) -> str:
    """Describe the totals of the ledger, over all runs that named it.

    Args:
        ledger: its totals.
        name: of the loss.
        most: how many of the largest sums are told.
    """
    limit = "" if ledger.limit is None else f" of at most {number(ledger.limit)} each"
    line = f"ledger: {counted(ledger.charged, 'record')} paid for now, "
    line += f"{counted(ledger.records, 'record')} in all"
    sums = [str(Figure(*pair)) for pair in ledger.largest[:most]]
    if sums:
        line += f"; largest sum{'s' if len(sums) > 1 else ''}{limit}: {name} {', '.join(sums)}"
    return line
