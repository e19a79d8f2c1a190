"""How ``dpsan study`` shows its lists, tables and records.

Knows columns and widths.  Must not know how a study is made.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from dpsan.cli import output
from dpsan.errors import printable

if TYPE_CHECKING:
    from dpsan.analysis.study.base import Result
    from dpsan.embeddings.base import Embeddings


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


def spare(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """What a narrow terminal does without: limits, then quantiles, then what is all the same."""
    back = range(len(columns) - 1, 0, -1)
    limits = [at for at in back if columns[at].endswith(("low", "high"))]
    quantiles = [at for at in back if columns[at].endswith(("_p5", "_p50", "_p95"))]
    same = [at for at in back if len(rows) > 1 and len({row[at] for row in rows}) == 1]
    return list(dict.fromkeys([*limits, *quantiles, *same]))


def print_table(result: Result, *, quiet: bool) -> None:
    """A table: on a terminal with a heading, else aligned columns for other programs."""
    rows = [[_cell(row.get(name)) for name in result.columns] for row in result.rows]
    columns = list(result.columns)
    if sys.stdout.isatty():
        from dpsan.analysis.study import find

        typer.secho(f"{result.name}: {find(result.name).summary}", bold=True)
        typer.echo(result.caption)
        columns = [name.replace("_", " ") for name in columns]
    numeric = {
        at
        for at, name in enumerate(result.columns)
        if all(isinstance(row.get(name), (int, float, type(None))) for row in result.rows)
    }
    left = output.print_table(columns, rows, numeric, spare(result.columns, rows))
    if not quiet:
        if left:
            names = ", ".join(left)
            output.say(f"too wide for this terminal: {names} (--csv and --json have them)")
        for note in result.notes:
            output.say(note)


def print_json(result: Result, vocabulary: Embeddings | None, seed: str, command: str) -> None:
    """The whole record, with what is needed to repeat it."""
    import orjson

    from dpsan.analysis.study.record import as_dict

    value = as_dict(result, vocabulary, seed, command)
    output.print_json(value, orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS)
