"""``csv`` and ``tsv``: rows of cells between commas or tabs.

Grammar (RFC 4180, with the liberties that spreadsheets take)::

    row    = cell *(delimiter cell) (LF / CRLF)     all rows have as many cells as the first
    cell   = DQUOTE *(any but DQUOTE / 2DQUOTE) DQUOTE / *(any but delimiter, CR before LF, LF)

The delimiter is a comma, a tab or another ASCII character that the user names.
A quote inside a cell that does not begin with one is an ordinary character; anything between a
closing quote and the next delimiter is an error, because programs disagree about it.  Empty lines
pass.  The standard library's reader hands out values, from which the bytes cannot be had back, so
rows are cut here: the cells that are not chosen, and their quotes, stay as they are.  A chosen cell
is quoted if it has to be, or if its column's header is, or without a header if all other cells of
its row are: never because its old text was, whose words that would tell of.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from dpsan.errors import InputError, UsageError
from dpsan.files.source import Source
from dpsan.formats.base import Format, ReadOptions, Record, Unchanged
from dpsan.formats.near_names import did_you_mean
from dpsan.formats.passing import Fields, named, shown_names
from dpsan.formats.text import (
    byte_order_mark,
    decode,
    text_encoding,
    text_records,
    too_long,
)
from dpsan.text.patterns import compiled

_QUOTED: Final = compiled(rb'(?:[^"]++|"")*+')


def one_delimiter(given: str, option: str) -> str:
    """The character that an option names.  Raises UsageError."""
    one = "\t" if given in ("\\t", "tab") else given
    if len(one) != 1 or not one.isascii() or one in '"\r\n\0' or one.isalnum():
        raise UsageError(
            f"{option} must be one ASCII character that is no letter, digit or quote",
            "such as ';' or '\\t'",
        )
    return one


class _Row(NamedTuple):
    """The bytes of a row; delimiters between the cells and the ending make it whole again."""

    line: int
    cells: list[bytes]
    ending: bytes
    owes: bytes


class _Rows:
    """Cuts lines into rows; holds the state of a row that goes over several lines."""

    def __init__(self, source: Source, delimiter: bytes, options: ReadOptions) -> None:
        self._source, self._delimiter, self._options = source, delimiter, options
        self._first = 0
        self._held = 0
        self._cells: list[bytes] = []
        self._open: list[bytes] = []
        """Pieces of a quoted cell that has not ended."""

    def __iter__(self) -> Iterator[_Row | bytes | None]:
        """Rows; a byte order mark as bytes; None when idle.  Raises InputError."""
        for item in text_records(self._source, b"\n", self._options):
            if item is None:
                yield None
                continue
            line, raw, ending = item
            if line == 1 and (mark := byte_order_mark(self._source, raw)):
                raw = raw[len(mark) :]
                yield mark
                if not raw and not ending:
                    continue
            within = bool(self._open)
            try:
                row = self._line(line, raw, ending)
            except InputError as problem:
                if self._options.aside is None or within or line == 1:
                    raise
                self._options.aside(raw + (ending or b"\n"), problem)
                self._open, row = [], None
            del item, raw  # a long line is not kept here while it is rewritten
            if row is not None:
                yield row
        if self._open:
            raise InputError(self._source.name, "a quoted cell does not end", line=self._first)

    def _line(self, line: int, raw: bytes, ending: bytes) -> _Row | None:
        owes = b"" if ending else b"\n"
        if not self._open:
            if b'"' not in raw:
                if raw.endswith(b"\r"):
                    raw, ending = raw[:-1], b"\r" + ending
                return _Row(line, raw.split(self._delimiter), ending, owes)
            self._first, self._held, self._cells = line, 0, []
        self._held += len(raw) + len(ending)
        if self._held > self._options.max_record:
            raise too_long(self._source, self._first, self._options.max_record)
        at = 0
        while True:
            if self._open or raw[at : at + 1] == b'"':
                inside = _QUOTED.match(raw, at if self._open else at + 1)
                assert inside is not None  # noqa: S101 - it matches nothing at all, too
                end = inside.end() + 1
                if end > len(raw):
                    self._open.append(raw[at:] + ending)
                    return None
                self._cells.append(b"".join((*self._open, raw[at:end])))
                self._open = []
                if raw[end : end + 1] == self._delimiter:
                    at = end + 1
                    continue
                if raw[end:] not in (b"", b"\r"):
                    raise InputError(
                        self._source.name,
                        f"column {len(self._cells)}: text behind a closing quote",
                        line=line,
                    )
                return _Row(self._first, self._cells, raw[end:] + ending, owes)
            end = raw.find(self._delimiter, at)
            if end < 0:
                if raw.endswith(b"\r"):
                    raw, ending = raw[:-1], b"\r" + ending
                self._cells.append(raw[at:])
                return _Row(self._first, self._cells, ending, owes)
            self._cells.append(raw[at:end])
            at = end + 1


def _value(cell: bytes) -> bytes:
    return cell[1:-1].replace(b'""', b'"') if cell[:1] == b'"' else cell


class CsvFormat(Format):
    """Comma-separated values."""

    name: ClassVar[str] = "csv"
    joinable: ClassVar[bool] = True
    takes_budget: ClassVar[bool] = True
    copyable: ClassVar[bool] = True
    takes_spans: ClassVar[bool] = True
    takes_fields: ClassVar[bool] = True
    needs_fields: ClassVar[bool] = True
    takes_header: ClassVar[bool] = True
    takes_delimiter: ClassVar[bool] = True
    skips_bad_records: ClassVar[bool] = True
    delimiter: ClassVar[bytes] = b","

    def read(self, source: Source, options: ReadOptions) -> Iterator[Record | None]:
        if options.null_data:
            raise UsageError(f"{self.name} has no records that end with NUL", "leave out -z")
        encoding = text_encoding(options.encoding)
        if encoding.startswith(("utf-16", "utf-32")):
            raise InputError(source.name, f"{self.name} cannot be {encoding}", "convert it first")
        return self._records(source, options, encoding)

    def _records(
        self, source: Source, options: ReadOptions, encoding: str
    ) -> Iterator[Record | None]:
        columns: list[int] | None = None
        written: Sequence[int] = ()
        quoted: set[int] = set()
        width = 0
        delimiter = self._delimiter(options)
        for row in _Rows(source, delimiter, options):
            if row is None:
                yield None
                continue
            if isinstance(row, bytes):
                yield Record(1, [], Unchanged(row), part="mark")
                continue
            if row.cells == [b""]:
                yield Record(row.line, [], Unchanged(row.ending), owes=row.owes)
                continue
            if columns is None:
                width = len(row.cells)
                columns, fields = self._columns(source, row, options)
                written = columns if options.drop_other else range(width)
                if options.header:
                    quoted = {at for at in columns if row.cells[at][:1] == b'"'}
                    raw = _joined([row.cells[at] for at in written], delimiter) + row.ending
                    header = Record(row.line, [], Unchanged(raw), part="header", owes=row.owes)
                    header.fields = [fields]
                    yield header
                    continue
                yield Record(row.line, [], Unchanged(b""), part="frame", fields=[fields])
            try:
                texts, invalid = self._texts(source, row, columns, width, options, encoding)
            except InputError as problem:
                if options.aside is None:
                    raise
                options.aside(delimiter.join(row.cells) + (row.ending or b"\n"), problem)
                continue
            if not options.header and not options.drop_other:
                others = [cell[:1] for at, cell in enumerate(row.cells) if at not in columns]
                quoted = set(columns) if set(others) == {b'"'} else set()
            known = [] if invalid else texts
            render = _Render(row, columns, written, quoted, known, delimiter, encoding)
            size = sum(map(len, row.cells))
            yield Record(row.line, texts, render, invalid, owes=row.owes, size=size)

    @staticmethod
    def _texts(
        source: Source,
        row: _Row,
        columns: list[int],
        width: int,
        options: ReadOptions,
        encoding: str,
    ) -> tuple[list[str], int]:
        """The chosen cells of a row, and its invalid sequences.  Raises InputError."""
        if len(row.cells) != width:
            raise InputError(
                source.name,
                f"{len(row.cells)} columns, expected {width}",
                "check quotes and --format",
                line=row.line,
            )
        texts: list[str] = []
        invalid = 0
        for column in columns:
            cell = row.cells[column]
            text, bad = decode(source, row.line, _value(cell), options)
            texts.append(text)
            invalid += bad
        return texts, invalid

    def _delimiter(self, options: ReadOptions) -> bytes:
        given = options.delimiter if self.takes_delimiter else ""
        return given.encode() or self.delimiter

    def _columns(self, source: Source, row: _Row, options: ReadOptions) -> tuple[list[int], Fields]:
        """Which columns are chosen, from 0, in order, and the names of all."""
        width = len(row.cells)
        lenient = ReadOptions(encoding=options.encoding)
        names = (
            [decode(source, 1, _value(cell), lenient)[0] for cell in row.cells]
            if options.header
            else []
        )
        # Never the cells: the first row is data where somebody forgot --no-header.
        there = f"{width} columns; " + (
            "-k NAME or a number, and --no-header if the first row is data, such as -k 1 "
            "--no-header"
            if options.header
            else "choose by number, such as -k 1"
        )
        for other in (b";", b"\t", b"|", b",") if width == 1 else ():
            if other in row.cells[0] and other != self._delimiter(options):
                shown = "'\\t'" if other == b"\t" else f"'{other.decode()}'"
                there = f"one column; are they separated by {shown}? --delimiter {shown}"
                break
        if not options.fields:
            raise InputError(source.name, f"{self.name} needs --field", there)
        chosen: set[int] = set()
        for field in options.fields:
            if names.count(field) > 1:
                raise InputError(
                    source.name,
                    f"{names.count(field)} columns are named '{field}'",
                    f"choose by number, such as --field {names.index(field) + 1}",
                )
            if field in names:
                chosen.add(names.index(field))
            elif field.isascii() and field.isdigit() and 1 <= int(field[:9]) <= width:
                chosen.add(int(field[:9]) - 1)
            else:
                hint = did_you_mean(field, names) or _names(names, options) or there
                raise InputError(source.name, f"no column '{field}'", hint)
        by_name = any(field in names for field in options.fields)
        # Columns chosen by number: the first row may be data where nobody looked.
        labels = named(names) if by_name else [str(at) for at in range(1, width + 1)]
        asked = options.fields if by_name else ()
        fields = Fields("column", asked=asked, left_out=options.drop_other)
        for at, label in enumerate(labels):
            (fields.chosen if at in chosen else fields.others)[label] = None
        return sorted(chosen), fields


class TsvFormat(CsvFormat):
    """Tab-separated values, with the quotes of CSV."""

    name: ClassVar[str] = "tsv"
    delimiter: ClassVar[bytes] = b"\t"
    takes_delimiter: ClassVar[bool] = False


def _names(names: list[str], options: ReadOptions) -> str:
    """Return the hint that names all columns; empty if the first row may be data."""
    by_name = any(each in names for each in options.fields)
    return f"columns: {shown_names(named(names))}" if by_name else ""


def _joined(cells: list[bytes], delimiter: bytes) -> bytes:
    """Return a row; one empty cell alone gets quotes, or the line would hold no row."""
    return delimiter.join(cells) or b'""'


@dataclass(slots=True, repr=False)
class _Render:
    """A row with other texts in the chosen cells.

    The quotes of the old cell decide nothing: they would tell of a comma in one of its words.
    """

    row: _Row
    columns: list[int]
    written: Sequence[int]
    """All columns, or with ``--drop-other`` the chosen ones."""
    quoted: set[int]
    """The columns of which every cell is quoted."""
    texts: list[str]
    """What is in the chosen cells; none if they hold invalid sequences."""
    delimiter: bytes
    encoding: str

    def __call__(self, texts: list[str]) -> bytes:
        cells = self.row.cells.copy()
        for at, column in enumerate(self.columns):
            text = texts[at]
            # White space keeps its bytes: an empty cell in quotes is not a missing one.
            if text.strip() or [text] != self.texts[at : at + 1]:
                cells[column] = self._cell(text, column in self.quoted)
        return _joined([cells[at] for at in self.written], self.delimiter) + self.row.ending

    def _cell(self, text: str, quoted: bool) -> bytes:
        body = text.encode(self.encoding, errors="replace")
        # Empty, it would be a line without a row in a table of one column.
        if quoted or not body or any(each in body for each in (self.delimiter, b'"', b"\n", b"\r")):
            return b'"' + body.replace(b'"', b'""') + b'"'
        return body
