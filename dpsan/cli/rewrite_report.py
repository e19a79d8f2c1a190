"""Messages of ``dpsan rewrite`` after a run, on standard error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dpsan.cli.output import say
from dpsan.errors import counted, number, printable
from dpsan.formats.kinds import described_in
from dpsan.formats.passing import LEFT_OUT, PASSED

if TYPE_CHECKING:
    from dpsan.cli.rewrite_request import Request
    from dpsan.run.plan import Result
    from dpsan.run.run import Run
    from dpsan.sanitize.sanitizer import Sanitizer

_WIDEST: Final = 200
"""Characters of an example that a dry run shows."""


def say_result(request: Request, run: Run, result: Result) -> int:
    """Say what was done and what it means; return the exit status."""
    if request.doubtful_header and result.done:
        say("the first row of a table passes unchanged, as its header (--no-header if it is data)")
    sources = dict.fromkeys(map(described_in, request.kinds))
    for line in result.passing.lines(keys=not request.quiet):
        say(f"{line} ({'; '.join(sources)})" if line.startswith((PASSED, LEFT_OUT)) else line)
    for source in sources:
        if not (request.quiet or source.startswith("man ")):
            say(f"container: {source}")
    if request.dry_run:
        _say_dry_run(result, run)
    written = result.done or result.skipped or result.totals.records
    if not request.quiet and (written or not result.failed):
        _say_statement(result, run.sanitizer, request)
    _warn(result, request)
    inputs = len(run.inputs)
    if result.failed and inputs > 1:
        rest = "" if written else "; nothing was written"
        say(f"{number(len(result.failed))} of {number(inputs)} files failed{rest}")
    elif result.failed and written:
        say("the output is not whole: it ends where the run failed")
    return 1 if result.failed else 0


def _say_dry_run(result: Result, run: Run) -> None:
    """Say what a run would do.

    Standard output stays empty: nothing of this is meant to be published.
    """
    from dpsan.sanitize.result import Action

    totals = result.totals
    words = totals.words // run.plan.copies
    lacking = totals.counts[Action.UNKNOWN] + totals.counts[Action.MASKED]
    unknown = lacking // run.plan.copies
    share = f" ({100 * unknown / words:.1f} %)" if words else ""
    drawn = f"{counted(words, 'word')}, {number(unknown)}{share} of them unknown"
    say(f"dry run, nothing was written: {counted(totals.records, 'record')}, {drawn}")
    for line in run.samples or ():
        shown = printable(line)
        say(f"for example: {shown[:_WIDEST]}{'…' if len(shown) > _WIDEST else ''}")


def _say_statement(result: Result, sanitizer: Sanitizer, request: Request) -> None:
    """Say what was done, and what it means."""
    from dpsan.sanitize.statement import Statement

    inputs = len(request.inputs)
    if inputs > 1 and result.done:
        files, records = counted(result.done, "file"), counted(result.totals.records, "record")
        target = "into one file" if request.output else "to standard output"
        apart = request.output_dir or request.in_place or request.dry_run
        said = "" if apart else f" {target}, one after the other (-O DIR keeps them apart)"
        say(f"{files} rewritten{said}, {records}")
    # With spans, what passes tells which text it is.
    wanted = request.verbose and result.totals.draws and request.spans is None
    half = sanitizer.half_linked if wanted else None
    plain, only = 0.0, sanitizer.replacing
    if only is not None:
        from dpsan.sanitize.classes import expected_plain

        plain = expected_plain(only, result.totals.by_kind)
    statement = Statement(
        result.totals,
        sanitizer.mechanism.name,
        sanitizer.expected_unchanged if result.totals.written else 0.0,
        sanitizer.expected_share(result.totals) if result.totals.written else None,
        sanitizer.replaced_classes,
        copies=request.copies,
        files=inputs,
        settings=sanitizer.spec,
        spans=request.spans is not None,
        plain_drawn=plain / request.copies,
        linked=None if half is None else half.of(request.copies),
        memo=result.memo,
        ledger=result.ledger,
    )
    for line in statement.lines(verbose=request.verbose):
        say(line)
    if digest := request.policy_sha256:
        say(f"policy {request.policy}, SHA-256 {digest[:16]}")
    if result.totals.draws and (metric := sanitizer.guarantee.metric) is not None:
        say(f"epsilon is per unit of {metric} distance ('dpsan index' shows the distances)")
    if result.done and not result.totals.records:
        empty = "the input is empty" if inputs == 1 else "the inputs are empty"
        say("no record is left" if request.bad_records else empty)
    if result.skipped:
        say(f"{counted(result.skipped, 'finished file')} skipped")


def _warn(result: Result, request: Request) -> None:
    """Say what may have gone wrong unseen; --quiet does not silence it."""
    if warning := result.lacking.warning():
        say(warning)
    if result.bare:
        say(f"written unchanged, without the field: {counted(result.bare, 'record')}")
    if result.renamed:
        many, hint = counted(result.renamed, "record"), f"--except {request.unit_field} leaves it"
        say(f"{many}: the name of the unit was replaced, and restore --unit-field fails ({hint})")
    if request.except_:
        from dpsan.formats.paths import unmatched

        every = result.passing.fields.values()
        names = [name for kind in every if kind.kind != "key" for name in kind.others | kind.chosen]
        for path in unmatched(request.except_, names) if result.done else ():
            inside = any(name.endswith(f".{path}") for name in names)
            hint = f" (at any depth: '**.{path}')" * inside
            say(f"no record has the path '{path}' of --except{hint}")
    if result.totals.invalid:
        many = counted(result.totals.invalid, "invalid byte sequence")
        say(f"{many} replaced by U+FFFD (another --encoding, such as latin-1?)")
