"""``dpsan rewrite``."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpsan.cli import cluster_options, options
from dpsan.cli.completion import choices
from dpsan.cli.file_checks import read_embeddings
from dpsan.cli.output import say
from dpsan.cli.rewrite_checks import (
    check_fields,
    check_outputs,
    file_uses,
    states,
    stopped,
    table,
)
from dpsan.cli.signals import Interrupted
from dpsan.errors import UsageError
from dpsan.text.numerals import counted, number

if TYPE_CHECKING:
    from dpsan.embeddings.cache.store import Store
    from dpsan.run.run import Result
    from dpsan.run.workers import Pool
    from dpsan.sanitize.sanitizer import Sanitizer

__all__ = ["rewrite"]

_OUTPUT, _RUNNING = "Output", "Running"


def rewrite(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE]...", help="Default or -: stdin.")
    ] = None,
    epsilon: options.Epsilon = None,
    epsilon_ldp: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Instead of --epsilon: find the epsilon whose certified LDP epsilon is X, the "
            "same meaning for every mechanism.",
            envvar="DPSAN_EPSILON_LDP",
            rich_help_panel=options.PRIVACY,
            show_default=False,
        ),
    ] = None,
    mechanism: options.Mechanism = options.DEFAULT_MECHANISM,
    param: options.Parameters = None,
    embeddings: options.Embeddings = None,
    vocab_size: options.VocabSize = None,
    unknown: options.Unknown = "sample",
    keep: options.Keep = None,
    case: options.Case = "vocabulary",
    tokenizer: Annotated[
        str,
        typer.Option(
            metavar="unicode|ptb|whitespace",
            autocompletion=choices("unicode", "ptb", "whitespace"),
            help="How lines become words; ptb splits contractions as GloVe was trained.",
            envvar="DPSAN_TOKENIZER",
            rich_help_panel=options.PRIVACY,
        ),
    ] = "unicode",
    allow_unproved: options.Unproved = False,
    format_: options.Format = "auto",
    field: options.Field = None,
    no_header: options.NoHeader = False,
    null_data: Annotated[
        bool,
        typer.Option(
            "--null-data", "-z", help="Records end with NUL.", rich_help_panel=options.INPUT
        ),
    ] = False,
    text: Annotated[
        bool,
        typer.Option(
            "--text",
            help="Read as text what does not look like it: NUL bytes, PDF, zip, HTML ...",
            rich_help_panel=options.INPUT,
        ),
    ] = False,
    encoding: options.Encoding = "utf-8",
    invalid: Annotated[
        str,
        typer.Option(
            metavar="replace|error",
            autocompletion=choices("replace", "error"),
            help="Bytes that are not text: U+FFFD, or stop.",
            envvar="DPSAN_INVALID",
            rich_help_panel=options.INPUT,
        ),
    ] = "replace",
    max_record: Annotated[
        str,
        typer.Option(
            metavar="SIZE",
            help="Longest line accepted.",
            envvar="DPSAN_MAX_RECORD",
            rich_help_panel=options.INPUT,
        ),
    ] = "16MiB",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write to FILE.", rich_help_panel=_OUTPUT
        ),
    ] = None,
    output_dir: Annotated[
        Path | None,
        typer.Option(
            "--output-dir",
            "-O",
            metavar="DIR",
            help="Write each file below DIR, keeping the tree.",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    in_place: Annotated[
        bool,
        typer.Option("--in-place", "-i", help="Write over the files.", rich_help_panel=_OUTPUT),
    ] = False,
    backup: Annotated[
        str | None,
        typer.Option(metavar="SUFFIX", help="With -i: keep the original.", rich_help_panel=_OUTPUT),
    ] = None,
    audit: Annotated[
        Path | None,
        typer.Option(
            "--audit",
            "-a",
            metavar="FILE",
            help="Write one JSON row for each word: as secret as the input.",
            envvar="DPSAN_AUDIT",
            rich_help_panel=_OUTPUT,
        ),
    ] = None,
    audit_originals: Annotated[
        bool,
        typer.Option("--audit-originals", help="Also the input words.", rich_help_panel=_OUTPUT),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace existing files.", rich_help_panel=_OUTPUT)
    ] = False,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="With -O: skip finished outputs.", rich_help_panel=_OUTPUT),
    ] = False,
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Stop, with status 1, before the epsilons of all draws add up to more than X.",
            envvar="DPSAN_BUDGET",
            rich_help_panel=options.PRIVACY,
            show_default=False,
        ),
    ] = None,
    copies: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Independent rewrites of every record, which cost N times epsilon.",
            envvar="DPSAN_COPIES",
            rich_help_panel=_OUTPUT,
        ),
    ] = 1,
    jobs: Annotated[
        int | None,
        typer.Option(
            "--jobs",
            "-j",
            min=1,
            metavar="N",
            help="Processes; each holds the vectors. Default 1; with --engine ray one for each "
            "CPU of the cluster.",
            envvar="DPSAN_JOBS",
            rich_help_panel=_RUNNING,
            show_default=False,
        ),
    ] = None,
    engine: cluster_options.EngineName = "local",
    address: cluster_options.Address = None,
    seed: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Repeatable output, for tests: NOT PRIVATE.",
            rich_help_panel=_RUNNING,
        ),
    ] = None,
    line_buffered: Annotated[
        bool,
        typer.Option("--line-buffered", help="Write every line at once.", rich_help_panel=_RUNNING),
    ] = False,
    progress: Annotated[
        str,
        typer.Option(
            metavar="auto|on|off",
            autocompletion=choices("auto", "on", "off"),
            help="A progress bar or counter on stderr; auto: only on a terminal.",
            envvar="DPSAN_PROGRESS",
            rich_help_panel=_RUNNING,
        ),
    ] = "auto",
    quiet: options.Quiet = False,
    verbose: Annotated[
        bool,
        typer.Option(
            "--verbose",
            "-v",
            help="Say what it all costs, and what is not protected.",
            rich_help_panel=_RUNNING,
        ),
    ] = False,
) -> int:
    """Sanitize text, line by line.

    For each word and number another is drawn, perhaps the same; the rest stays in place.

    dpsan rewrite -e 8 < letter.txt > safe.txt
    """
    value = options.epsilon_or_ldp(epsilon, epsilon_ldp)
    inputs = files or [Path("-")]
    cluster_options.check(
        engine, address, inputs, output_dir, budget=budget, line_buffered=line_buffered
    )
    uses = file_uses(inputs, output, output_dir, in_place, backup, resume, audit, keep)
    check_outputs(
        inputs, output, output_dir, in_place, backup, resume, audit_originals, audit, force
    )
    check_fields(inputs, format_, field, no_header=no_header, null_data=null_data)
    for name, given, allowed in (
        ("--invalid", invalid, ("replace", "error")),
        ("--progress", progress, ("auto", "on", "off")),
        ("--unknown", unknown, options.UNKNOWN),
        ("--case", case, options.CASES),
    ):
        options.one_of(name, given, allowed)
    if budget is not None and not 0 < budget < float("inf"):
        raise UsageError(f"--budget must be > 0 (got {budget:g})")
    if seed is not None:
        say("NOT PRIVATE: --seed makes the random numbers public")

    from dpsan.embeddings.cache.store import Store
    from dpsan.space.library import Opening

    read_embeddings(uses, embeddings)
    store = Store(note=None if quiet else say)
    opening = Opening(embeddings, vocab_size, store)  # reads while the rest is imported

    from dpsan.cli.progress import byte_progress, search_progress
    from dpsan.formats.base import ReadOptions
    from dpsan.run.audit import AuditWriter
    from dpsan.run.run import Run
    from dpsan.run.stream import Inplace, Plan
    from dpsan.sanitize.accountant import Budget
    from dpsan.sanitize.request import RunSpec
    from dpsan.sanitize.sanitizer import Sanitizer, run_key
    from dpsan.text.out_of_vocabulary import UnknownPolicy, read_word_list

    spec = RunSpec(
        epsilon=value,
        mechanism=mechanism,
        parameters=dict(options.parameters(param)),
        embeddings=embeddings,
        vocab_size=vocab_size,
        tokenizer=tokenizer,
        unknown=UnknownPolicy(unknown),
        keep=frozenset(read_word_list(keep)) if keep else frozenset(),
        case=case,
        allow_unproved=allow_unproved,
        epsilon_ldp=epsilon_ldp,
    )
    plan = Plan(
        format=format_,
        options=ReadOptions(
            encoding=encoding,
            invalid=invalid,
            max_record=options.size(max_record),
            force_text=text,
            null_data=null_data,
            fields=tuple(field or ()),
            header=not no_header,
        ),
        copies=copies,
        line_buffered=line_buffered,
        force=force,
    )
    with search_progress(mechanism, quiet or epsilon_ldp is None) as told:
        sanitizer = Sanitizer.from_spec(spec, store, opened=opening, progress=told)
    if verbose:
        n, d = sanitizer.embeddings.n, sanitizer.embeddings.d
        say(f"{number(n)} words of {number(d)} dimensions ready")
    if inputs == [Path("-")] and sys.stdin.isatty() and not quiet:
        say("reading from the terminal; end with Ctrl-D")
    run = Run(
        sanitizer,
        plan,
        run_key(seed),
        inputs,
        output=Inplace(backup) if in_place else output_dir or output,
        tree=output_dir is not None,
        resume=resume,
        budget=None if budget is None else Budget(budget),
        complain=say,
    )
    before = states(inputs, output_dir, in_place)
    try:
        with ExitStack() as stack:
            if jobs and jobs > 1 and engine == "local":
                run.workers = stack.enter_context(_pool(sanitizer, store, jobs))
            if audit:
                run.audit = stack.enter_context(
                    AuditWriter(
                        audit,
                        sanitizer,
                        originals=audit_originals,
                        force=force,
                        seeded=seed is not None,
                        copies=copies,
                    )
                )
            run.progress = stack.enter_context(
                byte_progress(progress, quiet, inputs, streams=run.output is None)
            )
            result = (
                run.execute()
                if engine == "local"
                else cluster_options.execute(run, store.root, address, jobs, audit, audit_originals)
            )
    except Interrupted:
        say(stopped(before, output, in_place, resume))
        raise
    return _conclude(result, sanitizer, len(inputs), copies, quiet, verbose)


def _pool(sanitizer: Sanitizer, store: Store, jobs: int) -> Pool:
    from dpsan.run.workers import Pool  # heavy import

    return Pool(sanitizer.spec, store.root, jobs, sanitizer.embeddings.digest)


def _conclude(
    result: Result, sanitizer: Sanitizer, inputs: int, copies: int, quiet: bool, verbose: bool
) -> int:
    from dpsan.sanitize.statement import Statement

    if not quiet:
        if inputs > 1:
            table(result)
        statement = Statement(
            result.totals,
            sanitizer.mechanism.name,
            sanitizer.expected_unchanged if result.totals.draws else 0.0,
            copies=copies,
            files=inputs,
            case_input=sanitizer.spec.case == "input",
        )
        for line in statement.lines(verbose=verbose):
            say(line)
        if result.skipped:
            say(f"{counted(result.skipped, 'finished file')} skipped")
        bare = sum(outcome.bare for outcome in result.outcomes)
        if bare:
            say(f"written unchanged, without the field: {counted(bare, 'record')}")
    if result.failed and inputs > 1:
        say(f"{number(len(result.failed))} of {number(inputs)} files failed")
    return 1 if result.failed else 0
