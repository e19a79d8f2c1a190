"""Print messages on standard error, and JSON and tables on standard output."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

import typer

from dpsan.errors import printable

if TYPE_CHECKING:
    from dpsan.analysis.pages.sections import Section


def say(message: str) -> None:
    """One line on stderr, whatever a file's name holds; silent when nobody can read it."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"dpsan: {printable(message)}\n")
        sys.stderr.flush()


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


def fitting(rows: Sequence[Sequence[str]], spare: Iterable[int], width: int) -> list[int]:
    """Return the columns of a table that is to be at most so wide; the spare ones go first, in
    order.
    """
    widths = [max(map(len, column)) + 2 for column in zip(*rows, strict=True)]
    kept = list(range(len(widths)))
    for at in spare:
        if sum(widths[each] for each in kept) - 2 > width:
            kept.remove(at)
    return kept


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    right: Collection[int] = (),
    spare: Iterable[int] = (),
) -> list[str]:
    """Return a table on standard output, one line a row; on a terminal wrapped to its width.

    Args:
        columns: headings; empty for a table without.
        rows: cells.
        right: columns whose cells end together.
        spare: columns that a narrow terminal does without, the first ones first.

    Returns:
        The columns that were left out.
    """
    cells = [columns, *rows] if columns else rows
    if not sys.stdout.isatty():
        for line in aligned(cells, right):
            typer.echo(line)
        return []
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(highlight=False)
    kept = fitting(cells, spare, console.width)
    table = Table(box=None, pad_edge=False, header_style="bold", show_header=bool(columns))
    for at in kept:
        name = Text(columns[at]) if columns else ""
        side: Literal["right", "left"] = "right" if at in right else "left"
        table.add_column(name, justify=side, no_wrap=not columns and at == 0)
    for row in rows:
        table.add_row(*(Text(row[at]) for at in kept))
    console.print(table)
    return [name for at, name in enumerate(columns) if at not in kept]


def print_prose(text: str, indent: str = "") -> None:
    """Paragraphs of a docstring on standard output; on a terminal wrapped to its width."""
    text = text.replace("``", "")
    lines = text.splitlines()
    if sys.stdout.isatty():
        import shutil
        import textwrap

        width = shutil.get_terminal_size().columns - len(indent)
        lines = []
        for paragraph in text.split("\n\n"):
            one = " ".join(paragraph.split())
            lines += [*textwrap.wrap(one, max(width, 20), break_on_hyphens=False), ""]
        lines.pop()
    for line in lines:
        typer.echo(indent + line if line else "")


def print_sections(sections: Iterable[Section]) -> None:
    """Tables on standard output, each below an empty line, with their notes."""
    for section in sections:
        typer.echo("")
        cells = [(at, cell) for row in section.rows for at, cell in enumerate(row)]
        numbers = {at for at, cell in cells if at and not isinstance(cell, str)}
        print_table(section.columns, section.texts(), right=numbers)
        for note in section.notes:
            typer.echo(f"  {printable(note)}")


def print_fields(rows: Sequence[tuple[str, str]]) -> None:
    """Names and values on standard output, indented, under each other."""
    print_table((), [(f"  {name}", value) for name, value in rows])


def cosine_and_bound(achieved: float, bound: float) -> str:
    """Describe a mean cosine, and the bound for every mechanism of this epsilon."""
    most = math.ceil(bound * 10_000) / 10_000  # a bound is never rounded down
    return f"{achieved:.4f}; with this LDP epsilon no more than {most:.4f} is possible"
