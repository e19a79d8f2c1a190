"""Files that are not lines of text: what they are, by name or first bytes, and what to do instead.

Knows suffixes and magic numbers.  Must not know how text is read.  A program that took them for
text would write something, with exit status 0, that no other program can open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

from dpsan.errors import InputError
from dpsan.files.source import Source
from dpsan.formats.base import Format, ReadOptions, Record
from dpsan.text.patterns import compiled


@dataclass(frozen=True, slots=True)
class Document:
    """A kind of file."""

    name: str
    hint: str

    def error(self, source: Source) -> InputError:
        """The error for a file of this kind; the hint can be typed."""
        hint = f"{self.hint}; --text reads it as it is" if self.hint else "--text reads it as it is"
        return InputError(source.name, f"{self.name}, not lines of text", hint)


_PLAIN: Final = "pandoc -t plain FILE takes its text out"
_SHEET: Final = "save the sheet as .csv and choose columns with --field"
_PIPE: Final = "{} FILE | dpsan rewrite ..."
_PDF = Document("a PDF document", "pdftotext FILE - takes its text out")
_HTML = Document("an HTML page", "-f html rewrites its text")
_XML = Document("an XML document", "put its text into lines, .csv or .jsonl first")
_MAIL = Document("a mailbox, or a mail of another kind", "save each mail as .eml first")
_RTF = Document("an RTF document", _PLAIN)
_WORD = Document("a word processor's document", "save it as .docx, or: " + _PLAIN)
_SPREADSHEET = Document("a spreadsheet", _SHEET)
_SLIDES = Document("a presentation", "save its text as .txt first")
_BOOK = Document("an e-book", _PLAIN)

DOCUMENTS: Final[dict[str, Document]] = {
    ".pdf": _PDF,
    ".xml": _XML,
    ".mbox": _MAIL,
    ".msg": _MAIL,
    ".rtf": _RTF,
    ".doc": _WORD,
    ".odt": _WORD,
    ".xls": _SPREADSHEET,
    ".xlsx": _SPREADSHEET,
    ".ods": _SPREADSHEET,
    ".ppt": _SLIDES,
    ".pptx": _SLIDES,
    ".odp": _SLIDES,
    ".epub": _BOOK,
}
"""Suffixes that name another kind of file."""

# None of these beginnings holds a newline or NUL, so each lies within the first record.
_MAGIC: Final[tuple[tuple[bytes, Document], ...]] = (
    (b"%PDF-", _PDF),
    (b"{\\rtf", _RTF),
    (
        b"PK\x03\x04",
        Document("a zip archive (.docx, .xlsx and .epub are such)", "-f docx reads the first"),
    ),
    (b"PK\x05\x06", Document("an empty zip archive", "")),
    (b"\x1f\x8b", Document("gzip data", f"{_PIPE.format('zcat')}, or name it .gz")),
    (b"BZh", Document("bzip2 data", _PIPE.format("bzcat"))),
    (b"\xfd7zXZ", Document("xz data", _PIPE.format("xzcat"))),
    (b"\x28\xb5\x2f\xfd", Document("zstd data", f"{_PIPE.format('zstdcat')}, or name it .zst")),
    (b"7z\xbc\xaf\x27\x1c", Document("a 7z archive", "unpack it first")),
    (b"Rar!\x1a\x07", Document("a RAR archive", "unpack it first")),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", Document("an old Office document", _PLAIN)),
    (b"PAR1", Document("a Parquet file", "-f parquet -k FIELD")),
    (b"ARROW1", Document("an Arrow file", "save it as .parquet")),
    (b"SQLite format 3", Document("an SQLite database", "export a table as .csv")),
    (b"\x7fELF", Document("a program", "")),
    (b"\x89PNG", Document("a picture", "")),
    (b"\xff\xd8\xff", Document("a picture", "")),
    (b"GIF8", Document("a picture", "")),
)
_MARKUP: Final[tuple[tuple[bytes, Document], ...]] = (
    (b"<!doctype html", _HTML),
    (b"<html", _HTML),
    (b"<?xml", _XML),
)
"""In any letter case, behind white space."""

_JSON: Final = compiled(
    rb"""_(?:(?P<array>\[)_(?:\{_["}]|\{?_$)|\{_(?:"[^"\\]*+"_:|$))""".replace(
        b"_",
        rb"[ \t\r\n]*+",  # other white space is none in JSON
    )
)
"""The first line of an array of objects, or of an object; printed in one line or in many."""
_ARRAY = Document("a JSON array", "-f json -k FIELD")
_OBJECT = Document("JSON", "-f jsonl -k FIELD; -f json if a record goes over several lines")


def refuse_json(source: Source, first: bytes) -> None:
    """Raise InputError if a first line is JSON: as text its names and keywords would be drawn."""
    if found := _JSON.match(first, 0, 4096):
        raise (_ARRAY if found["array"] else _OBJECT).error(source)


def refuse_document(source: Source, first: bytes) -> None:
    """Raise InputError if the first bytes of a source are those of another kind of file."""
    first = first.removeprefix(b"\xef\xbb\xbf")
    markup = first[:256].lstrip().lower()
    for said, kinds in ((first, _MAGIC), (markup, _MARKUP)):
        for start, kind in kinds:
            if said.startswith(start):
                raise kind.error(source)


def binary(source: Source, line: int) -> InputError:
    """The error for a record that holds NUL."""
    return InputError(
        source.name,
        "NUL byte: not text",
        "--encoding utf-16 or -z may help; --text reads it as it is",
        line=line,
    )


class DocumentFormat(Format):
    """A file whose name says that it is no text: refused when it is read.

    Args:
        kind: what its name says.
        text: reads it where the user insists.
    """

    name: ClassVar[str] = "text"

    def __init__(self, kind: Document, text: Format) -> None:
        self._kind, self._text = kind, text

    def read(self, source: Source, options: ReadOptions) -> Iterator[Record | None]:
        """See :class:`Format`."""
        if options.force_text:
            return self._text.read(source, options)
        raise self._kind.error(source)
