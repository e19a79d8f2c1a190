"""Print messages on standard error, and JSON and tables on standard output."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

import typer

from dpsan.errors import failure, printable

if TYPE_CHECKING:
    from dpsan.analysis.pages.sections import Shown

Result = TypeVar("Result")

# Headings of the help.
PRIVACY: Final = "Privacy"
INPUT: Final = "Input"
OUTPUT: Final = "Output"
RUNNING: Final = "Running"
RARE: Final = "Rarely needed"

_ROWS: Final = (Path(__file__).parent / "dropped.tsv").read_text("utf-8").splitlines()[1:]
DROPPED: Final = {
    name: hint for row in _ROWS for names, hint in [row.split("\t")] for name in names.split("|")
}
"""By the word, or the option and its value, as it was typed."""
_WIDTH: Final = 80
"""Columns of lines that are wrapped wherever they are printed."""


def say(message: str) -> None:
    """One line on stderr, whatever a file's name holds; silent when nobody can read it."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"dpsan: {printable(message)}\n")
        sys.stderr.flush()


def results(
    paths: Sequence[Path | None], read: Callable[[Any], Result]
) -> tuple[list[Result], bool]:
    """Return the results of files, and whether one failed, which is said; None: the bundled one."""
    out: list[Result] = []
    for path in paths:
        try:
            out.append(read(path))
        except Exception as error:  # noqa: BLE001 - one file's: the others go on
            say(failure(path or "bundled vocabulary", error))
    failed = len(paths) - len(out)
    if failed and len(paths) > 1:
        say(f"{failed} of {len(paths)} files failed")
    return out, failed > 0


def echo(text: str) -> None:
    """Print a line on standard output; a terminal that cannot show a character gets its number."""
    encoding = sys.stdout.encoding or "utf-8"
    typer.echo(text.encode(encoding, "backslashreplace").decode(encoding))


def print_json(value: object, option: int = 0) -> None:
    """A value as indented JSON on standard output; ``option``: more flags of orjson."""
    import orjson

    typer.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2 | option).decode())


def aligned(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Lines of a table with its columns under each other; those in ``right`` end together."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Collection[int] = (),
) -> None:
    """Print a table on standard output, one line a row; on a terminal wrapped to its width.

    Args:
        columns: headings; empty for a table without.
        rows: cells.
        right: columns whose cells end together.
    """
    if not sys.stdout.isatty():
        for line in aligned([columns, *rows] if columns else rows, right):
            echo(line)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", show_header=bool(columns))
    for at in range(len(columns or rows[0])):
        name = Text(columns[at]) if columns else ""
        side: Literal["right", "left"] = "right" if at in right else "left"
        table.add_column(name, justify=side, no_wrap=not columns and at == 0)
    for row in rows:
        table.add_row(*map(Text, row))
    Console(highlight=False).print(table)


def print_prose(text: str, indent: str = "") -> None:
    """Paragraphs of a docstring on standard output; on a terminal wrapped to its width."""
    text = text.replace("``", "")
    if sys.stdout.isatty():
        from shutil import get_terminal_size

        width = max(get_terminal_size().columns - len(indent), 20)
        parts = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
        text = "\n\n".join(fill(part, width, break_on_hyphens=False) for part in parts)
    for line in text.splitlines():
        echo(indent + line if line else "")


def print_result(shown: Shown, *, again: bool = False) -> None:
    """All parts of a result on standard output; ``again``: below those of another one."""
    from dpsan.analysis.pages.sections import Facts, Prose, Section  # heavy import

    print_prose("\n" * again + (shown.title or shown.about))
    for at, part in enumerate(shown.filled()):
        if at or shown.title or shown.about:
            echo("")
        if isinstance(part, Section):
            print_table(part.columns, part.texts(), part.right())
        elif part.heading:
            typer.secho(part.heading, bold=True)
        if isinstance(part, Prose) and part.text:
            print_prose(part.text, "  ")
        if isinstance(part, Facts):
            room = _WIDTH - 4 - max(len(name) for name, *_ in part.rows)
            lines = [
                (f"  {name * (not at)}", line)
                for name, value, _ in part.rows
                for at, line in enumerate(wrap(value, room) or [""])
            ]
            print_table((), lines)
            continue
        for line in part.notes if isinstance(part, Section) else part.lines:
            echo(fill(printable(line), _WIDTH, initial_indent="  ", subsequent_indent="    "))
    if shown.conclusion:
        echo(f"\n{fill(shown.conclusion, _WIDTH)}")
