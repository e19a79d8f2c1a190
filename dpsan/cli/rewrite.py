"""``dpsan rewrite``: its options.

Knows names, help texts and environment variables.  Must not know what options do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dpsan.cli import options
from dpsan.cli.completion import choices
from dpsan.cli.rewrite_request import Request
from dpsan.cli.rewrite_run import carry_out

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
            rich_help_panel=options.RARE,
        ),
    ] = "unicode",
    allow_unproved: options.Unproved = False,
    format_: options.Format = "auto",
    field: options.Field = None,
    no_header: options.NoHeader = False,
    null_data: Annotated[
        bool,
        typer.Option(
            "--null-data", "-z", help="Records end with NUL.", rich_help_panel=options.RARE
        ),
    ] = False,
    text: Annotated[
        bool,
        typer.Option(
            "--text",
            help="Read as text what does not look like it: NUL bytes, PDF, zip, HTML ...",
            rich_help_panel=options.RARE,
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
            rich_help_panel=options.RARE,
        ),
    ] = "replace",
    max_record: Annotated[
        str,
        typer.Option(
            metavar="SIZE",
            help="Longest line accepted.",
            envvar="DPSAN_MAX_RECORD",
            rich_help_panel=options.RARE,
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
    engine: Annotated[
        str,
        typer.Option(
            metavar="local|ray",
            autocompletion=choices("local", "ray"),
            help="ray: on a cluster, with -O; the same words under a seed.",
            envvar="DPSAN_ENGINE",
            rich_help_panel=options.RARE,
        ),
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(
            metavar="ADDR",
            help="With --engine ray: a running cluster; default: one on this machine, for this "
            "run.",
            envvar="DPSAN_ADDRESS",
            rich_help_panel=options.RARE,
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Repeatable output, for tests: NOT PRIVATE.",
            rich_help_panel=options.RARE,
        ),
    ] = None,
    line_buffered: Annotated[
        bool,
        typer.Option(
            "--line-buffered", help="Write every line at once.", rich_help_panel=options.RARE
        ),
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
    return carry_out(Request(**locals()))  # one field for each parameter
