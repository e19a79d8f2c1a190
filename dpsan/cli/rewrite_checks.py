"""What ``dpsan rewrite`` checks before it reads anything, and the table it ends with.

Knows option names and results.  Must not know how text is rewritten.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dpsan.cli.file_checks import known_files
from dpsan.cli.output import say
from dpsan.errors import OutputError, UsageError
from dpsan.formats.placing import stream_number
from dpsan.run.paths import plan_outputs
from dpsan.run.same_files import FileUses, Use
from dpsan.text.numerals import number

if TYPE_CHECKING:
    from dpsan.run.run import Result

__all__ = ["check_fields", "check_outputs", "file_uses", "states", "stopped", "table"]

State = tuple[int, int, int] | None
"""Device, inode and time of change; None where there is no file."""
States = dict[Path, State]


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


def states(inputs: list[Path], output_dir: Path | None, in_place: bool) -> States:
    """The files that a run writes one by one, as they are before it.

    Raises:
        UsageError: two inputs would have the same output.
    """
    from dpsan.run.paths import plan_outputs

    if in_place:
        return {path: _state(path) for path in inputs}
    return {} if output_dir is None else {p: _state(p) for p in plan_outputs(inputs, output_dir)}


def _state(path: Path) -> State:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns


def stopped(before: States, output: Path | None, in_place: bool, resume: bool) -> str:
    """What is complete when a signal ends a run, and how to go on.

    A file under its final name is complete, so the files themselves say which are.

    Args:
        before: of :func:`states`.
        output: the one output of all inputs, if there is one.
    """
    now = {path: _state(path) for path in before}
    done = [p for p in before if now[p] and (now[p] != before[p] or (resume and not in_place))]
    many = f"interrupted: {len(done)} of {len(before)} files"
    if in_place:
        rest = [path for path in before if path not in done]
        untouched = f", not {rest[0]} and what follows it" if rest else ""
        return f"{many} are rewritten{untouched} (go on there: a file rewritten twice costs twice)"
    if before:
        return f"{many} are complete (the same command with --resume goes on)"
    if output is not None and (output.is_file() or not output.exists()):
        return f"interrupted: {output} was not written (the same command begins again)"
    return (
        "interrupted: the output is not complete (discard it before you begin again: two rewrites "
        "cost twice)"
    )


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


def file_uses(
    inputs: list[Path],
    output: Path | None,
    output_dir: Path | None,
    in_place: bool,
    backup: str | None,
    resume: bool,
    audit: Path | None,
    keep: Path | None,
) -> FileUses:
    """All files of the run but the embeddings.

    Raises:
        UsageError: one is written to and also read, or written to twice.
    """
    uses = known_files()
    uses.add(Use.READ, "--keep", keep)
    for path in inputs:
        if path == Path("-"):
            uses.add_stream(Use.READ, "input", 0)
        else:
            uses.add(Use.WRITTEN if in_place else Use.READ, "input", path)
    if in_place and backup:
        uses.add(Use.WRITTEN, "backup", *(Path(f"{path}{backup}") for path in inputs))
    elif output_dir is not None:
        for target in plan_outputs(inputs, output_dir):
            there = resume and target.exists()
            uses.add(Use.STANDING if there else Use.WRITTEN, "output", target)
    elif output is not None:
        there = stream_number(output) is not None
        uses.add(Use.STANDING if there else Use.WRITTEN, "output", output)
    elif not in_place:
        uses.add_stream(Use.STANDING, "standard output", 1)
    uses.add(Use.WRITTEN, "--audit", audit)
    return uses


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
    if output is not None and output.is_file() and not force and stream_number(output) is None:
        # Again when it is written; told here before an audit is begun that would be in the way.
        raise OutputError(f"{output}: exists", "--force replaces it")
