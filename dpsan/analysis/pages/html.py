"""The parts of every page: style, verdict, facts, tables with bars, charts; no script."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dpsan.analysis.pages.sections import Cell, Section
from dpsan.outcomes.intervals import Share

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
        f'<main><h1>{html.escape(title)}</h1><p class="soft">{html.escape(about)}</p>'
        f"{body}</main></body></html>\n"
    )


def verdict(text: str, *, good: bool) -> str:
    """Return the sentence that a page begins with, as plain text.

    Args:
        text: the sentence.
        good: False for a warning.
    """
    return f'<p class="verdict {"good" if good else "bad"}">{html.escape(text)}</p>'


def facts(rows: Sequence[tuple[str, str, str]]) -> str:
    """Return names and values of plain text, each with one line on what it means."""
    lines = (
        f"<div><dt>{html.escape(name)}</dt><dd><b>{html.escape(value)}</b>"
        f"<span>{html.escape(meaning)}</span></dd></div>"
        for name, value, meaning in rows
    )
    return f'<dl class="facts">{"".join(lines)}</dl>'


def heading(text: str, level: int = 3) -> str:
    """Return a heading: 2 for a section of the page, 3 below it."""
    return f"<h{level}>{html.escape(text)}</h{level}>"


def listing(items: Sequence[str]) -> str:
    """Return lines of plain text as a list; nothing for none."""
    lines = "".join(f"<li>{html.escape(each)}</li>" for each in items)
    return f"<ul>{lines}</ul>" if lines else ""


def warnings(texts: Sequence[str]) -> str:
    """Paragraphs of plain text that must not be overlooked."""
    return "".join(f'<p class="warn">{html.escape(each)}</p>' for each in texts)


def table(section: Section) -> str:
    """Return a section as a table with a bar under each share; rows are stacked where it is narrow.

    A table of many columns needs a wide page, so its rows are stacked earlier.
    """
    body = "".join(
        "<tr>" + "".join(map(_cell, section.columns, row, texts)) + "</tr>"
        for row, texts in zip(section.rows, section.texts(), strict=True)
    )
    head = "".join(f'<th scope="col">{html.escape(each)}</th>' for each in section.columns)
    notes = "".join(f'<p class="soft">{html.escape(each)}</p>' for each in section.notes)
    wide = " wide" if len(section.columns) > _MANY else ""
    rows = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<table class="rows{wide}">{rows}</table>{notes}'


def _cell(head: str, cell: Cell, text: str) -> str:
    start = f'<td data-head="{html.escape(head)}"'
    if not isinstance(cell, Share) or cell.value is None:
        return f"{start}>{html.escape(text)}</td>"
    # The rarest can be seen too.
    width = max(100 * cell.value, 1) if cell.hits else 0
    return f'{start} class="share" style="--share:{width:.1f}%">{html.escape(text)}</td>'
