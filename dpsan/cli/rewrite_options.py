"""The options of ``dpsan rewrite``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from dpsan.cli.command import argument, choice, flag, option
from dpsan.cli.options import Container
from dpsan.cli.sanitizing import Sanitizing
from dpsan.cli.tree import INPUT, OUTPUT, PRIVACY, RARE, RUNNING


@dataclass(frozen=True, kw_only=True)
class RewriteOptions(Container, Sanitizing):
    """Options of ``rewrite``; those without a panel are about output."""

    panel: ClassVar = OUTPUT

    files: list[Path] | None = argument("[FILE]...", "Default or -: stdin.", None)
    epsilon_ldp: float | None = option(
        "--epsilon-ldp X",
        "Instead of --epsilon: find the epsilon whose certified LDP epsilon is X, the same "
        "meaning for every mechanism.",
        panel=PRIVACY,
        env=True,
    )
    budget: float | None = option(
        "--budget X",
        "Stop, with status 1, before the epsilons of all draws add up to more than X; with "
        "--ledger, the most LDP epsilon of each record.",
        panel=PRIVACY,
        env=True,
    )
    memo: Path | None = option(
        "--memo DIR",
        "Draw each message (line, cell, string) once: where it comes again, in this run or a "
        "later one, write the output that it had. DIR is as secret as the input.",
        panel=PRIVACY,
        env=True,
    )
    ledger: Path | None = option(
        "--ledger FILE",
        "Add up in FILE what each record (line, row) has cost in all runs that name it; with "
        "--budget X, refuse a record that would cost more than X in all.",
        panel=PRIVACY,
        env=True,
    )
    recursive: bool = flag(
        "-r, --recursive",
        "Read all files below a directory, but for hidden ones and links.",
        panel=INPUT,
    )
    spans: Path | None = option(
        "--spans FILE",
        "Draw only words that another tool's spans touch: JSON lines, to which docs/adapters "
        "converts Presidio's and spaCy's. All else passes as it is; neither that nor the "
        "choice of spans is protected.",
        panel=INPUT,
    )
    strip: bool = flag(
        "--strip",
        "Leave out what cannot be rewritten, instead of refusing the file: attachments of "
        "mails; comments, tracked changes, metadata, pictures and the like of documents.",
        panel=INPUT,
    )
    drop_other: bool = flag(
        "--drop-other",
        "Leave out the columns and fields that --field does not choose, instead of writing "
        "them unchanged.",
        panel=INPUT,
    )
    bad_records: Path | None = option(
        "--bad-records FILE",
        "Write unreadable or over-budget records to FILE and continue. FILE is as sensitive as "
        "the input.",
        panel=INPUT,
    )
    output: Path | None = option("-o, --output FILE", "Write to FILE.")
    output_dir: Path | None = option(
        "-O, --output-dir DIR", "Write each file below DIR, keeping the tree."
    )
    in_place: bool = flag("-i, --in-place", "Write over the files.")
    backup: str | None = option("--backup SUFFIX", "With -i: keep the original.")
    audit: Path | None = option(
        "-a, --audit FILE", "Write one JSON row for each word: as secret as the input.", env=True
    )
    audit_originals: bool = flag("--audit-originals", "Also the input words.")
    force: bool = flag("--force", "Replace existing files.")
    resume: bool = flag("--resume", "With -O: skip finished outputs.")
    dry_run: bool = flag(
        "-n, --dry-run",
        "Write nothing: say how many words there are, what they would cost, and show three "
        "lines as they would come out.",
    )
    copies: int = option(
        "--copies N",
        "Independent rewrites of every record, which cost N times epsilon.",
        1,
        env=True,
        min=1,
    )
    jobs: int | None = option(
        "-j, --jobs N",
        "Processes; each holds the vectors. Default 1; with --engine ray one for each CPU of "
        "the cluster.",
        panel=RUNNING,
        env=True,
        min=1,
    )
    progress: str = choice(
        "--progress auto|on|off",
        "A progress bar or counter on stderr; auto: only on a terminal.",
        "auto",
        panel=RUNNING,
        env=True,
    )
    verbose: bool = flag(
        "-v, --verbose",
        "Also print the privacy cost of the run and what it does not protect.",
        panel=RUNNING,
    )
    null_data: bool = flag("-z, --null-data", "Records end with NUL.", panel=RARE)
    text: bool = flag(
        "--text",
        "Read as text what does not look like it: NUL bytes, PDF, zip, HTML ...",
        panel=RARE,
    )
    invalid: str = choice(
        "--invalid replace|error",
        "Replace undecodable bytes by U+FFFD, or fail.",
        "replace",
        panel=RARE,
        env=True,
    )
    max_record: str = option(
        "--max-record SIZE", "Longest line accepted.", "16MiB", panel=RARE, env=True
    )
    engine: str = choice(
        "--engine local|ray",
        "ray: on a cluster, with -O; the same words under a seed.",
        "local",
        panel=RARE,
        env=True,
    )
    address: str | None = option(
        "--address ADDR",
        "With --engine ray: a running cluster; default: one on this machine, for this run.",
        panel=RARE,
        env=True,
    )
    seed: str | None = option(
        "--seed TEXT", "Repeatable output, for tests: NOT PRIVATE.", panel=RARE
    )
    line_buffered: bool = flag("--line-buffered", "Write every line at once.", panel=RARE)
