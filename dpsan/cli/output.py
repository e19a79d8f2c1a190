"""What commands print for people: messages on standard error, JSON and tables on standard output.

Knows terminals and pipes.  Must not know what is printed.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Collection, Sequence

import typer

from dpsan.errors import printable

__all__ = ["aligned", "print_fields", "print_json", "print_table", "say"]


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


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], right: Collection[int] = ()
) -> None:
    """A table on standard output: wrapped by a terminal's width, one line a row elsewhere."""
    if not sys.stdout.isatty():
        for line in aligned([columns, *rows], right):
            typer.echo(line)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for at, name in enumerate(columns):
        table.add_column(Text(name), justify="right" if at in right else "left")
    for row in rows:
        table.add_row(*map(Text, row))
    Console(highlight=False).print(table)


def print_fields(rows: Sequence[tuple[str, str]]) -> None:
    """Names and values on standard output, indented, under each other."""
    for line in aligned(rows):
        typer.echo(f"  {line}")
