"""The parts of every page: style, cards, tables with bars, charts; no script, nothing loaded.

Knows HTML and SVG.  Must not know what is reported.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Final

from dpsan.analysis.report.sections import Cell, Section
from dpsan.outcomes.intervals import Share

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
td.share{min-width:10rem;
background:linear-gradient(var(--a),var(--a)) no-repeat 0 100%/var(--share) 4px}
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
    """A figure of one chart, or of a narrow and a broad one.

    Args:
        title: plain text.
        label: what it shows, for readers who do not see it.
        charts: (class, width, height, inner SVG) of each.
        wide: takes a whole row of the page.
    """
    drawn = "".join(
        f'<svg class="{kind}" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{html.escape(label)}">{inner}</svg>'
        for kind, width, height, inner in charts
    )
    shown = html.escape(title)
    return f'<figure class="{"wide" if wide else ""}"><h3>{shown}</h3>{drawn}</figure>'


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
    """A section as a table that scrolls sideways, with a bar under each share."""
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
