"""Pages: style, conclusion, facts, tables with bars; no script, and nothing that is loaded."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from dpsan.analysis.pages.sections import Cell, Facts, Part, Section, Shown
from dpsan.outcomes.intervals import Estimate, Share

_STYLE: Final = Path(__file__).parent / "page.css"
_MANY: Final = 6
"""Columns above which a table needs a wide page."""


def document(title: str, about: str, body: str) -> str:
    """One self-contained HTML page.

    Args:
        title: plain text.
        about: plain text, one paragraph under the title.
        body: HTML.
    """
    style = _STYLE.read_text(encoding="utf-8")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>\n{style}</style></head><body>"
        f"<main><h1>{html.escape(title)}</h1>{_lines('p', [about], 'soft')}{body}</main>"
        "</body></html>\n"
    )


def page(title: str, results: Sequence[Shown]) -> str:
    """One self-contained HTML page of results.

    Args:
        title: plain text.
        results: at least one; the page is about what the first is about.
    """
    return document(title, results[0].about, "".join(map(_result, results)))


def _result(shown: Shown) -> str:
    style = f"verdict {'good' if shown.good else 'bad'}"
    return (
        "<section>"
        + _lines("h2", [shown.title])
        + _lines("p", [shown.conclusion], style)
        + _lines("p", shown.warnings, "warn")
        + "".join(map(_part, shown.filled()))
        + "</section>"
    )


def _part(part: Part) -> str:
    if isinstance(part, Section):
        return _table(part)
    head = _lines("h3", [part.heading])
    if isinstance(part, Facts):
        rows = "".join(
            f"<div><dt>{html.escape(name)}</dt><dd><b>{html.escape(value)}</b>"
            f"<span>{html.escape(meaning)}</span></dd></div>"
            for name, value, meaning in part.rows
        )
        return f'{head}<dl class="facts">{rows}</dl>'
    lines = _lines("p", part.lines, "warn") if part.loud else _lines("li", part.lines)
    below = f"<ul>{lines}</ul>" if lines and not part.loud else lines
    return head + _lines("p", [part.text]) + below


def _lines(tag: str, texts: Iterable[str], style: str = "") -> str:
    """Return lines of plain text, each an element of its own; nothing for an empty one."""
    start = f'<{tag} class="{style}">' if style else f"<{tag}>"
    return "".join(f"{start}{html.escape(text)}</{tag}>" for text in texts if text)


def _table(section: Section) -> str:
    """Return a section as a table with a bar under each share; rows are stacked where it is narrow.

    A table of many columns needs a wide page, so its rows are stacked earlier.
    """
    body = "".join(
        "<tr>" + "".join(map(_cell, section.columns, row, texts)) + "</tr>"
        for row, texts in zip(section.rows, section.texts(), strict=True)
    )
    head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in section.columns)
    wide = " wide" if len(section.columns) > _MANY else ""
    rows = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<table class="rows{wide}">{rows}</table>{_lines("p", section.notes, "soft")}'


def _cell(head: str, cell: Cell, text: str) -> str:
    start = f'<td data-head="{html.escape(head)}"'
    if not isinstance(cell, Share | Estimate) or cell.value is None:
        return f"{start}>{html.escape(text)}</td>"
    # The rarest can be seen too.
    width = max(100 * cell.value, 1) if cell.value else 0
    return f'{start} class="share" style="--share:{width:.1f}%">{html.escape(text)}</td>'
