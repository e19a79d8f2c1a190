"""The names that a format has: lists in a file beside its module.

A list is ``[NAME]``, then its members between white space; a line that begins with # is a remark.
"""

from __future__ import annotations

import re
from pathlib import Path


def name_lists(file: str) -> dict[str, frozenset[str]]:
    """The lists of a file in this folder by their names."""
    text = (Path(__file__).parent / file).read_text(encoding="utf-8")
    _, *parts = re.split(r"^\[(\w+)\]$", re.sub(r"^#.*", "", text, flags=re.M), flags=re.M)
    return {
        name: frozenset(body.split()) for name, body in zip(parts[::2], parts[1::2], strict=True)
    }
