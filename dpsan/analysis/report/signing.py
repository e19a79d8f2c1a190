"""The page for whoever signs, with the figures of a run below its headings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from dpsan.analysis.pages.sections import Part, Prose, Section

_NAME: Final = "for_whoever_signs.md"
_MARKS: Final = re.compile(r"\*\*|`|(?<!\w)\*(?=\S)|(?<=\S)\*(?!\w)")
"""Marks of Markdown around words; a page is plain text."""


def _text() -> str:
    """Return the page, in the installed package or the source checkout."""
    package = Path(__file__).resolve().parents[2]
    folders = (package / "_docs", package.parent / "docs")
    path = next(folder / _NAME for folder in folders if (folder / _NAME).is_file())
    return path.read_text(encoding="utf-8")


def signing(facts: Mapping[str, Sequence[str]]) -> list[Part]:
    """Return the sections of docs/for_whoever_signs.md.

    Args:
        facts: lines about a run, by the heading under which they stand first.
    """
    parts: list[Part] = []
    for section in _text().split("\n## ")[1:]:
        heading, _, body = section.partition("\n")
        blocks = [block for block in body.strip().split("\n\n") if block]
        texts = [block for block in blocks if block[0] not in "*|"]
        lines = [line for block in blocks if block[0] == "*" for line in block.split("\n* ")]
        said = [*facts.get(heading, ()), *(_plain(line.removeprefix("* ")) for line in lines)]
        parts.append(Prose(heading, _plain(" ".join(texts)), said))
        parts += [_table(block) for block in blocks if block[0] == "|"]
    return parts


def _plain(text: str) -> str:
    return " ".join(_MARKS.sub("", text).split())


def _table(block: str) -> Section:
    rows = [[_plain(cell) for cell in line[1:-1].split("|")] for line in block.split("\n")]
    return Section(rows[0], rows[2:])
