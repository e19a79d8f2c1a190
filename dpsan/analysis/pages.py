"""Parts of a command's result, which the terminal and a page show alike, and the HTML builder.

Pages have no script and load nothing.  A verdict comes first, then what passed unchanged, then
figures with what they mean, parameters last.  Must not know what a command measures.
"""

import html
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, Final

from dpsan.errors import number, printable
from dpsan.outcomes.intervals import Estimate, Share
from dpsan.sanitize.accountant import RANDOM


@dataclass(frozen=True, slots=True)
class Bar:
    """A cell with a bar below it, on a page."""

    text: str
    start: float
    """0 ... 1, as ``end``."""
    end: float


Cell = str | int | float | Share | Estimate | Bar | None
_ROWS: Final = (Path(__file__).parent / "sentences.tsv").read_text("utf-8").splitlines()[1:]
WORDING: Final = dict(row.split("\t") for row in _ROWS)
"""Sentences without figures, by name."""
_NUMBER: Final = re.compile(r"[≥-]?\.?\d|-?$")
"""Beginning of a cell that is a number, or nothing."""
_MOST: Final = 34.0
"""Exponent above which a factor has no name."""


@dataclass(frozen=True)
class Section:
    """One table."""

    columns: Sequence[str]
    """The first one names the section."""
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    """Lines below it."""
    intervals: bool = True
    """True if shares are written with their confidence intervals."""

    def texts(self) -> list[list[str]]:
        """Return all cells as they are written."""
        return [[written(cell, intervals=self.intervals) for cell in row] for row in self.rows]

    def right(self) -> set[int]:
        """Return the columns whose cells end together, as they are numbers."""
        columns = [*enumerate(zip(*self.texts(), strict=True))]
        return {at for at, cells in columns if at and all(map(_NUMBER.match, cells))}


@dataclass(frozen=True)
class Facts:
    """Names and values, each with a line on what it means, which a terminal has no room for."""

    heading: str
    rows: Sequence[tuple[str, str, str]]


@dataclass(frozen=True)
class Prose:
    """A paragraph, and lines below it."""

    heading: str
    text: str = ""
    lines: Sequence[str] = ()
    loud: bool = False
    """True for lines that must not be overlooked."""


Part = Section | Facts | Prose


@dataclass(frozen=True)
class Shown:
    """All that is said of one result."""

    about: str
    """Heading: the command, and its input."""
    parts: Sequence[Part]
    conclusion: str = ""
    good: bool = False
    """False for a conclusion that is a warning."""
    warnings: Sequence[str] = ()
    """Warnings: printed on standard error, and on top of a page."""
    title: str = ""
    """Name of this result where a page has several."""

    def filled(self) -> list[Part]:
        """Return the parts that say anything."""
        return [
            part
            for part in self.parts
            if any(getattr(part, name, ()) for name in ("rows", "notes", "text", "lines"))
        ]


def holding(sentences: Mapping[str, object]) -> list[str]:
    """Return the sentences whose condition holds, in order."""
    return [sentence for sentence, holds in sentences.items() if holds]


def written(cell: Cell, *, intervals: bool = True) -> str:
    """Return a cell as text: counts in full, shares in per cent, nothing as a dash."""
    if isinstance(cell, Share):
        if cell.value is None:
            return "-"
        share = f"{100 * cell.value:.2f} %"
        if not intervals:
            return share
        low, high = cell.interval
        return f"{share} ({100 * low:.2f}-{100 * high:.2f})"
    if isinstance(cell, Estimate):
        if cell.low < cell.high:
            return f"{cell.value:.4f} ({cell.low:.4f}-{cell.high:.4f})"
        return (
            f"{cell.value:.4f}" if cell.value >= 0.00095 or not cell.value else f"{cell.value:.0e}"
        )
    if cell is None:
        return "-"
    if isinstance(cell, Bar):
        return cell.text
    return printable(cell) if isinstance(cell, str) else number(cell)


def plain(value: Any) -> Any:
    """Return the JSON values of a result or a part of it, however deep they are."""
    if isinstance(value, Estimate):
        return {"value": value.value, "interval": [value.low, value.high]}
    if hasattr(value, "as_json"):
        return value.as_json()
    if is_dataclass(value):
        return by_name(value)
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    return [*map(plain, value)] if isinstance(value, (list, tuple)) else value


def by_name(value: Any) -> dict[str, Any]:
    """Return the JSON values of a dataclass by the names of its fields.

    Fields that ``repr`` hides are left out if they have no metadata: they are of single words.
    """
    names = [field.name for field in fields(value) if field.repr or field.metadata]
    return {name.removesuffix("_"): plain(getattr(value, name)) for name in names}


def named(values: Mapping[str, Any], above: str = "") -> list[tuple[str, str, str]]:
    """Return the rows of :class:`Facts` for the JSON values of a result.

    Values inside of others stand behind the names of both.

    Args:
        above: the name of what has these values.
    """
    out: list[tuple[str, str, str]] = []
    for key, value in values.items():
        name = f"{above} {key.replace('_', ' ')}".strip()
        if value and isinstance(value, Mapping):
            out += named(value, name)
        elif value and isinstance(value, (list, tuple)):
            out.append((name, " / ".join(map(_word, value)), ""))
        else:
            out.append((name, _word(value), ""))
    return out


