"""Cut lines into the rows and cells of ``csv`` and ``tsv``.

Grammar (RFC 4180, with the liberties that spreadsheets take)::

    row    = cell *(delimiter cell) (LF / CRLF)     all rows have as many cells as the first
    cell   = DQUOTE *(any but DQUOTE / 2DQUOTE) DQUOTE / *(any but delimiter, CR before LF, LF)

A quote inside a cell that does not begin with one is an ordinary character; anything between a
closing quote and the next delimiter is an error, because programs disagree about it.  The standard
library's reader hands out values, from which the bytes cannot be had back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from dpsan.errors import InputError
from dpsan.files.source import Source
from dpsan.formats.base import ReadOptions, Record, Unchanged
from dpsan.formats.lines import byte_order_mark, text_records, too_long
from dpsan.text.patterns import compiled

_QUOTED: Final = compiled(rb'(?:[^"]++|"")*+')
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
        self._first = self._held = self._quotes = 0
        self._cells: list[bytes] = []
        self._open: list[bytes] = []
        """Pieces of a quoted cell that has not ended."""

    def __iter__(self) -> Iterator[Row | Record | None]:
        """Yield rows; the record of a byte order mark; None when idle.  Raises InputError."""
        for item in text_records(self._source, self._options, self._set_aside):
            if item is None:
                yield None
                continue
            line, raw, ending = item
            if line == 1:
                mark = byte_order_mark(self._source, raw)
                raw = raw[len(mark) :]
                if match := _SEPARATOR.fullmatch(raw):
                    if not self._options.delimiter:
                        self.delimiter = match[1]
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

    def _set_aside(self, raw: bytes, problem: InputError | None) -> None:
        """Reject a line that is too long, unless its cells begin before it or go on after it."""
        if problem:
            self._problem, self._quotes = problem, 0
        reject = self._options.reject
        if reject is None or self._open or self._problem.line == 1:
            raise self._problem
        reject(raw, problem)
        self._quotes += raw.count(b'"')
        if raw.endswith(b"\n") and self._quotes % 2:
            raise self._problem

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
            raise InputError(self._source.name, what, line=line)
        return Row(self._first, self._cells, raw[end:] + ending, owes)


def value(cell: bytes) -> bytes:
    """Return what a cell says, without its quotes."""
    return cell[1:-1].replace(b'""', b'"') if cell[:1] == b'"' else cell
