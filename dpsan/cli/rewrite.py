"""``dpsan rewrite``."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from dpsan.cli.guard import Interrupted
from dpsan.cli.options import STDIN
from dpsan.cli.output import say
from dpsan.cli.rewrite_options import Completed
from dpsan.cli.rewrite_report import say_result
from dpsan.cli.rewrite_request import Request
from dpsan.errors import CacheError, counted, number, refuse
from dpsan.run.side_outputs import BadRecords, FileLog, RequestFile, Review

if TYPE_CHECKING:
    from pathlib import Path

    from dpsan.run.plan import Result
    from dpsan.run.records import History
    from dpsan.run.run import Run


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

    everyday: ClassVar = (
        "--only --map --review --policy --epsilon --mechanism --class --fluent --unknown --keep "
        "--allow-unproved --budget --memo --ledger --embeddings --format --field --recursive "
        "--output --output-dir --in-place --audit --dry-run --jobs --quiet --verbose"
    )

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
        refuse(self.files, "--forget erases a unit, and rewrites nothing", "leave out the files")
        assert self.memo is not None  # noqa: S101 - checked
        with MemoFile(self.memo, there=True) as memo:
            there = memo.forget(unit)
        if not self.quiet or not there:
            say("the unit is erased" if there else "the memo has no such unit")
        return 0 if there else 1


def _built(request: Request) -> tuple[Run, Path]:
    """Return the run, and the directory of the cache."""
    from dpsan.run.run import Run
    from dpsan.sanitize.sanitizer import Sanitizer, run_key

    store = request.store()
    spec = replace(request.spec(), mapped=request.map_ is not None)
    spec = spec.of_units() if request.memo and (request.unit_field or request.unit) else spec
    plan = request.plan()
    sanitizer = Sanitizer.from_spec(spec, store)
    if request.verbose and not request.only:
        words = sanitizer.embeddings
        say(f"{number(words.n)} words of {number(words.d)} dimensions ready")
    if request.inputs == [STDIN] and sys.stdin.isatty() and not request.quiet:
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

    from dpsan.privacy.randomness import derive_key

    completed, left_out = Completed(request), None
    try:
        with ExitStack() as stack:
            enter = stack.enter_context
            if request.jobs and request.jobs > 1 and request.engine == "local":
                from dpsan.run.workers import Pool  # heavy import

                digest = run.sanitizer.embeddings.digest
                run.workers = enter(Pool(run.sanitizer.spec, cache, request.jobs, digest))
            name = derive_key(run.key, "map").hex()[:16]
            if request.audit:
                from dpsan.run.audit.writer import AuditWriter

                run.audit = enter(AuditWriter(request.audit, run.sanitizer, run.plan))
            if request.map_:
                from dpsan.restore.restoring import MapWriter

                run.map = enter(MapWriter(request.map_, name, force=request.force))
            if request.review:
                only = run.sanitizer.replacing
                assert only is not None  # noqa: S101 - the request was checked
                run.review = enter(Review(request.review, only.class_of, force=request.force))
            if request.bad_records:
                complain: Callable[[str], None] = (lambda _: None) if request.quiet else say
                bad = BadRecords(request.bad_records, force=request.force, complain=complain)
                stack.callback(_tell_bad, enter(bad), request)
                run.plan = replace(run.plan, options=replace(run.plan.options, reject=bad))
                left_out = bad.of_input
            if request.memo or request.ledger or request.budget:
                run.history = _history(request, run, stack)
            if request.log_json:
                run.log = enter(FileLog(request.log_json, name, request.force, left_out))
            bar = request.progress.bytes(run.inputs, streams=run.output is None)
            run.progress, run.begun = enter(bar)
            result = run.execute()
            if history := run.history:
                result.memo = history.memo.totals() if history.memo else None
                result.ledger = history.ledger.totals() if history.ledger else None
            return result
    except Interrupted:
        say(completed.message())
        raise


def _history(request: Request, run: Run, stack: ExitStack) -> History:
    """Open the memo and the ledger of a run, and close them with the stack. Raises OutputError."""
    from dpsan.run.memo import Memo
    from dpsan.run.records import History, Ledger

    memo = ledger = None
    if request.memo:
        memo = stack.enter_context(Memo(request.memo, run.sanitizer))
    if request.ledger:
        ledger = stack.enter_context(Ledger(request.ledger, request.budget))
    return History(memo, ledger, request.budget, run.plan.options.reject)


def _tell_bad(bad: BadRecords, request: Request) -> None:
    """Say how many records are missing in the output."""
    if count := bad.of_input.total():
        say(f"{counted(count, 'record')} written to {request.bad_records}, not to the output")
