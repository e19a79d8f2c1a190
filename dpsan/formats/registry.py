"""The formats by name, which one a file name suggests, and which files none of them reads.

Files that are not lines of text are recognized by suffix or first bytes and refused.  Read as text
they would become something, with exit status 0, that no other program can open.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path, PurePath
from typing import Final, NamedTuple

from dpsan.errors import InputError, check_name, refuse
from dpsan.files.source import Source
from dpsan.formats.base import Format
from dpsan.text.shape import compiled

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
        meant, refused = _suggested(f"_.{name}"), REFUSED.get(f".{name.lower()}")
        hint = refused.hint if refused else f"-f {meant}"
        refuse(name not in FORMATS and (meant or refused), f"unknown format '{name}'", hint)
        check_name("format", name, ["auto", *FORMATS])
        return name
    return _suggested(path) or "text"


def named_otherwise(names: str, path: str) -> str:
    """Return the hint for a file that is none of some formats, if its name tells of another."""
    named = _suggested(path)
    return f"its name says {named}" if named and named not in names.split() else ""


def _suggested(path: str) -> str | None:
    suffix = _suffix(path)
    return next((name for name, home in FORMATS.items() if suffix in home.suffixes), None)


def suggested_format(path: str) -> str | None:
    """Return the format, or the kind of file that no format reads, that a suffix tells of."""
    refused = REFUSED.get(_suffix(path))
    return _suggested(path) or (refused and refused.name)


def _suffix(path: str) -> str:
    """Return the last suffix in lower case, or the one before if that is a compression's."""
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def format_class(name: str, path: str) -> type[Format]:
    """Return the class of a format.  Raises UsageError: unknown name."""
    home = FORMATS[format_name(name, path)]
    kind: type[Format] = getattr(import_module(home.module), home.kind)
    return kind


def format_for(name: str, path: str) -> Format:
    """Return the format of a name and path.  Raises UsageError: unknown name."""
    return format_class(name, path)()


def formats_with(capability: str) -> str:
    """Return the names of the formats that have an attribute, for messages: ``csv and tsv``."""
    names = [name for name in FORMATS if getattr(format_class(name, ""), capability)]
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


# --- refused files -----------------------------------------------------------------------------


class Kind(NamedTuple):
    """A kind of file, and what to do with it instead."""

    name: str
    hint: str

    def error(self, name: str) -> InputError:
        """Return the error for a file of this kind; the hint can be typed."""
        hint = "; ".join(filter(None, (self.hint, "-f text reads it as it is")))
        return InputError(name, f"{self.name}, not lines of text", hint)


REFUSED: Final[dict[str, Kind]] = {}
"""Kinds of files by suffix."""
_BEGINNINGS: Final[list[tuple[bytes, Kind]]] = []
"""First bytes.  None of them holds a newline or NUL, so each lies within the first record."""

for _row in (Path(__file__).parent / "refused_files.tsv").read_text("utf-8").splitlines()[1:]:
    _name, _hint, _suffixes, _beginnings = _row.split("\t")
    REFUSED.update(dict.fromkeys(_suffixes.split(), Kind(_name, _hint)))
    for _escaped in _beginnings.split():
        _first = _escaped.encode().decode("unicode_escape").encode("latin-1")
        _BEGINNINGS.append((_first, Kind(_name, _hint)))

_LINES: Final = (Path(__file__).parent / "names.txt").read_text("utf-8").splitlines()
_CODE, USUAL = (frozenset(line.split()) for line in _LINES)
"""Suffixes of programs and settings, whose keywords a mechanism would draw too; usual names of
columns: a row or an object that has one has names, not data."""


def is_code(path: str) -> bool:
    """Return whether the name of a file is that of a program or of settings."""
    return _suffix(path) in _CODE


_JSON: Final = compiled(
    rb"""_(?:(?P<array>\[)_(?:\{_["}]|\{?_$)|\{_(?:"[^"\\]*+"_:|$))""".replace(
        b"_",
        rb"[ \t\r\n]*+",  # other white space is none in JSON
    )
)
"""The first line of an array of objects, or of an object; printed in one line or in many."""
_ROW: Final = compiled(
    rb"""[\w"][^\r\n,;\t]*+(?:([,;\t])[\w"][^\r\n,;\t]*+)(?:\1[\w"][^\r\n,;\t]*+)*+\r?"""
)
"""Cells without space before them, as no text has commas."""
_ARRAY = Kind("a JSON array", "-f json -k FIELD")
_OBJECT = Kind("JSON", "-f jsonl -k FIELD; -f json if a record goes over several lines")


_TABLES: Final = {b",": "-f csv", b";": "-f csv --delimiter ';'", b"\t": "-f tsv"}
"""Options for tables, by their delimiters."""


def refuse_suffix(path: str) -> None:
    """Raise InputError if a name is that of a kind of file which no format reads."""
    if (refused := REFUSED.get(_suffix(path))) and not _suggested(path):
        raise refused.error(path)


def refuse_records(source: Source, first: bytes) -> None:
    """Raise InputError if a first line is JSON or a header: as text its names would be drawn."""
    if match := _JSON.match(first, 0, 4096):
        raise (_ARRAY if match["array"] else _OBJECT).error(source.name)
    if match := _ROW.fullmatch(first, 0, 4096):
        cells = {cell.strip(b'" ').lower() for cell in match[0].rstrip().split(match[1])}
        if cells & {name.encode() for name in USUAL}:
            raise Kind("a table with a header", f"{_TABLES[match[1]]} -k NAME").error(source.name)


def refuse_document(source: Source, first: bytes) -> None:
    """Raise InputError if the first bytes of a source are those of another kind of file."""
    first = first.removeprefix(b"\xef\xbb\xbf")
    markup = first[:256].lstrip().lower()
    for start, kind in _BEGINNINGS:
        if (markup if start[:1] == b"<" else first).startswith(start):
            raise kind.error(source.name)


def binary(source: Source, line: int) -> InputError:
    """Return the error for a record that holds NUL."""
    hint = "iconv -f UTF-16 or tr '\\0' '\\n' may help; -f text reads it as it is"
    return InputError(source.name, "NUL byte: not text", hint, line=line)
