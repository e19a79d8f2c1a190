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
        "Find the epsilon whose certified LDP epsilon is X, instead of --epsilon. X means "
        "the same for every mechanism.",
        panel=PRIVACY,
        env=True,
    )
    budget: float | None = option(
        "--budget X",
        "Stop before the epsilons of all draws exceed X. With --ledger, X limits the LDP "
        "epsilon of each record.",
        panel=PRIVACY,
        env=True,
    )
    memo: Path | None = option(
        "--memo DIR",
        "Draw each message once, and write its earlier output when it comes again. DIR is "
        "as sensitive as the input.",
        panel=PRIVACY,
        env=True,
    )
    ledger: Path | None = option(
        "--ledger FILE",
        "Add up in FILE what each record has cost over all runs. With --budget, refuse a "
        "record that would exceed it.",
        panel=PRIVACY,
        env=True,
    )
    recursive: bool = flag(
        "-r, --recursive",
        "Read all files below a directory, except hidden ones and links.",
        panel=INPUT,
    )
    spans: Path | None = option(
        "--spans FILE",
        "Draw only words that these spans touch (docs/formats.md). All other words pass: "
        "NOT PROTECTED.",
        panel=INPUT,
    )
    strip: bool = flag(
        "--strip",
        "Leave out what cannot be rewritten, such as attachments and metadata, instead of "
        "refusing the file.",
        panel=INPUT,
    )
    drop_other: bool = flag(
        "--drop-other",
        "Leave out the columns and fields that --field does not choose. By default they "
        "pass unchanged.",
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
    in_place: bool = flag("-i, --in-place", "Overwrite the input files.")
    backup: str | None = option(
        "--backup SUFFIX", "With -i: keep each original under its name plus SUFFIX."
    )
    audit: Path | None = option(
        "-a, --audit FILE",
        "Write one JSON row for each word. FILE is as sensitive as the input.",
        env=True,
    )
    audit_originals: bool = flag("--audit-originals", "Write the input words to the audit, too.")
    force: bool = flag("--force", "Replace existing files.")
    resume: bool = flag("--resume", "With -O: skip finished outputs.")
    dry_run: bool = flag(
        "-n, --dry-run",
        "Write nothing. Print the number of words, the privacy cost and three examples.",
    )
    copies: int = option(
        "--copies N",
        "Write N independent outputs of every record. They cost N times epsilon.",
        1,
        env=True,
        min=1,
    )
    jobs: int | None = option(
        "-j, --jobs N",
        "Number of processes. Each holds the vectors; with --engine ray, default one for each CPU.",
        panel=RUNNING,
        env=True,
        min=1,
    )
    progress: str = choice(
        "--progress auto|on|off",
        "Show progress on stderr; `auto` only on a terminal.",
        "auto",
        panel=RUNNING,
        env=True,
    )
    log_json: Path | None = option(
        "--log-json FILE",
        "Write a line of JSON for each input when it ends: path, status, records, words, epsilon, "
        "seconds.",
        panel=RUNNING,
    )
    verbose: bool = flag(
        "-v, --verbose",
        "Also print the privacy cost of the run and what it does not protect.",
        panel=RUNNING,
    )
    null_data: bool = flag(
        "-z, --null-data", "Records end with NUL instead of a newline.", panel=RARE
    )
    text: bool = flag(
        "--text",
        "Read a file as text although it looks like another format.",
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
        "--max-record SIZE", "Refuse longer records.", "16MiB", panel=RARE, env=True
    )
    engine: str = choice(
        "--engine local|ray",
        "`ray` runs on a cluster; it needs -O. The words under a seed are the same.",
        "local",
        panel=RARE,
        env=True,
    )
    address: str | None = option(
        "--address ADDR",
        "With --engine ray: address of a running cluster. Default: a cluster on this machine.",
        panel=RARE,
        env=True,
    )
    seed: str | None = option(
        "--seed TEXT", "Make the output repeatable, for tests. NOT PRIVATE.", panel=RARE
    )
    line_buffered: bool = flag("--line-buffered", "Write every line at once.", panel=RARE)
