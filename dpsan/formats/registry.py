"""The formats by name, and which one a file name suggests.

Knows names and suffixes.  Must not import a format before it is used: pyarrow is large and an
extra.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import PurePath
from typing import Final, NamedTuple

from dpsan.errors import check_name
from dpsan.formats.base import Format
from dpsan.formats.documents import DOCUMENTS, DocumentFormat

COMPRESSED: Final = (".gz", ".zst")


class _Home(NamedTuple):
    """Where a format lives and the suffixes that suggest it."""

    kind: str
    suffixes: tuple[str, ...]


FORMATS: Final[dict[str, _Home]] = {
    "text": _Home("TextFormat", (".txt", ".log", ".text", ".md")),
    "jsonl": _Home("JsonlFormat", (".jsonl", ".ndjson")),
    "json": _Home("JsonFormat", (".json",)),
    "csv": _Home("CsvFormat", (".csv",)),
    "tsv": _Home("TsvFormat", (".tsv", ".tab")),
    "html": _Home("HtmlFormat", (".html", ".htm", ".xhtml")),
    "eml": _Home("EmlFormat", (".eml",)),
    "docx": _Home("DocxFormat", (".docx",)),
    "parquet": _Home("ParquetFormat", (".parquet", ".pq")),
}
_MODULES: Final = {"tsv": "csv"}


def format_name(name: str, path: str) -> str:
    """The name itself, or with ``auto`` what a file's suffix suggests; text where nothing does.

    Raises:
        UsageError: unknown name.
    """
    if name != "auto":
        check_name("format", name, ["auto", *FORMATS])
        return name
    suffix = _suffix(path)
    return next((each for each, home in FORMATS.items() if suffix in home.suffixes), "text")


def _suffix(path: str) -> str:
    """The last suffix in lower case, or the one before if that is a compression's."""
    suffixes = [each.lower() for each in PurePath(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def format_class(name: str, path: str) -> type[Format]:
    """The class of a format, see :func:`format_name`.  Raises UsageError."""
    chosen = format_name(name, path)
    module = import_module(f"dpsan.formats.{_MODULES.get(chosen, chosen)}")
    found: type[Format] = getattr(module, FORMATS[chosen].kind)
    return found


def format_for(name: str, path: str) -> Format:
    """The format of a name and path, see :func:`format_name`.  Raises UsageError."""
    made = format_class(name, path)()
    document = DOCUMENTS.get(_suffix(path)) if name == "auto" else None
    return DocumentFormat(document, made) if document else made
