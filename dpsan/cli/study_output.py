"""How ``dpsan study`` shows its lists, tables and records.

Knows rich and orjson.  Must not know how a study is made.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import typer

from dpsan.cli.guard import say
from dpsan.errors import printable

if TYPE_CHECKING:
    from dpsan.analysis.study.base import Result
    from dpsan.embeddings.base import Embeddings

__all__ = ["fitting", "print_json", "print_list", "print_table"]


def print_list() -> None:
    """The studies there are."""
    from rich.console import Console
    from rich.table import Table

    from dpsan.analysis.study import STUDIES

    table = Table(box=None, pad_edge=False, expand=False)
    table.add_column("name", no_wrap=True)
    table.add_column("what it shows")
    table.add_column("source")
    for name, entry in STUDIES.items():
        table.add_row(name, entry.summary, entry.source.replace("[", r"\["))
    Console().print(table)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else printable(str(value))


def fitting(columns: tuple[str, ...], rows: list[list[str]], width: int) -> list[int]:
    """Which columns fit: limits go first, then quantiles, then what is the same in all rows."""
    widths = [
        max(len(name), *(len(row[at]) for row in rows)) if rows else len(name)
        for at, name in enumerate(columns)
    ]
    kept = list(range(len(columns)))

    def same(at: int) -> bool:
        return len(rows) > 1 and len({row[at] for row in rows}) == 1

    for given_up in (
        lambda at: columns[at].endswith(("low", "high")),
        lambda at: columns[at].endswith(("_p5", "_p50", "_p95")),
        same,
    ):
        for at in reversed(kept):
            if sum(widths[each] + 2 for each in kept) - 2 <= width:
                return kept
            if at > 0 and given_up(at):
                kept = [each for each in kept if each != at]
    return kept


def print_table(result: Result, *, quiet: bool) -> None:
    """A table: on a terminal with a heading, else aligned columns for other programs."""
    rows = [[_cell(row.get(name)) for name in result.columns] for row in result.rows]
    numeric = [
        all(isinstance(row.get(name), (int, float, type(None))) for row in result.rows)
        for name in result.columns
    ]
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markup import escape
        from rich.table import Table

        console = Console(highlight=False)
        kept = fitting(result.columns, rows, console.width)
        table = Table(box=None, pad_edge=False, expand=False)
        for place in kept:
            side: Any = "right" if numeric[place] else "left"
            table.add_column(result.columns[place].replace("_", " "), justify=side)
        for row in rows:
            table.add_row(*(escape(row[place]) for place in kept))
        console.print(f"[bold]{escape(printable(f'{result.name}: {result.source}'))}[/bold]")
        console.print(escape(result.caption))
        console.print(table)
        if len(kept) < len(result.columns) and not quiet:
            left = [name for at, name in enumerate(result.columns) if at not in kept]
            say(f"too wide for this terminal: {', '.join(left)} (--csv and --json have them)")
    else:
        table_rows = [list(result.columns), *rows]
        widths = [max(map(len, column)) for column in zip(*table_rows, strict=True)]
        for row in table_rows:
            cells = zip(row, widths, numeric, strict=True)
            line = "  ".join(
                cell.rjust(width) if right else cell.ljust(width) for cell, width, right in cells
            )
            typer.echo(line.rstrip())
    if not quiet:
        for note in result.notes:
            say(note)


def print_json(result: Result, vocabulary: Embeddings | None, seed: str, command: str) -> None:
    """The whole record, with what is needed to repeat it."""
    import orjson

    from dpsan.analysis.study.record import as_dict

    value = as_dict(result, vocabulary, seed, command)
    option = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
    typer.echo(orjson.dumps(value, option=option).decode())
