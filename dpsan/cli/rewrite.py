"""``dpsan rewrite``."""

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from dpsan.cli import guard, options, rewrite_options
from dpsan.cli.output import say
from dpsan.cli.rewrite_request import Request
from dpsan.errors import CacheError, counted, number, printable, refuse
from dpsan.formats.kinds import described_in
from dpsan.formats.passing import LEFT_OUT, PASSED
from dpsan.formats.paths import unmatched
from dpsan.privacy.randomness import derive_key
from dpsan.run.plan import Result
from dpsan.run.run import Run
from dpsan.run.side_outputs import BadRecords, FileLog, RequestFile, Review
from dpsan.run.workers import Pool
from dpsan.sanitize.classes import expected_plain
from dpsan.sanitize.result import Action
from dpsan.sanitize.sanitizer import Sanitizer, run_key
from dpsan.sanitize.statement import Statement


@dataclass(frozen=True, kw_only=True)
class Rewrite(Request):
    """Replace names, places, dates and numbers (--only), or every word (--epsilon).

    With --only the text reads and all other words pass. With --epsilon each word and number is
    drawn; it may be the same. Punctuation and spaces stay.

    Examples:
        dpsan rewrite --only sensitive < letter.txt > safe.txt
        dpsan rewrite --only people -k body tickets.csv > safe.csv
        dpsan rewrite -e 8 --dry-run notes.txt
    """

    def run(self) -> int:
        """Check, build, execute and report."""
        if self.forget is not None:
            return self._forget(self.forget)
        uses = self.check()
        if self.seed is not None:
            say("NOT PRIVATE: --seed makes the random numbers public")
        self.add_files(uses)
        del uses  # grows with the number of files
        run, cache = _built(self)
        if run.tree and not self.dry_run:
            _begin_tree(self, run, cache)
        return say_result(self, run, _executed(self, run, cache))

    def _forget(self, unit: str) -> int:
        """Erase a unit of the memo."""
        from dpsan.run.memo_file import MemoFile

        refuse(self.memo is None, "--forget needs --memo DIR")
        more = self.typed - {"memo", "forget", "quiet", "verbose"}
        refuse(more, "--forget erases a unit, and rewrites nothing", "leave out all but --memo")
        assert self.memo is not None  # noqa: S101 - checked
        with MemoFile(self.memo, there=True) as memo:
            there = memo.forget(unit)
        if not self.quiet or not there:
            say("the unit is erased" if there else "the memo has no such unit")
        return 0 if there else 1


def _built(request: Request) -> tuple[Run, Path]:
    """Return the run, and the directory of the cache."""
    store = request.store()
    spec = replace(request.spec(), mapped=request.map_ is not None)
    spec = spec.of_units() if request.unit_field or request.unit else spec
    plan = request.plan()
    sanitizer = Sanitizer.from_spec(spec, store)
    if request.verbose and not request.only:
        words = sanitizer.embeddings
        say(f"{number(words.n)} words of {number(words.d)} dimensions ready")
    if request.inputs == [options.STDIN] and sys.stdin.isatty() and not request.quiet:
        say("reading from the terminal; end with Ctrl-D")
    kind: Callable[..., Run] = Run
    if request.engine == "ray":
        from dpsan.run.cluster import ClusterRun, start

        kind = partial(
            ClusterRun,
            start=partial(start, address=request.address, workers=request.jobs),
            cache=store.root,
        )
    run = kind(
        sanitizer,
        plan,
        run_key(request.seed),
        request.inputs,
        output=request.output_dir or request.output,
        in_place=request.in_place,
        tree=request.output_dir is not None,
        roots=request.roots,
        resume=request.resume,
        complain=say,
        samples=[] if request.dry_run else None,
    )
    return run, store.root


def _begin_tree(request: Request, run: Run, cache: Path) -> None:
    """Note with which options the outputs below a directory are made.

    Raises:
        UsageError: ``--resume`` would go on with the outputs of other options.
    """
    assert request.output_dir is not None  # noqa: S101 - narrowed by run.tree
    try:
        made = RequestFile(request.output_dir, cache, request.decisive(run.sanitizer))
    except CacheError as error:
        if request.resume:
            raise
        say(f"{error}; --resume will not be possible")
        return
    if request.resume:
        made.check(request.outputs)
    if request.force or not all(target.exists() for target in request.outputs):
        made.append()
    run.requests = made