def facts(values: Mapping[str, Any], title: str) -> Shown:
    """Return the JSON values of a result under their names."""
    return Shown("", [Facts("", named(values))], title=title)


def _word(value: Any) -> str:
    if value is None or isinstance(value, (bool, list, tuple, Mapping)):
        return "yes" if value is True else "no" if value is False else "none"
    return written(value)


def odds(epsilon: float) -> str:
    """Return e^epsilon as people read it: ``e^8 = 2,981``.

    Args:
        epsilon: finite, in nats.
    """
    power = f"e^{number(epsilon)}"
    if epsilon > _MOST:
        return power
    factor = math.exp(epsilon)
    digits = 0 if factor >= 100 else 1 if factor >= 10 else 2
    bound = math.ceil(factor * 10**digits - 1e-9) / 10**digits  # a bound is never rounded down
    return f"{power} = {number(int(bound)) if not digits else f'{bound:g}'}"


def plain_meaning(epsilon: float, words: str = "any one word", delta: float = 0.0) -> str:
    """Say in a sentence what an LDP epsilon bounds.

    Args:
        epsilon: in nats; may be infinite.
        words: whose odds.
        delta: probability that the bound leaves out.
    """
    if math.isinf(epsilon):
        return f"Nothing bounds how far the text can raise the odds of {words}."
    if epsilon <= 0:
        return f"The text says nothing about {words}."
    but = f", but for a delta of {number(delta)}" if delta else ""
    told = f"Whoever sees the text can raise the odds of {words} by at most {odds(epsilon)}{but}."
    return f"{told} What is drawn is nearly random." if round(epsilon, 3) < RANDOM else told


_STYLE: Final = Path(__file__).parent / "page.css"
_FLAG: Final = re.compile(r"(?<![\w-])--[a-z][a-z-]{1,20}\b")
"""An option, which a line does not break inside."""
_MANY: Final = 6
"""Columns above which a table needs a wide page."""


def page(title: str, results: Sequence[Shown]) -> str:
    """One self-contained HTML page of results.

    Args:
        title: plain text.
        results: at least one; the page is about what the first is about.
    """
    return document(title, results[0].about, "".join(map(_result, results)))


def document(title: str, text: str, body: str) -> str:
    """One self-contained HTML page: a title and a paragraph in plain text, and HTML below them."""
    style, title = _STYLE.read_text(encoding="utf-8"), html.escape(title)
    about = _lines("p", [text], "soft")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{title}</title><style>\n{style}</style></head><body>"
        f"<main><h1>{title}</h1>{about}{body}</main></body></html>\n"
    )


def _result(shown: Shown) -> str:
    style = f"verdict {'good' if shown.good else 'bad'}"
    return (
        "<section>"
        + _lines("h2", [shown.title])
        + _lines("p", [shown.conclusion], style)
        + _lines("p", shown.warnings, "warn")
        + "".join(_part(part, "h3" if shown.title else "h2") for part in shown.filled())
        + "</section>"
    )


def _part(part: Part, tag: str) -> str:
    if isinstance(part, Section):
        return _table(part)
    head = _lines(tag, [part.heading])
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
    whole = (_FLAG.sub(r"<span>\g<0></span>", html.escape(text)) for text in texts if text)
    return "".join(f"{start}{text}</{tag}>" for text in whole)


def _table(section: Section) -> str:
    """Return a section as a table with a bar under each share; rows are stacked where it is narrow.

    A table of many columns needs a wide page, so its rows are stacked earlier.
    """
    right = section.right()
    styles = ["" if at in right else "text" for at in range(len(section.columns))]
    body = "".join(
        "<tr>" + "".join(map(_cell, section.columns, row, texts, styles)) + "</tr>"
        for row, texts in zip(section.rows, section.texts(), strict=True)
    )
    names = zip(map(html.escape, section.columns), styles, strict=True)
    head = "".join(f'<th scope="col" class="{style}">{name}</th>' for name, style in names)
    wide = " wide" if len(section.columns) > _MANY else ""
    rows = f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
    return f'<table class="rows{wide}">{rows}</table>{_lines("p", section.notes, "soft")}'


def _cell(head: str, cell: Cell, text: str, style: str) -> str:
    start = f'<td data-head="{html.escape(head)}" class="{style}'
    if isinstance(cell, Share | Estimate) and cell.value is not None:
        cell = Bar(text, 0.0, cell.value)
    if not isinstance(cell, Bar):
        return f'{start}">{html.escape(text)}</td>'
    # The rarest can be seen too.
    width = max(100 * (cell.end - cell.start), 1) if cell.end else 0
    left = f";--from:{10_000 * cell.start / (100 - width):.1f}%" if cell.start else ""
    return f'{start} share" style="--share:{width:.1f}%{left}">{html.escape(text)}</td>'
