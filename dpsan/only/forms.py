"""The table of strings and numbers: what they are, and what may be drawn in their place."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from importlib.resources import files


@cache
def _table() -> dict[str, list[list[str]]]:
    text = files("dpsan.only").joinpath("forms.tsv").read_text("utf-8")
    table = defaultdict[str, list[list[str]]](list)
    for kind, *cells in (line.split("\t") for line in text.splitlines() if line[0] != "#"):
        table[kind].append([*cells, "", ""])
    return table


def rows(kind: str) -> list[list[str]]:
    """Return the cells of the rows of a kind; the head of ``forms.tsv`` says what they are."""
    return _table()[kind]


def pattern(text: str) -> str:
    """Return a pattern with what the names in it stand for."""
    parts = {name: part for name, part, *_ in rows("part")}
    return re.sub("<<([A-Z]+)>>", lambda name: parts[name[1]], text)
