"""What ``dpsan rewrite`` checks before it reads anything, and the table it ends with.

Knows option names and results.  Must not know how text is rewritten.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpsan.cli.guard import say
from dpsan.errors import OutputError, UsageError
from dpsan.numerals import number

if TYPE_CHECKING:
    from dpsan.run import Result

__all__ = ["check_fields", "check_outputs", "table"]


def table(result: Result) -> None:
    """One line for each file, in columns, on stderr."""
    rows = [("records", "words", "drawn", "unknown", "kept", "epsilon", "file")]
    for name, outcome in result.each:
        if isinstance(outcome, str):
            rows.append((outcome, "", "", "", "", "", name))
            continue
        totals = outcome.totals
        counts = {str(action): count for action, count in totals.counts.items()}
        rows.append(
            (
                number(totals.records),
                number(totals.words),
                number(totals.draws),
                number(counts["unknown"] + counts["masked"] + counts["passed"]),
                number(counts["kept"]),
                number(totals.epsilon_sum),
                name,
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(6)]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row, widths, strict=False)]
        say("  ".join((*cells, row[6])))


def check_fields(
    inputs: list[Path],
    format_: str,
    fields: list[str] | None,
    *,
    no_header: bool,
    null_data: bool,
) -> None:
    """Formats and fields that cannot go together, told before anything is read."""
    from dpsan.formats.fields import parse_field
    from dpsan.formats.registry import format_name

    formats = {format_name(format_, str(path)) for path in inputs}
    stdin = Path("-") in inputs and format_ == "auto"
    if fields:
        if formats == {"text"}:
            hint = "-f jsonl, csv, tsv or parquet has"
            raise UsageError(
                "standard input does not tell its format" if stdin else "text has no --field", hint
            )
        if formats <= {"jsonl"}:
            for each in fields:
                parse_field(each)
    elif formats == {"jsonl"}:
        raise UsageError("jsonl needs --field", "such as --field text")
    if no_header and not formats & {"csv", "tsv"}:
        raise UsageError("--no-header is for csv and tsv")
    if null_data and formats & {"csv", "tsv", "parquet"}:
        raise UsageError("-z is for text and jsonl")


def check_outputs(
    inputs: list[Path],
    output: Path | None,
    output_dir: Path | None,
    in_place: bool,
    backup: str | None,
    resume: bool,
    audit_originals: bool,
    audit: Path | None,
    force: bool,
) -> None:
    """Combinations that make no sense, told before anything is read or written."""
    if sum((output is not None, output_dir is not None, in_place)) > 1:
        raise UsageError("-o, -O and -i exclude each other")
    if (output_dir or in_place) and Path("-") in inputs:
        raise UsageError("-O and -i need files, not standard input")
    if backup is not None and not in_place:
        raise UsageError("--backup needs -i")
    if backup is not None and (not backup or "/" in backup):
        raise UsageError("--backup must be a suffix such as .orig")
    if resume and output_dir is None:
        raise UsageError("--resume needs -O")
    if audit_originals and audit is None:
        raise UsageError("--audit-originals needs --audit FILE")
    if resume and audit is not None and audit.is_file() and not force:
        hint = "name another: dpsan report adds several up; --force replaces it"
        raise OutputError(f"{audit}: exists, and holds what was done so far", hint)
    same = (
        output is not None
        and output.is_file()
        and any(each.exists() and each.samefile(output) for each in inputs)
    )
    if output is not None and output.is_file() and not force and not same:
        # Again when it is written; told here before an audit is begun that would be in the way.
        raise OutputError(f"{output}: exists", "--force replaces it")
