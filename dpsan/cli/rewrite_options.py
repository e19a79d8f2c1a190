"""The options of ``dpsan rewrite``, a class for each heading of the help.

Only the last class is made to have objects: making the others so would take time at each start.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from dpsan.cli.command import argument, choice, flag, option
from dpsan.cli.options import Container
from dpsan.cli.sanitizing import Sanitizing
from dpsan.cli.tree import INPUT, OUTPUT, PRIVACY, RARE, RUNNING


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class _Costs(Container, Sanitizing):
    """Inputs, and what their privacy may cost."""

    panel: ClassVar = PRIVACY
    variables: ClassVar = "budget memo ledger"

    files: list[Path] | None = argument("[FILE]...", "Default or -: stdin.", None)
    budget: float | None = option(
        "--budget X",
        "Stop before the epsilons of all draws exceed X. With --ledger, X limits the LDP "
        "epsilon of each record.",
    )
    memo: Path | None = option(
        "--memo DIR",
        "Draw each message once, and write its earlier output when it comes again. DIR is "
        "as sensitive as the input.",
    )
    ledger: Path | None = option(
        "--ledger FILE",
        "Add up in FILE what each record has cost over all runs. With --budget, refuse a "
        "record that would exceed it.",
    )


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class _Reading(_Costs):
    """Options for what of the inputs is read and drawn."""

    panel: ClassVar = INPUT

    recursive: bool = flag(
        "-r, --recursive", "Read all files below a directory, except hidden ones and links."
    )
    spans: Path | None = option(
        "--spans FILE",
        "Draw only words that these spans touch (docs/formats.md), or with --only, these too, from "
        "the group of their type. All other words pass: NOT PROTECTED.",
    )
    strip: bool = flag(
        "--strip",
        "Leave out what cannot be rewritten, such as attachments and metadata, instead of "
        "refusing the file.",
    )
    drop_other: bool = flag(
        "--drop-other",
        "Leave out the columns and fields that --field does not choose. By default they "
        "pass unchanged.",
    )
    bad_records: Path | None = option(
        "--bad-records FILE",
        "Write unreadable or over-budget records to FILE and continue. FILE is as sensitive as "
        "the input.",
    )


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class _Writing(_Reading):
    """Options for what is written."""

    panel: ClassVar = OUTPUT
    variables: ClassVar = "audit copies"

    output: Path | None = option("-o, --output FILE", "Write to FILE.")
    output_dir: Path | None = option(
        "-O, --output-dir DIR", "Write each file below DIR, keeping the tree."
    )
    in_place: bool = flag("-i, --in-place", "Overwrite the input files.")
    audit: Path | None = option(
        "-a, --audit FILE", "Write one JSON row for each word. FILE is as sensitive as the input."
    )
    audit_originals: bool = flag("--audit-originals", "Write the input words to the audit, too.")
    map_: Path | None = option(
        "--map FILE",
        "With --only: write what each replacement stands for, so that 'dpsan restore' can put it "
        "back. FILE is as sensitive as the input.",
    )
    unit_field: str | None = option(
        "--unit-field NAME",
        "With --map: the column or JSON path that names a record's unit. Default: file and line.",
    )
    review: Path | None = option(
        "--review FILE",
        "With --only: write each different word with its count and the list or rule by which it "
        "passed or was replaced, for a reviewer. FILE is as sensitive as the input.",
    )
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
        min=1,
    )


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class _Running(_Writing):
    """Options for how a run works and what it reports."""

    panel: ClassVar = RUNNING
    variables: ClassVar = "jobs"

    jobs: int | None = option(
        "-j, --jobs N",
        "Number of processes. Each holds the vectors; with --engine ray, default one for each CPU.",
        min=1,
    )
    log_json: Path | None = option(
        "--log-json FILE",
        "Write a line of JSON for each input when it ends: path, status, records, words, epsilon, "
        "seconds.",
    )
    verbose: bool = flag(
        "-v, --verbose", "Also print the privacy cost of the run and what it does not protect."
    )


@dataclass(frozen=True, kw_only=True)
class RewriteOptions(_Running):
    """Options of ``rewrite``."""

    panel: ClassVar = RARE
    variables: ClassVar = "invalid engine address"

    invalid: str = choice(
        "--invalid replace|error", "Replace undecodable bytes by U+FFFD, or fail.", "replace"
    )
    engine: str = choice(
        "--engine local|ray",
        "`ray` runs on a cluster; it needs -O. The words under a seed are the same.",
        "local",
    )
    address: str | None = option(
        "--address ADDR",
        "With --engine ray: address of a running cluster. Default: a cluster on this machine.",
    )
    seed: str | None = option("--seed TEXT", "Make the output repeatable, for tests. NOT PRIVATE.")
    line_buffered: bool = flag("--line-buffered", "Write every line at once.")
