"""How far the budget of a run reaches.

Knows records and what they cost.  Must not know how words are drawn, or what is written.
"""

from __future__ import annotations

from collections.abc import Sequence

from dpsan.errors import BudgetError
from dpsan.formats.base import Record
from dpsan.sanitize.accountant import Accountant, Budget
from dpsan.sanitize.result import Sanitized
from dpsan.text.numerals import number


def affordable(
    budget: Budget, name: str, batch: list[Record], results: Sequence[Sanitized], totals: Accountant
) -> tuple[list[Record], BudgetError | None]:
    """The records of a batch that the budget pays for, and the error that names the next one.

    Args:
        budget: what may be spent; less afterwards.
        name: of the input.
        batch: its records.
        results: what became of them, once for each copy.
        totals: of the mechanism.
    """
    drawn = budget.unpaid(results[0])  # the words are the same in every copy
    at = 0
    for place, record in enumerate(batch):
        end = at + len(record.texts)
        if not budget.take(len(results) * totals.cost(drawn[at:end])):
            spent = f"{number(budget.spent)} of {number(budget.limit)} spent"
            return batch[:place], BudgetError(
                f"{name}:{record.line}: the budget ends here: {spent}"
            )
        at = end
    return batch, None