def _executed(request: Request, run: Run, cache: Path) -> Result:

    completed, left_out = rewrite_options.Completed(request), None
    try:
        with ExitStack() as stack:
            enter = stack.enter_context
            if request.jobs and request.jobs > 1 and request.engine == "local":
                digest = run.sanitizer.embeddings.digest
                run.workers = enter(Pool(run.sanitizer.spec, cache, request.jobs, digest))
            name = derive_key(run.key, "map").hex()[:16]
            if request.audit:
                from dpsan.run.audit.writer import AuditWriter

                run.audit = enter(AuditWriter(request.audit, run.sanitizer, run.plan))
            if request.map_:
                from dpsan.restore.map_file import MapWriter

                run.map = enter(MapWriter(request.map_, name, force=request.force))
            only = run.sanitizer.replacing
            if request.unit_field and not request.memo:
                from dpsan.run.units import RunUnits

                assert only is not None  # noqa: S101 - the request was checked
                key = derive_key(run.key, "units")
                run.units = RunUnits(only, key, packs=request.seed is None)
            if request.review:
                assert only is not None  # noqa: S101 - the request was checked
                run.review = enter(Review(request.review, only.class_of, force=request.force))
            if request.bad_records:
                complain: Callable[[str], None] = (lambda _: None) if request.quiet else say
                bad = BadRecords(request.bad_records, force=request.force, complain=complain)
                stack.callback(_tell_bad, enter(bad), request)
                run.plan = replace(run.plan, options=replace(run.plan.options, reject=bad))
                left_out = bad.of_input
            if request.memo or request.ledger or request.budget:
                from dpsan.run.memo import Memo
                from dpsan.run.records import History, Ledger

                limit, reject = request.budget, run.plan.options.reject
                memo = enter(Memo(request.memo, run.sanitizer)) if request.memo else None
                ledger = enter(Ledger(request.ledger, limit)) if request.ledger else None
                run.history = History(memo, ledger, limit, reject)
            if request.log_json:
                run.log = enter(FileLog(request.log_json, name, request.force, left_out))
            bar = request.progress.bytes(run.inputs, streams=run.output is None)
            run.progress, run.begun = enter(bar)
            result = run.execute()
            if history := run.history:
                result.memo = history.memo.totals() if history.memo else None
                result.ledger = history.ledger.totals() if history.ledger else None
            return result
    except guard.Interrupted:
        say(completed.message())
        raise


def _tell_bad(bad: BadRecords, request: Request) -> None:
    """Say how many records are missing in the output."""
    if count := bad.of_input.total():
        say(f"{counted(count, 'record')} written to {request.bad_records}, not to the output")


# What a run prints when it ends.

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
    if result.memo and result.memo.again:
        again = f"messages or units that the memo has: {number(result.memo.again)}"
        say(f"drawn again, under other options, {again}; two outputs tell more than one")
    if result.totals.reused and (request.map_ or request.unit or request.unit_field):
        many = counted(result.totals.reused, "replacement")
        say(f"a group was used up: restore leaves {many} that stand for another word too")
    if result.bare:
        say(f"written unchanged, without the field: {counted(result.bare, 'record')}")
    if result.renamed:
        itself = request.unit_field in request.field_names
        hint = "leave it out of -k" if itself else f"--except {request.unit_field} leaves it"
        many = counted(result.renamed, "record")
        say(f"{many}: the name of the unit was replaced, and restore --unit-field fails ({hint})")
    every = result.passing.fields.values()
    if any(kind.left_out and request.unit_field in kind.others for kind in every):
        say(f"--drop-other leaves out '{request.unit_field}': restore --unit-field finds no unit")
    if request.except_:
        names = [name for kind in every if kind.kind != "key" for name in kind.others | kind.chosen]
        for path in unmatched(request.except_, names) if result.done else ():
            inside = any(name.endswith(f".{path}") for name in names)
            hint = f" (at any depth: '**.{path}')" * inside
            say(f"no record has the path '{path}' of --except{hint}")
    if result.totals.invalid:
        many = counted(result.totals.invalid, "invalid byte sequence")
        say(f"{many} replaced by U+FFFD (another --encoding, such as latin-1?)")
