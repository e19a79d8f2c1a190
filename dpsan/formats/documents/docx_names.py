"""Names of WordprocessingML: which elements and attributes lay a document out and hold no text.

What is on no list here is refused or left out.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from dpsan.formats.documents.name_lists import name_lists


class Role(Enum):
    """What a part of a document is for."""

    STORY = "text"
    LAYOUT = "layout part"
    SETTINGS = "settings"


RELATIONS: Final = {
    "officeDocument": ("document.main", Role.STORY),
    "header": ("header", Role.STORY),
    "footer": ("footer", Role.STORY),
    "footnotes": ("footnotes", Role.STORY),
    "endnotes": ("endnotes", Role.STORY),
    "styles": ("styles", Role.LAYOUT),
    "numbering": ("numbering", Role.LAYOUT),
    "fontTable": ("fontTable", Role.LAYOUT),
    "theme": ("theme", Role.LAYOUT),
    "settings": ("settings", Role.SETTINGS),
}
"""Kinds of relationships, the content type of the part at their end, and what that is for."""

_LISTS: Final = name_lists("docx_names.txt")

BARRIERS: Final = _LISTS["BARRIERS"]
"""What stands between words inside a run."""

ELEMENTS: Final = BARRIERS | _LISTS["LAYOUT"]

UNWRAPPED: Final = _LISTS["UNWRAPPED"]
"""Of these the content stays where they themselves cannot."""

ATTRIBUTES: Final = _LISTS["ATTRIBUTES"]
"""Attributes that pass where their value is a number, a colour or one of a few words; ``name``,
``anchor`` and ``instr`` where a program wrote them."""
