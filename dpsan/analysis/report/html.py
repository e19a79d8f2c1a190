"""The parts of every page: style, cards, tables with bars, charts; no script, nothing loaded."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from dpsan.analysis.report.sections import Cell, Section
from dpsan.outcomes.intervals import Share

_STYLE: Final = Path(__file__).parent / "page.css"


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
        f'<h1>{html.escape(title)}</h1><p class="soft">{html.escape(about)}</p>'
        f"{body}</body></html>\n"
    )


def figure(title: str, label: str, width: int, height: int, inner: str) -> str:
    """Return a chart with its title.

    Args:
        title: plain text.
        label: what it shows, for people who do not see it.
        inner: SVG.
    """
    return (
        f'<figure><h3>{html.escape(title)}</h3><svg viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{html.escape(label)}">{inner}</svg></figure>'
    )


def cards(values: Sequence[tuple[str, str]]) -> str:
    """(name, value) pairs of plain text in boxes."""
    return (
        '<div class="cards">'
        + "".join(
            f'<div class="card"><b>{html.escape(value)}</b><span>{html.escape(name)}</span></div>'
            for name, value in values
        )
        + "</div>"
    )


def warnings(texts: Sequence[str]) -> str:
    """Paragraphs of plain text that must not be overlooked."""
    return "".join(f'<p class="warn">{html.escape(each)}</p>' for each in texts)


def table(section: Section) -> str:
    """Return a section as a table that scrolls sideways, with a bar under each share."""
    body = "".join(
        "<tr>" + "".join(map(_cell, row, texts)) + "</tr>"
        for row, texts in zip(section.rows, section.texts(), strict=True)
    )
    return (
        '<div class="scroll"><table><tr>'
        + "".join(f"<th>{html.escape(head)}</th>" for head in section.columns)
        + f"</tr>{body}</table></div>"
        + "".join(f'<p class="soft">{html.escape(each)}</p>' for each in section.notes)
    )


def _cell(cell: Cell, text: str) -> str:
    if not isinstance(cell, Share) or cell.value is None:
        return f"<td>{html.escape(text)}</td>"
    # The rarest can be seen too.
    width = max(100 * cell.value, 1) if cell.hits else 0
    return f'<td class="share" style="--share:{width:.1f}%">{html.escape(text)}</td>'
