"""The options of ``dpsan rewrite``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from dpsan.cli import options
from dpsan.cli.options import choice, flag, option

_OUTPUT, _RUNNING = "Output", "Running"


@dataclass(frozen=True)
class RewriteOptions:
    """What stands on the command line, each option with its default."""

    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[FILE]...", help="Default or -: stdin.")
    ] = None
    epsilon: options.Epsilon = None
    epsilon_ldp: Annotated[
        float | None,
        option(
            "--epsilon-ldp X",
            "Instead of --epsilon: find the epsilon whose certified LDP epsilon is X, the same "
            "meaning for every mechanism.",
            options.PRIVACY,
            env="DPSAN_EPSILON_LDP",
        ),
    ] = None
    mechanism: options.Mechanism = options.DEFAULT_MECHANISM
    param: options.Parameters = None
    embeddings: options.Embeddings = None
    vocab_size: options.VocabSize = None
    unknown: options.Unknown = "sample"
    keep: options.Keep = None
    public: options.Public = None
    case: options.Case = "natural"
    consistent: options.Consistent = None
    numbers: options.Numbers = "word"
    tokenizer: options.Tokenizer = "unicode"
    allow_unproved: options.Unproved = False
    recursive: Annotated[
        bool,
        flag(
            "-r, --recursive",
            "Read all files below a directory, but for hidden ones and links.",
            options.INPUT,
        ),
    ] = False
    format_: options.Format = "auto"
    field: options.Field = None
    spans: Annotated[
        Path | None,
        option(
            "--spans FILE",
            "Draw only words that another tool's spans touch: JSON lines, to which docs/adapters "
            "converts Presidio's and spaCy's. All else passes as it is; neither that nor the "
            "choice of spans is protected.",
            options.INPUT,
        ),
    ] = None
    no_header: options.NoHeader = False
    delimiter: options.Delimiter = None
    strip: Annotated[
        bool,
        flag(
            "--strip",
            "Leave out what cannot be rewritten, instead of refusing the file: attachments of "
            "mails; comments, tracked changes, metadata, pictures and the like of documents.",
            options.INPUT,
        ),
    ] = False
    drop_other: Annotated[
        bool,
        flag(
            "--drop-other",
            "Leave out the columns and fields that --field does not choose, instead of writing "
            "them unchanged.",
            options.INPUT,
        ),
    ] = False
    null_data: Annotated[bool, flag("-z, --null-data", "Records end with NUL.", options.RARE)] = (
        False
    )
    text: Annotated[
        bool,
        flag(
            "--text",
            "Read as text what does not look like it: NUL bytes, PDF, zip, HTML ...",
            options.RARE,
        ),
    ] = False
    encoding: options.Encoding = "utf-8"
    invalid: Annotated[
        str,
        choice(
            "--invalid replace|error",
            "Bytes that are not text: U+FFFD, or stop.",
            options.RARE,
            env="DPSAN_INVALID",
        ),
    ] = "replace"
    max_record: Annotated[
        str,
        option("--max-record SIZE", "Longest line accepted.", options.RARE, env="DPSAN_MAX_RECORD"),
    ] = "16MiB"
    bad_records: Annotated[
        Path | None,
        option(
            "--bad-records FILE",
            "Write records that cannot be read, or that --ledger refuses, to FILE and continue. "
            "FILE is as secret as the input.",
            options.INPUT,
        ),
    ] = None
    output: Annotated[Path | None, option("-o, --output FILE", "Write to FILE.", _OUTPUT)] = None
    output_dir: Annotated[
        Path | None,
        option("-O, --output-dir DIR", "Write each file below DIR, keeping the tree.", _OUTPUT),
    ] = None
    in_place: Annotated[bool, flag("-i, --in-place", "Write over the files.", _OUTPUT)] = False
    backup: Annotated[
        str | None, option("--backup SUFFIX", "With -i: keep the original.", _OUTPUT)
    ] = None
    audit: Annotated[
        Path | None,
        option(
            "-a, --audit FILE",
            "Write one JSON row for each word: as secret as the input.",
            _OUTPUT,
            env="DPSAN_AUDIT",
        ),
    ] = None
    audit_originals: Annotated[
        bool, flag("--audit-originals", "Also the input words.", _OUTPUT)
    ] = False
    force: Annotated[bool, flag("--force", "Replace existing files.", _OUTPUT)] = False
    resume: Annotated[bool, flag("--resume", "With -O: skip finished outputs.", _OUTPUT)] = False
    dry_run: Annotated[
        bool,
        flag(
            "-n, --dry-run",
            "Write nothing: say how many words there are, what they would cost, and show three "
            "lines as they would come out.",
            _OUTPUT,
        ),
    ] = False
    budget: Annotated[
        float | None,
        option(
            "--budget X",
            "Stop, with status 1, before the epsilons of all draws add up to more than X; with "
            "--ledger, the most LDP epsilon of each record.",
            options.PRIVACY,
            env="DPSAN_BUDGET",
        ),
    ] = None
    memo: Annotated[
        Path | None,
        option(
            "--memo DIR",
            "Draw each message (line, cell, string) once: where it comes again, in this run or a "
            "later one, write the output that it had. DIR is as secret as the input.",
            options.PRIVACY,
            env="DPSAN_MEMO",
        ),
    ] = None
    ledger: Annotated[
        Path | None,
        option(
            "--ledger FILE",
            "Add up in FILE what each record (line, row) has cost in all runs that name it; with "
            "--budget X, refuse a record that would cost more than X in all.",
            options.PRIVACY,
            env="DPSAN_LEDGER",
        ),
    ] = None
    copies: Annotated[
        int,
        option(
            "--copies N",
            "Independent rewrites of every record, which cost N times epsilon.",
            _OUTPUT,
            env="DPSAN_COPIES",
            min=1,
        ),
    ] = 1
    jobs: Annotated[
        int | None,
        option(
            "-j, --jobs N",
            "Processes; each holds the vectors. Default 1; with --engine ray one for each CPU of "
            "the cluster.",
            _RUNNING,
            env="DPSAN_JOBS",
            min=1,
        ),
    ] = None
    engine: Annotated[
        str,
        choice(
            "--engine local|ray",
            "ray: on a cluster, with -O; the same words under a seed.",
            options.RARE,
            env="DPSAN_ENGINE",
        ),
    ] = "local"
    address: Annotated[
        str | None,
        option(
            "--address ADDR",
            "With --engine ray: a running cluster; default: one on this machine, for this run.",
            options.RARE,
            env="DPSAN_ADDRESS",
        ),
    ] = None
    seed: Annotated[
        str | None,
        option("--seed TEXT", "Repeatable output, for tests: NOT PRIVATE.", options.RARE),
    ] = None
    line_buffered: Annotated[
        bool, flag("--line-buffered", "Write every line at once.", options.RARE)
    ] = False
    progress: Annotated[
        str,
        choice(
            "--progress auto|on|off",
            "A progress bar or counter on stderr; auto: only on a terminal.",
            _RUNNING,
            env="DPSAN_PROGRESS",
        ),
    ] = "auto"
    quiet: options.Quiet = False
    verbose: Annotated[
        bool, flag("-v, --verbose", "Say what it all costs, and what is not protected.", _RUNNING)
    ] = False
