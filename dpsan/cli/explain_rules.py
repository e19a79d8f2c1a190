"""Which rule of ``--only`` drew each token of a text, for ``dpsan explain --only``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import typer

from dpsan.cli.output import print_table
from dpsan.errors import printable

if TYPE_CHECKING:
    from dpsan.sanitize.explained import TokenReason

_COLUMNS: Final = ("token", "label", "class", "group", "rule", "why")


def show(texts: Iterable[list[TokenReason]]) -> None:
    """Print a table for each text: by which rule a token is drawn, or by which list it passes."""
    for position, tokens in enumerate(texts):
        if position:
            typer.echo()
        rows = [
            tuple(
                printable(cell) for cell in (*token[:2], token.word_class or "-", *_reason(token))
            )
            for token in tokens
        ]
        print_table(_COLUMNS, rows, spare=[1])


def _reason(token: TokenReason) -> tuple[str, str, str]:
    """Return group, rule and reason as they are shown."""
    if token.passes is None:
        return token.group or "", token.rule or "", token.why or ""
    kind, _, name = token.passes.partition(" ")
    return "passes", name if kind == "rule" else "-", token.why or token.passes
