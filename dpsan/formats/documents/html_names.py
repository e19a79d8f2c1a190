"""Names of HTML: which tags and attributes are markup, and which attributes hold no text.

What is on no list here is text, or refused: a person who writes ``<Gonzalez>`` or ``alt=Maria
Gonzalez`` without quotes has made a tag or an attribute of a name.
"""

from __future__ import annotations

from typing import Final

from dpsan.formats.documents.document import name_lists

_LISTS: Final = name_lists("html_names.txt")

ELEMENTS: Final = _LISTS["ELEMENTS"]
"""Tags that pass; those of a page's own are named by the user."""

RAW: Final = frozenset(("script", "style"))
"""Elements whose content is no text to a reader."""

FOREIGN: Final = frozenset(("svg", "math"))
"""Elements in which browsers read tags also in those of :data:`RAW`."""

TEXT_ONLY: Final = frozenset(
    ("title", "textarea", "xmp", "iframe", "noembed", "noframes", "plaintext")
)
"""Elements in which browsers read no tags; of these ``title`` and ``textarea`` have entities."""

LINKS: Final = _LISTS["LINKS"]
"""Attributes that hold an address, which passes unless it is somebody's: mailto:, tel:, an @ ..."""

PICTURES: Final = frozenset(("background", "icon", "imagesrcset", "poster", "src", "srcset"))
"""Those of pictures, in which @ stands for their size."""

PASSING: Final = _LISTS["PASSING"]
"""Attributes whose values pass, counted; all others are text."""

ATTRIBUTES: Final = PASSING | LINKS | _LISTS["OTHER"]
"""Attributes that HTML has; besides these there are ``data-*`` and ``on*``."""

PLAIN_META: Final = _LISTS["PLAIN_META"]
"""Names of ``<meta>`` elements whose ``content`` is for programs."""
