"""The parts of every page: style, numbers, cards, bars, tables; no script, nothing loaded.

Knows HTML and SVG.  Must not know what is reported.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Final

__all__ = ["bars", "cards", "document", "figure", "table"]

_STYLE: Final = """
:root{color-scheme:light dark;--ink:#1c2430;--soft:#5b6675;--line:#d7dde5;--paper:#fff;
--card:#f6f8fa;--a:#2f6fb3;--b:#c77f1a;--c:#7a5aa8;--d:#b3382f;--ok:#1d7a46}
@media(prefers-color-scheme:dark){:root{--ink:#e4e8ee;--soft:#9aa5b4;--line:#343c48;--paper:#14181e;
--card:#1c222a;--a:#6aa9ea;--b:#e0a550;--c:#ae93dc;--d:#ef7d72;--ok:#62c48e}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.2rem;max-width:70rem;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.5rem;margin:.2rem 0}h2{font-size:1.15rem;margin:2.2rem 0 .3rem}
h3{font-size:.95rem;margin:0 0 .4rem}p{margin:.3rem 0}.soft{color:var(--soft)}
.warn{color:var(--d);font-weight:600}.ok{color:var(--ok);font-weight:600}
.cards{display:grid;gap:.7rem;margin:.9rem 0;
grid-template-columns:repeat(auto-fit,minmax(8.6rem,1fr))}
.card,figure{background:var(--card);border:1px solid var(--line);border-radius:.5rem;
padding:.7rem .8rem}
.card b{display:block;font-size:1.25rem;font-variant-numeric:tabular-nums}
.card span{color:var(--soft);font-size:.82rem}
.charts{display:grid;gap:.8rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr))}
figure{margin:0}figure.wide{grid-column:1/-1}svg{display:block;width:100%;height:auto}
svg text{fill:var(--soft);font:14px system-ui,sans-serif}
svg.broad{display:none}@media(min-width:48rem){svg.broad{display:block}svg.narrow{display:none}}
.scroll{overflow-x:auto;margin:.8rem 0}table{border-collapse:collapse;width:100%;font-size:.88rem}
th,td{text-align:right;padding:.3rem .6rem;border-bottom:1px solid var(--line);white-space:nowrap;
font-variant-numeric:tabular-nums}th{color:var(--soft);font-weight:600}
th:first-child,td:first-child{text-align:left;white-space:normal;min-width:9rem}
code{font:.82em ui-monospace,monospace}details{margin:.6rem 0}
"""


def document(title: str, about: str, body: str) -> str:
    """One self-contained HTML page.

    Args:
        title: plain text.
        about: plain text, one paragraph under the title.
        body: HTML.
    """
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{html.escape(title)}</title><style>{_STYLE}</style></head><body>"
        f'<h1>{html.escape(title)}</h1><p class="soft">{html.escape(about)}</p>'
        f"{body}</body></html>\n"
    )


def figure(title: str, label: str, *charts: tuple[str, int, int, str], wide: bool = False) -> str:
    """A figure of one chart, or of a narrow and a broad one: (class, width, height, inner)."""
    drawn = "".join(
        f'<svg class="{kind}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{html.escape(label)}">{inner}</svg>'
        for kind, width, height, inner in charts
    )
    return f'<figure class="{"wide" if wide else ""}"><h3>{title}</h3>{drawn}</figure>'


def cards(values: Sequence[tuple[str, str]]) -> str:
    """(name, value as HTML) pairs in boxes."""
    return (
        '<div class="cards">'
        + "".join(f'<div class="card"><b>{b}</b><span>{a}</span></div>' for a, b in values)
        + "</div>"
    )


def bars(rows: Sequence[tuple[str, str, Sequence[tuple[float, str]]]]) -> tuple[str, int, int, str]:
    """A chart of horizontal bars for :func:`figure`: (label, value, parts of 0 ... 1 with colour).

    Args:
        rows: labels and values are plain text; a colour is the name of a CSS variable.
    """
    out = []
    for at, (label, value, parts) in enumerate(rows):
        y = 14 + at * 40
        out.append(
            f'<text x="8" y="{y}">{html.escape(label)}</text>'
            f'<text x="452" y="{y}" text-anchor="end">{html.escape(value)}</text>'
            f'<rect x="8" y="{y + 6}" width="444" height="12" rx="3" fill="var(--line)"/>'
        )
        x = 8.0
        for share, colour in parts:
            width = max(444 * share, 2 if share else 0)  # the rarest can be seen
            out.append(
                f'<rect x="{x:.1f}" y="{y + 6}" width="{width:.1f}" height="12" rx="3" '
                f'fill="var({colour})"/>'
            )
            x += width
    return "", 460, 40 * len(rows), "".join(out)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table that scrolls sideways; all cells are plain text."""
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        '<div class="scroll"><table><tr>'
        + "".join(f"<th>{html.escape(head)}</th>" for head in heads)
        + f"</tr>{body}</table></div>"
    )
