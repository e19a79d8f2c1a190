"""``csv`` and ``tsv``: rows of cells between commas or tabs.

Grammar (RFC 4180, with the liberties that spreadsheets take)::

    row    = cell *(delimiter cell) (LF / CRLF)     all rows have as many cells as the first
    cell   = DQUOTE *(any but DQUOTE / 2DQUOTE) DQUOTE / *(any but delimiter, CR before LF, LF)

A quote inside a cell that does not begin with one is an ordinary character; anything between a
closing quote and the next delimiter is an error, because programs disagree about it.  The standard
library's reader hands out values, from which the bytes cannot be had back.

The delimiter is a comma, a tab or another ASCII character that the user names.  Empty lines pass.
The cells that are not chosen, and their quotes, stay as they are.  A chosen cell is quoted if it
has to be, or if its column's header is, or without a header if all other cells of its row are:
never because its old text was, whose words that would tell of.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar, Final, NamedTuple

from dpsan.errors import InputError, UsageError, counted
from dpsan.files.source import Source
from dpsan.formats.base import Format, ReadOptions, Record, Unchanged
from dpsan.formats.kinds import named_otherwise
from dpsan.formats.passing import Fields, named, shown_names
from dpsan.formats.paths import did_you_mean, is_person, usual
from dpsan.formats.text import byte_order_mark, decode, text_encoding, text_records, too_long
from dpsan.text.shape import compiled

_QUOTED: Final = compiled(rb'(?:[^"]++|"")*+')
_UNIX: Final = "tr '\\r' '\\n' < FILE | dpsan rewrite -f csv ..."
_SEPARATOR: Final = compiled(rb"""(?i)sep=([\t -!#-/:-@[-`{-~])\r?""")
"""First line by which a file tells Excel its delimiter; it passes."""


class Row(NamedTuple):
    """The bytes of a row; delimiters between the cells and the ending make it whole again."""

    line: int
    cells: list[bytes]
    ending: bytes
    owes: bytes


class Rows:
    """The rows of an input; holds the state of a row that goes over several lines."""

    def __init__(self, source: Source, delimiter: bytes, options: ReadOptions) -> None:
        self._source, self._options = source, options
        self.delimiter = delimiter
        """Delimiter of cells; the first line may name it."""
        self._first = self._held = 0
        self._cells: list[bytes] = []
        self._open: list[bytes] = []
        """Pieces of a quoted cell that has not ended."""

    def __iter__(self) -> Iterator[Row | Record | None]:
        """Yield rows; the record of a byte order mark; None when idle.  Raises InputError."""
        for item in text_records(self._source, self._options):
            if item is None:
                yield None
                continue
            line, raw, ending = item
            if line == 1:
                mark = byte_order_mark(self._source, raw)
                raw = raw[len(mark) :]
                match = _SEPARATOR.fullmatch(raw)
                if not self._options.delimiter:
                    self.delimiter = match[1] if match else self._likely(raw)
                if match:
                    mark, raw, ending = mark + raw + ending, b"", b""
                if mark:
                    yield Record(1, [], Unchanged(mark), part="mark")
                    if not raw and not ending:
                        continue
            within = bool(self._open)
            try:
                row = self._line(line, raw, ending)
            except InputError as problem:
                if self._options.reject is None or within or line == 1:
                    raise
                self._options.reject(raw + (ending or b"\n"), problem)
                self._open, row = [], None
            del item, raw  # a long line is not kept here while it is rewritten
            if row is not None:
                yield row
        if self._open:
            raise InputError(self._source.name, "a quoted cell does not end", line=self._first)

    def _likely(self, raw: bytes) -> bytes:
        """Return the delimiter of a header: another one if it parts names, of a chosen column or
        usual ones, or where none is chosen.
        """
        fields, encoding = self._options.fields, text_encoding(self._options.encoding)
        for other in (b";", b"\t", b"|", b",") if self.delimiter not in raw else ():
            cells = raw.rstrip(b"\r").split(other)
            names = [value(cell).decode(encoding, "replace") for cell in cells]
            told = not fields or usual(names) or not {*names}.isdisjoint(fields)
            if names[1:] and self._options.header and told:
                return other
        return self.delimiter

    def _line(self, line: int, raw: bytes, ending: bytes) -> Row | None:
        owes = b"" if ending else b"\n"
        if not self._open:
            if b'"' not in raw:
                if raw.endswith(b"\r"):
                    raw, ending = raw[:-1], b"\r" + ending
                return Row(line, raw.split(self.delimiter), ending, owes)
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
                cell = b"".join((*self._open, raw[at:end]))
                self._open = []
            else:
                end = raw.find(self.delimiter, at)
                if end < 0:
                    end = len(raw) - raw.endswith(b"\r")
                cell = raw[at:end]
            self._cells.append(cell)
            if raw[end : end + 1] != self.delimiter:
                break
            at = end + 1
        if raw[end:] not in (b"", b"\r"):
            what = f"column {len(self._cells)}: text behind a closing quote"
            hint = named_otherwise("csv tsv", self._source.name)
            raise InputError(self._source.name, what, hint, line=line)
        return Row(self._first, self._cells, raw[end:] + ending, owes)


def _is_data(fields: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether a cell of the first row is no name of a column, where fields have none."""
    numbered = all(field.isdecimal() and 0 < int(field) <= len(names) for field in fields)
    return any(_DATA.fullmatch(name) or (numbered and is_person(name)) for name in names)


def value(cell: bytes) -> bytes:
    """Return what a cell says, without its quotes."""
    return cell[1:-1].replace(b'""', b'"') if cell[:1] == b'"' else cell


def one_delimiter(given: str, option: str) -> str:
    """Return the character that an option names.  Raises UsageError."""
    char = "\t" if given in ("\\t", "tab") else given
    if len(char) != 1 or not char.isascii() or char in '"\r\n\0' or char.isalnum():
        what = f"{option} must be one ASCII character that is no letter, digit or quote"
        raise UsageError(what, "such as ';' or '\\t'")
    return char


class CsvFormat(Format):
    """Comma-separated values."""

    name: ClassVar[str] = "csv"
    joinable = takes_budget = copyable = takes_spans = takes_fields = needs_fields = True
    takes_header = takes_delimiter = takes_units = skips_bad_records = True
    delimiter: ClassVar[bytes] = b","

    def headers(self, source: Source, options: ReadOptions) -> list[str]:
        """Return the first row, which has the names.  Raises InputError."""
        rows = (row for row in self._rows(source, options) if isinstance(row, Row))
        return named(_texts(source, next(rows, Row(1, [], b"", b"")), options))

    def _rows(self, source: Source, options: ReadOptions) -> Rows:
        given = options.delimiter if self.takes_delimiter else ""
        return Rows(source, given.encode() or self.delimiter, options)

    def read(self, source: Source, options: ReadOptions) -> Iterator[Record | None]:
        table: _Table | None = None
        rows = self._rows(source, options)
        for row in rows:
            if row is None or isinstance(row, Record):
                yield row
                continue
            if row.cells == [b""]:
                yield Record(row.line, [], Unchanged(row.ending), owes=row.owes)
                continue
            if table is None:
                table = _Table(source, options, row, self.name, rows.delimiter)
                yield table.begin(row)
                if options.header:
                    continue
            try:
                yield table.record(row)
            except InputError as problem:
                if options.reject is None:
                    raise
                options.reject(rows.delimiter.join(row.cells) + (row.ending or b"\n"), problem)


def _texts(source: Source, row: Row, options: ReadOptions) -> list[str]:
    """Return what the cells of a header say."""
    return [decode(source, row.line, value(cell), options)[0] for cell in row.cells]


class TsvFormat(CsvFormat):
    """Tab-separated values, with the quotes of CSV."""

    name: ClassVar[str] = "tsv"
    delimiter: ClassVar[bytes] = b"\t"
    takes_delimiter = False


_DATA: Final = re.compile(r"\W*\d[\d\W]*|\S+@\S+\.\S+")
"""Cells that are hardly a name of a column."""


class _Table:
    """The columns of an input, and how its rows are written.

    Args:
        first: row that has the names, or is data.
        name: of the format.

    Raises:
        InputError: no column is chosen, or there is none of a name or number.
    """

    def __init__(
        self, source: Source, options: ReadOptions, first: Row, name: str, delimiter: bytes
    ) -> None:
        self._source, self._options = source, options
        self.delimiter, self.encoding = delimiter, text_encoding(options.encoding)
        self.special = compiled(b'["\n\r' + re.escape(delimiter) + b"]")
        """Text between quotes."""
        self._width = len(first.cells)
        if any(b"\r" in cell for cell in first.cells if cell[:1] != b'"'):
            raise InputError(source.name, "lines end in CR alone", _UNIX, line=first.line)
        names = _texts(source, first, options) if options.header else []
        by_name = any(field in names for field in options.fields)
        if options.fields and not by_name and _is_data(options.fields, names):
            what = "row 1 has a number, a name or an address, and would pass as the header"
            hint = "--no-header if it is data, else -k NAME"
            raise InputError(source.name, what, hint, line=first.line)
        shown = by_name or usual(names)
        listed = f"columns: {shown_names(named(names))}" if shown else self._there()
        if not options.fields:
            raise InputError(source.name, f"{name} needs --field", listed)
        chosen = {self._column(field, names, listed) for field in options.fields}
        unit = options.unit_field
        self._unit = self._column(unit, names, listed) if unit else None
        # Columns chosen by number: the first row may be data where nobody looked.
        labels = named(names) if by_name else [str(at + 1) for at in range(self._width)]
        requested = options.fields if by_name else ()
        self._fields = Fields("column", requested=requested, left_out=options.drop_other)
        for at, label in enumerate(labels):
            (self._fields.chosen if at in chosen else self._fields.others)[label] = None
        self.columns = sorted(chosen)
        kinds = {self._column(field, names, listed): of for field, of in options.kinds.items()}
        fields = [kinds.get(column, "") for column in self.columns]
        told = [names[column] if names else "" for column in self.columns]
        by_class = replace(options, kinds={of: of for of in fields})
        self._kinds = by_class.classes(fields, told, self._fields.typed)
        self.written = self.columns if options.drop_other else range(self._width)
        """All columns, or with ``--drop-other`` the chosen ones."""
        self._quoted = {at for at in chosen if names and first.cells[at][:1] == b'"'}
        """The columns of which every cell is quoted."""

    def _column(self, field: str, names: list[str], listed: str) -> int:
        """Return the index of a column.  Raises InputError: there is none, or several."""
        if names.count(field) > 1:
            what = f"{names.count(field)} columns are named '{field}'"
            hint = f"choose by number, such as --field {names.index(field) + 1}"
            raise InputError(self._source.name, what, hint)
        if field in names:
            return names.index(field)
        if field.isascii() and field.isdigit() and 1 <= int(field[:9]) <= self._width:
            return int(field[:9]) - 1
        hint = "; ".join(filter(None, (did_you_mean(field, names), listed)))
        raise InputError(self._source.name, f"no column '{field}'", hint)

    def _there(self) -> str:
        """Return a hint; never the cells: they are data where somebody forgot --no-header."""
        how = "choose by number, such as -k 1"
        if self._options.header:
            how = "-k NAME or a number (dpsan headers FILE); --no-header is for a first row of data"
        named = named_otherwise("csv tsv text", self._source.name)
        return named or f"{counted(self._width, 'column')}; {how}"

    def begin(self, row: Row) -> Record:
        """Return the header, or what stands for it."""
        if not self._options.header:
            return Record(row.line, [], Unchanged(b""), part="frame", fields=[self._fields])
        raw = self.joined(row.cells) + row.ending
        owes, fields = row.owes, [self._fields]
        return Record(row.line, [], Unchanged(raw), part="header", owes=owes, fields=fields)

    def record(self, row: Row) -> Record:
        """Return the record of a row.  Raises InputError: it has another number of cells."""
        cells = row.cells
        if len(cells) != self._width:
            what = f"{len(cells)} columns, expected {self._width}"
            hint = "check quotes and --format"
            raise InputError(self._source.name, what, hint, line=row.line)
        texts: list[str] = []
        invalid = 0
        for column in self.columns:
            text, bad = decode(self._source, row.line, value(cells[column]), self._options)
            texts.append(text)
            invalid += bad
        quoted = self._quoted
        if not self._options.header and not self._options.drop_other:
            others = {cell[:1] for at, cell in enumerate(cells) if at not in self.columns}
            quoted = set(self.columns) if others == {b'"'} else set()
        old = [] if invalid and not self._options.keep_equal else texts
        render = partial(self._written, row, quoted, old)
        size = sum(map(len, cells))
        record = Record(row.line, texts, render, invalid, owes=row.owes, size=size)
        record.kinds = self._kinds
        if self._unit is not None:
            cell = value(cells[self._unit])
            record.unit, _ = decode(self._source, row.line, cell, self._options)
        return record

    def joined(self, cells: list[bytes]) -> bytes:
        """Return a row; one empty cell alone gets quotes, or the line would hold no row."""
        return self.delimiter.join([cells[at] for at in self.written]) or b'""'

    def _written(self, row: Row, quoted: set[int], old: list[str], texts: list[str]) -> bytes:
        """Return a row with other texts in the chosen cells.

        The quotes of the old cell decide nothing: they would tell of a comma in one of its words.

        Args:
            old: texts of the chosen cells; none if they hold invalid sequences that are replaced.
        """
        cells = row.cells.copy()
        for at, (column, text) in enumerate(zip(self.columns, texts, strict=True)):
            # White space keeps its bytes: an empty cell in quotes is not a missing one.
            blank = self._options.keep_equal or not text or text.isspace()
            if not blank or [text] != old[at : at + 1]:
                cells[column] = self._cell(text, column in quoted)
        return self.joined(cells) + row.ending

    def _cell(self, text: str, quoted: bool) -> bytes:
        body = text.encode(self.encoding, errors="replace")
        # Empty, it would be a line without a row in a table of one column.
        if quoted or not body or self.special.search(body):
            return b'"' + body.replace(b'"', b'""') + b'"'
        return body
