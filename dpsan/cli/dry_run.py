"""What a ``dpsan rewrite --dry-run`` says besides the statement of any run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dpsan.cli.output import say
from dpsan.errors import printable
from dpsan.text.numerals import counted, number

if TYPE_CHECKING:
    from dpsan.run.run import Result, Run

_WIDEST: Final = 200


def show_dry_run(result: Result, run: Run) -> bool:
    """Say what a run would do, on standard error: standard output stays empty, as nothing of this
    is meant to be published.

    Returns:
        Whether its budget is enough.
    """
    from dpsan.run.dry_run import DryRun
    from dpsan.sanitize.result import Action

    totals = result.totals
    words = totals.words // run.plan.copies
    strange = (Action.UNKNOWN, Action.MASKED, Action.PASSED)
    unknown = sum(totals.counts[action] for action in strange) // run.plan.copies
    share = f" ({100 * unknown / words:.1f} %)" if words else ""
    say(
        f"dry run, nothing was written: {counted(totals.records, 'record')}, "
        f"{counted(words, 'word')}, {number(unknown)}{share} of them unknown"
    )
    enough = run.budget is None or totals.epsilon_sum <= run.budget.limit
    if run.budget is not None:
        says = "is enough" if enough else "would end it"
        say(
            f"the budget of {number(run.budget.limit)} {says}: the epsilons of all draws add up to "
            f"{number(totals.epsilon_sum)}"
        )
    if isinstance(run, DryRun):
        for line in run.samples:
            shown = printable(line)
            say(f"for example: {shown[:_WIDEST]}{'…' if len(shown) > _WIDEST else ''}")
    return enough
