"""Read the file of ``--spans``: spans of personal data that another tool found.

JSON lines, one object for each record::

    {"record": 3, "spans": [{"start": 0, "end": 5, "type": "NAME"}], "text": "Maria lives here"}

Offsets count code points; ``type`` (or ``label``) and ``subject`` (the person of the record whom a
span is about, for ``evaluate``) are optional, and other keys are ignored.
``record`` is the line of a record as in the audit log, ascending; records without an object have no
spans.  Without ``record``, there is one object for each record that has a text, in order.  If an
object has the record's ``text``, it must be the same.  Lines are read in step with the records.
"""

import codecs
from collections.abc import Container, Generator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

import orjson

from dpsan.errors import InputError
from dpsan.files.compression import open_decompressed
from dpsan.formats.base import Record
from dpsan.formats.text import raw_records
from dpsan.text.spanned_tokens import KNOWN_TYPES, UNKNOWN_TYPE

_LONGEST: Final = 1 << 30
"""Bytes of a line."""
_OFFSETS: Final = "start < end, in code points of the text"
_LAYOUT: Final = (
    'such as {"spans": [{"start": 0, "end": 5, "type": "NAME"}]}; docs/adapters converts the '
    "output of Presidio and spaCy"
)


class Span(NamedTuple):
    """A part of a text, in code points."""

    start: int
    end: int
    kind: str = ""
    """Its type, or nothing."""
    subject: str = ""
    """A name of the person, within the record."""


class _Row(NamedTuple):
    """A line of the file."""

    at: int
    record: int | None
    """Line of the record; None: the next record that has a text."""
    spans: list[Span]
    text: str | None


class SpanFile:
    """Yields the spans of each record in turn.

    Args:
        path: the file.
        types: names of types, in small letters; None: types have no meaning, and are left out.

    Raises:
        InputError: it cannot be read, has another layout, or a type that is none of these.
    """

    def __init__(self, path: Path, types: Container[str] | None = None) -> None:
        self._path, self._types = path, types
        self._rows = self._read()
        self._row = next(self._rows, None)
        self._numbered = self._row is not None and self._row.record is not None
        self._texts = self._line = 0

    def close(self) -> None:
        """Close the file; nothing is read from it any more."""
        self._rows.close()

    def of(self, line: int, text: str) -> list[Span]:
        """Return the spans of the next text, in the order of the file.

        Args:
            line: of its record in the input, as in the audit log.
            text: every span must be within it.

        Raises:
            InputError: the file has too few lines, is damaged, or was made for other texts.
        """
        self._texts += 1
        row = self._row
        if not self._numbered:
            if row is None:
                hint = 'a line for each record, {"spans": []} where nothing was found'
                self._fail(f"spans of {self._texts - 1} records, and there are more", hint)
            return self._taken(row, text, f"record {self._texts}")
        if line == self._line:
            self._fail(f"record {line}: two texts of the input have that number", "no numbers")
        self._line = line
        out: list[Span] = []
        while (row := self._row) is not None and row.record is not None and row.record <= line:
            if row.record < line:
                self._missing(row)
            out += self._taken(row, text, f"record {line}")
        return out

    def end(self) -> None:
        """Check that the file has no spans of more records.  Raises InputError."""
        if self._row is None:
            return
        if self._numbered:
            self._missing(self._row)
        many = self._texts + 1 + sum(1 for _ in self._rows)
        self._fail(f"spans of {many} records, but there are {self._texts} texts", "", self._row.at)

    def _taken(self, row: _Row, text: str, name: str) -> list[Span]:
        """Return the spans of a row, and read the next row."""
        if row.text is not None and row.text != text:
            self._fail(f"{name}: spans of another text", "are records missing?", row.at)
        if any(span.end > len(text) for span in row.spans):
            self._fail(f"{name}: a span ends after its text", _OFFSETS, row.at)
        self._row = following = next(self._rows, None)
        if following is not None:
            if (row.record is None) != (following.record is None):
                self._fail("a record's number here, and none elsewhere", "", following.at)
            if (following.record or 0) < (row.record or 0):
                what = f"record {following.record} after record {row.record}"
                self._fail(what, "sort the file", following.at)
        return row.spans

    def _missing(self, row: _Row) -> NoReturn:
        hint = "the number is the line of the record; see dpsan rewrite --audit"
        self._fail(f"record {row.record}: the input has no such text", hint, row.at)

    def _fail(self, what: str, hint: str, line: int | None = None) -> NoReturn:
        raise InputError(self._path, what, hint, line=line)

    def _read(self) -> Generator[_Row, None, None]:
        with open_decompressed(self._path, steady=True) as source:
            for item in raw_records(source, _LONGEST):
                if item is not None and item[1].strip():
                    yield self._parsed(item[0], item[1].removeprefix(codecs.BOM_UTF8))

    def _parsed(self, line: int, raw: bytes) -> _Row:
        try:
            value = orjson.loads(raw)
        except orjson.JSONDecodeError:
            self._fail("not JSON", _LAYOUT, line)
        try:
            record, text, spans = value.get("record"), value.get("text"), value["spans"]
            if record is not None and (type(record) is not int or record < 1):
                raise ValueError
            if not isinstance(text, str | None) or not isinstance(spans, list):
                raise TypeError
            parsed = [*map(_span, spans)]
        except (AttributeError, KeyError, TypeError, ValueError):
            self._fail("not an object with a list of spans", _LAYOUT, line)
        if self._types is not None and not all(s.kind.lower() in self._types for s in parsed):
            self._fail(UNKNOWN_TYPE, KNOWN_TYPES, line)
        return _Row(line, record, parsed, text)


def _span(value: dict[str, Any]) -> Span:
    start, end, kind = value["start"], value["end"], value.get("type", value.get("label"))
    if type(start) is not int or type(end) is not int or not 0 <= start < end:
        raise ValueError
    subject = value.get("subject")
    if not isinstance(kind, str | None) or not isinstance(subject, str | None):
        raise TypeError
    return Span(start, end, kind or "", subject or "")


def with_spans(
    records: Iterator[Record | None], path: Path, types: Container[str] | None = None
) -> Iterator[Record | None]:
    """Yield the same records; each that has a text gets its spans.

    Args:
        records: of one input, one text each at most.
        path: the file of spans, read in step.
        types: names of types, see :class:`SpanFile`.

    Raises:
        InputError: it cannot be read, its spans are not those of these records, or a record has
            several texts: spans of other records would let personal data pass.
    """
    with closing(SpanFile(path, types)) as file:
        for record in records:
            if record is not None and record.texts:
                if len(record.texts) > 1:
                    where = f"the record in line {record.line} has several texts"
                    raise InputError(path, where, "spans are for one --field with one text")
                spans = file.of(record.line, record.texts[0])
                record.spans = [span[:3] if types else span[:2] for span in spans]
            yield record
        file.end()
