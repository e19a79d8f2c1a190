"""``dpsan report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dpsan.cli import options
from dpsan.cli.file_checks import check_files
from dpsan.cli.guard import say
from dpsan.errors import failure, printable

if TYPE_CHECKING:
    from dpsan.report import Report

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
    from dpsan.report import read_audit

    reports: list[Report] = []
    failed = 0
    for path in audits:
        try:
            reports.append(read_audit(path))
        except Exception as error:  # noqa: BLE001 - one file's: the others go on
            failed += 1
            say(failure(path, error))
    if html is not None and reports:
        from dpsan.files import AtomicFile
        from dpsan.report.page import page

        sink = AtomicFile(html, force=force)
        try:
            sink.write(page(reports).encode())
            sink.commit()
        finally:
            sink.discard()
    if as_json:
        import orjson

        rows = [each.as_json() for each in reports]
        typer.echo(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode())
    elif html is None:
        for each in reports:
            _print(each)
    if failed and len(audits) > 1:
        say(f"{failed} of {len(audits)} files failed")
    return 1 if failed else 0


def _print(report: Report) -> None:
    told = report.as_json()
    unit = f" ({told['epsilon_unit']})" if told["epsilon_unit"] else ""
    lines = told["epsilon_per_line"]
    ldp = "infinite" if told["epsilon_ldp"] is None else f"{told['epsilon_ldp']:.6g}"
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
    rows = [
        ("mechanism", f"{told['mechanism']} ({told['status']})"),
        ("epsilon per word", f"{told['epsilon']:.6g}{unit}; LDP epsilon {ldp}"),
        (
            "words",
            f"{told['words']}: {told['replaced']} replaced, {told['unknown']} unknown, "
            f"{told['kept']} kept, {told['passed']} passed",
        ),
        ("epsilon, all draws", f"{told['epsilon_sum']:.6g}"),
        (
            "epsilon per line, 5/50/95 %/largest",
            " / ".join(f"{value:.6g}" for value in lines.values()),
        ),
    ]
    for name, value in rows:
        typer.echo(f"  {name:<36} {value}")
    for each in told["files"]:
        records = f"{each['records']} records" if each["finished"] else "not finished"
        name = printable(each["name"] or f"input {each['file']}")
        typer.echo(f"  {name}: {records}, {each['words']} words, epsilon {each['epsilon_sum']:.6g}")
        if each["finished"]:
            typer.echo(f"    input  {each['input_sha256']}\n    output {each['output_sha256']}")
