"""``dpsan mechanisms``."""

from __future__ import annotations

from typing import Annotated

import typer

__all__ = ["mechanisms"]


def mechanisms(
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON.")] = False,
) -> None:
    """List the mechanisms with the status of their guarantees."""
    import orjson

    from dpsan.mechanisms import mechanisms as listed

    if as_json:
        typer.echo(orjson.dumps(listed(), option=orjson.OPT_INDENT_2).decode())
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("name", "family", "epsilon in", "status", "what it is"):
        table.add_column(heading)
    for each in listed():
        table.add_row(
            each["name"], each["family"], each["epsilon_unit"], each["status"], each["summary"]
        )
    Console(width=None).print(table)
