"""Carries out a ``dpsan rewrite``: builds what was asked for, runs it, says what was done."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from dpsan.cli.cache import open_cache
from dpsan.cli.dry_run import show_dry_run
from dpsan.cli.engines import engine
from dpsan.cli.file_checks import read_embeddings
from dpsan.cli.output import aligned, say
from dpsan.cli.rewrite_files import STDIN, Completed
from dpsan.cli.signals import Interrupted
from dpsan.formats.passing import LEFT_OUT, PASSED
from dpsan.text.numerals import counted, number

if TYPE_CHECKING:
    from pathlib import Path

    from dpsan.cli.rewrite_request import Request
    from dpsan.run.bad_records import BadRecords
    from dpsan.run.books import Books
    from dpsan.run.run import Result, Run
    from dpsan.sanitize.sanitizer import Sanitizer

_MOST_LINES: Final = 20
"""Files that have a line each at the end."""


def carry_out(request: Request) -> int:
    """Check, build, execute and report; returns the exit status.  Raises DpsanError."""
    uses = request.check()
    if request.seed is not None:
        say("NOT PRIVATE: --seed makes the random numbers public")
    read_embeddings(uses, request.embeddings)
    run, cache = _built(request)
    if run.tree and not request.dry_run:
        _begin_tree(request, run, cache)
    result = _executed(request, run, cache)
    for line in run.passing.lines():
        # --quiet does not silence it.
        say(f"{line} (man dpsan, CONTAINERS)" if line.startswith((PASSED, LEFT_OUT)) else line)
    enough = not request.dry_run or show_dry_run(result, run)
    if not request.quiet:
        _report(result, run.sanitizer, request)
    _warn(result, request)
    inputs = len(run.inputs)
    if result.failed and inputs > 1:
        say(f"{number(len(result.failed))} of {number(inputs)} files failed")
    if not enough:
        return 1  # as of the run
    return 1 if result.failed else 0


def _built(request: Request) -> tuple[Run, Path]:
    """The run, and the directory of the cache."""
    from dpsan.space.cached_index import Opening

    store = open_cache(request.quiet)
    # Reads while the rest is imported.
    opening = Opening(request.embeddings, request.vocab_size, store)

    from dpsan.cli.progress import search_progress
    from dpsan.run.run import Run
    from dpsan.run.stream import Inplace
    from dpsan.sanitize.accountant import Budget
    from dpsan.sanitize.sanitizer import Sanitizer, run_key

    spec, plan = request.spec(), request.plan()
    with search_progress(spec.mechanism, request.quiet or spec.epsilon_ldp is None) as tried:
        sanitizer = Sanitizer.from_spec(spec, store, opened=opening, progress=tried)
    if request.verbose:
        n, d = sanitizer.embeddings.n, sanitizer.embeddings.d
        say(f"{number(n)} words of {number(d)} dimensions ready")
    if request.inputs == [STDIN] and sys.stdin.isatty() and not request.quiet:
        say("reading from the terminal; end with Ctrl-D")
    output = Inplace(request.backup) if request.in_place else request.output_dir or request.output
    kind = Run
    if request.dry_run:
        from dpsan.run.dry_run import DryRun

        kind = DryRun
    run = kind(
        sanitizer,
        plan,
        run_key(request.seed),
        request.inputs,
        output=output,
        tree=request.output_dir is not None,
        roots=request.roots,
        resume=request.resume,
        budget=Budget(request.budget) if request.budget and not request.ledger else None,
        complain=say,
    )
    return run, store.root


def _scale(sanitizer: Sanitizer) -> str:
    """Return what a unit of epsilon is where it depends on distances; else nothing."""
    from dpsan.outcomes.word_statistics import usual_nearest

    if sanitizer.guarantee.metric is None:
        return ""
    apart = number(usual_nearest(sanitizer.space))
    return (
        f"epsilon is per unit of {sanitizer.guarantee.metric} distance: nearest neighbours here "
        f"are {apart} apart (median)"
    )


def _begin_tree(request: Request, run: Run, cache: Path) -> None:
    """Note with which options the outputs below a directory are made.

    Raises:
        UsageError: ``--resume`` would go on with the outputs of other options.
    """
    from dpsan.errors import CacheError
    from dpsan.run.paths import plan_outputs
    from dpsan.run.same_request import RequestFile

    assert request.output_dir is not None  # noqa: S101 - narrowed by run.tree
    targets = plan_outputs(run.inputs, request.output_dir, run.roots)
    epsilon = run.sanitizer.mechanism.epsilon
    try:
        made = RequestFile(request.output_dir, cache, epsilon, request.decisive(run.sanitizer))
    except CacheError as error:
        if request.resume:
            raise
        say(f"{error}; --resume will not be possible")
        return
    if request.resume:
        made.check(targets)
    if request.force or not all(target.exists() for target in targets):
        made.append()


def _executed(request: Request, run: Run, cache: Path) -> Result:
    from dpsan.cli.progress import byte_progress
    from dpsan.run.bad_records import BadRecords

    completed = Completed(request)
    try:
        with ExitStack() as stack:
            execute = stack.enter_context(engine(request, run.sanitizer, cache))
            if request.audit:
                from dpsan.run.audit import AuditWriter

                writer = AuditWriter(
                    request.audit,
                    run.sanitizer,
                    originals=request.audit_originals,
                    force=request.force,
                    seeded=request.seed is not None,
                    copies=request.copies,
                    memo=request.memo is not None,
                    spans=request.spans is not None,
                    fields=request.field or (),
                    drop_other=request.drop_other,
                )
                run.audit = stack.enter_context(writer)
            if request.bad_records:
                bad = BadRecords(
                    request.bad_records,
                    force=request.force,
                    complain=(lambda _: None) if request.quiet else say,
                )
                stack.callback(_tell_bad, stack.enter_context(bad), request)
                options = replace(run.plan.options, aside=bad)
                run.plan = replace(run.plan, options=options)
            if request.memo or request.ledger:
                run.books = _books(request, run, stack)
            bar = byte_progress(
                request.progress, request.quiet, run.inputs, streams=run.output is None
            )
            run.progress = stack.enter_context(bar)
            result = execute(run)
            if run.books and run.books.memo:
                result.memo = run.books.memo.totals()
            if run.books and run.books.ledger:
                result.ledger = run.books.ledger.totals()
            return result
    except Interrupted:
        say(completed.message())
        raise


def _books(request: Request, run: Run, stack: ExitStack) -> Books:
    """What earlier runs remember, closed with the stack.  Raises OutputError."""
    from dpsan.run.books import Books
    from dpsan.run.ledger import Ledger
    from dpsan.run.memo import Memo

    memo = ledger = None
    dry = request.dry_run
    if request.memo:
        memo = stack.enter_context(Memo(request.memo, run.sanitizer, note=say, scratch=dry))
    if request.ledger:
        ledger = stack.enter_context(Ledger(request.ledger, request.budget, scratch=dry))
    return Books(memo, ledger, run.plan.options.aside)


def _tell_bad(bad: BadRecords, request: Request) -> None:
    """Say how many records are missing in the output."""
    if bad.count:
        many = counted(bad.count, "record")
        say(f"set aside in {request.bad_records}: {many} (not in the output)")


def _report(result: Result, sanitizer: Sanitizer, request: Request) -> None:
    """Say what was done, and what it means."""
    from dpsan.sanitize.statement import Statement

    inputs = len(request.inputs)
    if inputs > 1:
        _table(result)
    whole = request.spans is None  # else what passes tells which text it is
    asked = request.verbose and result.totals.draws and whole
    half = sanitizer.half_linked if asked else None
    statement = Statement(
        result.totals,
        sanitizer.mechanism.name,
        sanitizer.expected_unchanged if result.totals.written else 0.0,
        copies=request.copies,
        files=inputs,
        case_input=request.case == "input",
        spans=request.spans is not None,
        consistent=sanitizer.spec.consistent,
        linked=None if half is None else half.of(request.copies),
        memo=result.memo,
        ledger=result.ledger,
    )
    for line in statement.lines(verbose=request.verbose):
        say(line)
    if result.totals.draws and (line := _scale(sanitizer)):
        say(line)
    if result.skipped:
        say(f"{counted(result.skipped, 'finished file')} skipped")


def _warn(result: Result, request: Request) -> None:
    """Say what may have gone wrong unseen; --quiet does not silence it."""
    from dpsan.sanitize.statement import vocabulary_warning

    files = {outcome.name: outcome.totals.counts for outcome in result.outcomes}
    if warning := vocabulary_warning(files):
        say(warning)
    bare = sum(outcome.bare for outcome in result.outcomes)
    if bare:
        say(f"written unchanged, without the field: {counted(bare, 'record')}")
    if request.doubtful_header and result.outcomes:
        say("the first row of a table passes unchanged, as its header (--no-header if it is data)")


def _table(result: Result) -> None:
    """One line for each file, in columns, on stderr; of many one for each format."""
    if len(result.each) > _MOST_LINES:
        done = len(result.outcomes)
        say(f"{counted(done, 'file')} rewritten, {number(result.totals.records)} records")
        kinds = sorted({each.format for each in result.outcomes})
        for kind in kinds if len(kinds) > 1 else ():
            some = [each for each in result.outcomes if each.format == kind]
            records = sum(each.totals.records for each in some)
            words = sum(each.totals.words for each in some)
            say(
                f"{kind}: {counted(len(some), 'file')}, {counted(records, 'record')}, "
                f"{counted(words, 'word')}"
            )
        return
    rows = [("records", "words", "drawn", "unknown", "kept", "epsilon", "file")]
    for name, outcome in result.each:
        if isinstance(outcome, str):
            rows.append((outcome, "", "", "", "", "", name))
            continue
        totals = outcome.totals
        counts = {str(action): count for action, count in totals.counts.items()}
        rows.append(
            (
                number(totals.records),
                number(totals.words),
                number(totals.draws),
                number(counts["unknown"] + counts["masked"] + counts["passed"]),
                number(counts["kept"]),
                number(totals.epsilon_sum),
                name,
            )
        )
    for line in aligned(rows, right=range(6)):
        say(line)
