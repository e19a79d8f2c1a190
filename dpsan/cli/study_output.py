"""How ``dpsan study`` shows its lists, tables and records.

Knows columns and widths.  Must not know how a study is made.
"""

from __future__ import annotations

import shutil
import sys
from typing import TYPE_CHECKING, Any

import typer

from dpsan.cli import output
from dpsan.errors import printable

if TYPE_CHECKING:
    from dpsan.analysis.study.base import Result
    from dpsan.embeddings.base import Embeddings

__all__ = ["fitting", "print_json", "print_list", "print_table"]


def print_list() -> None:
    """The studies there are."""
    from dpsan.analysis.study import STUDIES

    rows = [(name, entry.summary, entry.source) for name, entry in STUDIES.items()]
    output.print_table(("name", "what it shows", "source"), rows)


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
    columns, kept = list(result.columns), list(range(len(result.columns)))
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        kept = fitting(result.columns, rows, width)
        columns = [name.replace("_", " ") for name in columns]
        from dpsan.analysis.study import find

        title = f"{result.name}: {find(result.name).summary}"
        typer.secho(printable(title), bold=True)
        typer.echo(result.caption)
    numeric = {
        at
        for at, place in enumerate(kept)
        if all(
            isinstance(row.get(result.columns[place]), (int, float, type(None)))
            for row in result.rows
        )
    }
    shown = [[row[place] for place in kept] for row in rows]
    output.print_table([columns[place] for place in kept], shown, right=numeric)
    if len(kept) < len(columns) and not quiet:
        left = [name for at, name in enumerate(result.columns) if at not in kept]
        output.say(f"too wide for this terminal: {', '.join(left)} (--csv and --json have them)")
    if not quiet:
        for note in result.notes:
            output.say(note)


def print_json(result: Result, vocabulary: Embeddings | None, seed: str, command: str) -> None:
    """The whole record, with what is needed to repeat it."""
    import orjson

    from dpsan.analysis.study.record import as_dict

    value = as_dict(result, vocabulary, seed, command)
    output.print_json(value, orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
