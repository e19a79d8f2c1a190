"""The formats by name, and which one a file name suggests."""

from __future__ import annotations

from importlib import import_module
from pathlib import PurePath
from typing import TYPE_CHECKING, Final, NamedTuple

from dpsan.errors import check_name

if TYPE_CHECKING:  # a format is imported when it is used: pyarrow is large and an extra
    from dpsan.formats.base import Format

COMPRESSED: Final = (".gz", ".zst")


class Home(NamedTuple):
    """Module and class of a format, and the suffixes that suggest it."""

    module: str
    kind: str
    suffixes: tuple[str, ...]


FORMATS: Final[dict[str, Home]] = {
    "text": Home("dpsan.formats.text", "TextFormat", (".txt", ".log", ".text", ".md")),
    "jsonl": Home("dpsan.formats.json", "JsonlFormat", (".jsonl", ".ndjson")),
    "json": Home("dpsan.formats.json", "JsonFormat", (".json",)),
    "csv": Home("dpsan.formats.csv", "CsvFormat", (".csv",)),
    "tsv": Home("dpsan.formats.csv", "TsvFormat", (".tsv", ".tab")),
    "html": Home("dpsan.formats.documents.html", "HtmlFormat", (".html", ".htm", ".xhtml")),
    "eml": Home("dpsan.formats.documents.eml", "EmlFormat", (".eml",)),
    "docx": Home("dpsan.formats.documents.docx", "DocxFormat", (".docx",)),
    "parquet": Home("dpsan.formats.parquet", "ParquetFormat", (".parquet", ".pq")),
}
RECORDS: Final = "jsonl"
"""A format whose records are units of their own."""


def format_name(name: str, path: str) -> str:
    """Return the name itself, or with ``auto`` what the suffix suggests; text where nothing does.

    Raises:
        UsageError: unknown name.
    """
    if name != "auto":
        check_name("format", name, ["auto", *FORMATS])
        return name
    return _suggested(path) or "text"


def _suggested(path: str) -> str | None:
    suffix = _suffix(path)
    return next((name for name, home in FORMATS.items() if suffix in home.suffixes), None)


def suggested_format(path: str) -> str | None:
    """Return the format, or the kind of file that no format reads, that a suffix tells of."""
    from dpsan.formats.refused_files import REFUSED

    refused = REFUSED.get(_suffix(path))
    return _suggested(path) or (refused and refused.name)


def _suffix(path: str) -> str:
    """Return the last suffix in lower case, or the one before if that is a compression's."""
    suffixes = [each.lower() for each in PurePath(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def format_class(name: str, path: str) -> type[Format]:
    """Return the class of a format.  Raises UsageError: unknown name."""
    home = FORMATS[format_name(name, path)]
    found: type[Format] = getattr(import_module(home.module), home.kind)
    return found


def format_for(name: str, path: str) -> Format:
    """Return the format of a name and path; one that refuses files whose suffix is known as such.

    Raises:
        UsageError: unknown name.
    """
    from dpsan.formats.refused_files import REFUSED, RefusedFormat

    made = format_class(name, path)()
    refused = REFUSED.get(_suffix(path)) if name == "auto" and not _suggested(path) else None
    return RefusedFormat(refused, made) if refused else made


def formats_with(capability: str) -> str:
    """Return the names of the formats that have an attribute, for messages: ``csv and tsv``."""
    names = [name for name in FORMATS if getattr(format_class(name, ""), capability)]
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
