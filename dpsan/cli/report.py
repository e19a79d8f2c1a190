"""``dpsan report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpsan.cli import options
from dpsan.cli.file_checks import check_files
from dpsan.cli.output import print_fields, print_json, say
from dpsan.errors import failure, printable
from dpsan.text.numerals import counted, number, percent

if TYPE_CHECKING:
    from dpsan.analysis.report import Report

__all__ = ["report"]


def report(
    audits: Annotated[list[Path], typer.Argument(metavar="AUDIT...", help="Files of --audit.")],
    as_json: options.Json = False,
    html: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write one page with charts.", show_default=False),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing FILE.")] = False,
) -> int:
    """Add up audit files, without any word of the text.

    dpsan report audit.jsonl
    """
    check_files(reads={"AUDIT": audits}, writes={"--html": html})
    from dpsan.analysis.report import read_audit

    reports: list[Report] = []
    failed = 0
    for path in audits:
        try:
            reports.append(read_audit(path))
        except Exception as error:  # noqa: BLE001 - one file's: the others go on
            failed += 1
            say(failure(path, error))
    if html is not None and reports:
        from dpsan.analysis.report.page import page
        from dpsan.formats.atomic_files import write_whole

        write_whole(html, page(reports).encode(), force=force)
    if as_json:
        print_json([each.as_json() for each in reports])
    elif html is None:
        for each in reports:
            _print(each)
    if failed and len(audits) > 1:
        say(f"{failed} of {len(audits)} files failed")
    return 1 if failed else 0


def _print(report: Report) -> None:
    from dpsan.analysis.report import ACTIONS  # numpy comes with it

    told = report.as_json()
    unit = f" ({told['epsilon_unit']})" if told["epsilon_unit"] else ""
    notes = [
        note
        for note, holds in (
            ("not finished", not told["complete"]),
            ("seeded: NOT PRIVATE", told["seeded"]),
            ("unknown words passed: NOT PRIVATE", told["passed"]),
        )
        if holds
    ]
    typer.echo(printable(report.path) + (f": {', '.join(notes)}" if notes else ""))
    if told["weak"]:
        typer.echo(f"  WEAK: {told['weak']}")
    counts = (f"{number(report.counts[action])} {action}" for action in ACTIONS)
    each = told["per"]
    rows = [
        ("mechanism", f"{told['mechanism']} ({told['status']})"),
        (f"epsilon per {each}", f"{number(told['epsilon'])}{unit}; LDP {_cost(told)}"),
        ("expected to stay the same", percent(told["expected_unchanged"])),
        ("words", f"{number(told['words'])}: {', '.join(counts)}"),
        ("epsilon, all draws", number(told["epsilon_sum"])),
        ("largest record, all copies", f"LDP {_cost(told['largest_record'])}"),
        ("largest file, all copies", f"LDP {_cost(told['largest_file'])}"),
        (
            "epsilon per record, 5/50/95 %/largest",
            " / ".join(map(number, told["epsilon_per_record"].values())),
        ),
    ]
    if report.copies > 1:
        rows.insert(2, ("copies of every record", number(report.copies)))
    print_fields(rows)
    for file in told["files"]:
        records = counted(file["records"], "record") if file["finished"] else "not finished"
        name = printable(file["name"] or f"input {file['file']}")
        epsilon = number(file["epsilon_sum"])
        typer.echo(f"  {name}: {records}, {counted(file['words'], 'word')}, epsilon {epsilon}")
        if file["finished"]:
            typer.echo(f"    output {file['output_sha256']}")
    typer.echo(f"  not protected: {'; '.join(told['not_protected'])}")


def _cost(told: dict[str, Any]) -> str:
    delta = f", delta {number(told['delta'])}" if told["delta"] else ""
    return f"epsilon {number(told['epsilon_ldp'])}{delta}"
