"""Spans of records, as tools that find personal data write them.

Knows three layouts, told apart by content.  Must not know what spans are for.

JSON lines or one JSON list, a value for each record: a list of spans, as Presidio's analyzer
returns it, or an object with a list ``spans`` or, as spaCy's ``Doc.to_json`` writes it, ``ents``
(groups of spans in it count too).  A span has ``start`` and ``end`` (or ``start_position`` and
``end_position``) and perhaps ``entity_type``, ``label`` or ``type``; everything else is ignored, a
score as well.  If such an object has the record's ``text`` (or ``full_text``), it must be that.
Lines between tabs: record, start, end and perhaps a type, or these in the order of a header.

Offsets count code points.  A ``record`` (or ``line``) is the line of a record as the audit has it,
ascending; the others have no spans.  Without one, the values are those of all records that have a
text, in order.  Lines are read in step with the records, a list is read whole.
"""

from __future__ import annotations

import codecs
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Final, NoReturn

import orjson

from dpsan.errors import InputError
from dpsan.files.source import opened
from dpsan.formats.text import raw_records

_MOST: Final = 1 << 30
"""Longest line: a list of all records may be one."""
_SPANS: Final = 'such as {"spans": [{"start": 0, "end": 5, "type": "NAME"}]}'
_OFFSETS: Final = "start < end, in code points of the text"
_LAYOUTS: Final = "JSON, or lines such as 1<TAB>0<TAB>5: record, start, end"
_COLUMNS: Final = ((b"record", b"line"), (b"start",), (b"end",))
_KINDS: Final = ("type", "entity_type", "label")


@dataclass(frozen=True, slots=True)
class Span:
    """One stretch of a text, in code points."""

    start: int
    end: int
    kind: str = ""
    """Its type, or nothing."""


@dataclass(frozen=True, slots=True)
class _Row:
    """Spans of one record."""

    at: int | None
    """Line of the file, None within one JSON value."""
    record: int | None
    """Line of the record; None: the next one that has a text."""
    spans: list[Span]
    text: str | None = None
    """The text that they were found in, where the file has it."""


class SpanFile:
    """Gives the spans of each record in turn.

    Args:
        path: the file.

    Raises:
        InputError: it cannot be read, or is of no known layout.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows = self._read()
        self._numbered = False
        self._row = next(self._rows, None)
        if self._row is not None:
            self._numbered = self._row.record is not None
        self._texts = self._line = 0

    def close(self) -> None:
        """Close the file; nothing is read from it any more."""
        self._rows.close()

    def of(self, line: int, text: str) -> list[Span]:
        """The spans of the next text, in the order of the file.

        Args:
            line: of its record in the input, as the audit has it.
            text: for each span must be within it.

        Raises:
            InputError: the file has not as many values, is damaged, or was made for other texts.
        """
        self._texts += 1
        if not self._numbered:
            row = self._row
            if row is None:
                self._fail(
                    f"spans of {self._texts - 1} records, and there are more",
                    "a value for each record, [] where nothing was found",
                )
            found = self._checked(row, text, f"record {self._texts}")
            self._advance()
            return found
        if line == self._line:
            self._fail(f"record {line}: two texts of the input have that number", "no numbers")
        self._line = line
        out: list[Span] = []
        while (row := self._row) is not None and row.record is not None and row.record <= line:
            if row.record < line:
                self._missing(row)
            out += self._checked(row, text, f"record {line}")
            self._advance()
        return out

    def end(self) -> None:
        """All records were seen.  Raises InputError: the file has spans of more."""
        if self._row is None:
            return
        if self._numbered:
            self._missing(self._row)
        many = self._texts + 1 + sum(1 for _ in self._rows)
        self._fail(f"spans of {many} records, but there are {self._texts} texts", "", self._row.at)

    def _advance(self) -> None:
        before, self._row = self._row, next(self._rows, None)
        if before is None or self._row is None:
            return
        one, other = before.record, self._row.record
        if (one is None) != (other is None):
            self._fail("a value with a record's number and one without", "", self._row.at)
        if one is not None and other is not None and other < one:
            self._fail(f"record {other} behind record {one}", "sort the file", self._row.at)

    def _missing(self, row: _Row) -> NoReturn:
        hint = "the number is the line of the record; see dpsan rewrite --audit"
        self._fail(f"record {row.record}: the input has no such text", hint, row.at)

    def _checked(self, row: _Row, text: str, name: str) -> list[Span]:
        if row.text is not None and row.text != text:
            self._fail(f"{name}: spans of another text", "are records missing?", row.at)
        if any(span.end > len(text) for span in row.spans):
            self._fail(f"{name}: a span ends behind its text", _OFFSETS, row.at)
        return row.spans

    def _fail(self, what: str, hint: str, line: int | None = None) -> NoReturn:
        raise InputError(self._path, what, hint, line=line)

    # --- layouts ---

    def _read(self) -> Generator[_Row, None, None]:
        with opened(self._path, steady=True) as source:
            items = (item[:2] for item in raw_records(source, b"\n", _MOST) if item is not None)
            lines = (item for item in items if item[1].strip())
            at, first = next(lines, (0, b""))
            if not at:
                self._fail("empty", _LAYOUTS)
            first = first.removeprefix(codecs.BOM_UTF8)
            if first.lstrip()[:1] in (b"[", b"{"):
                yield from self._json(at, first, lines)
            else:
                yield from self._tabs(at, first, lines)

    def _json(self, at: int, first: bytes, lines: Iterator[tuple[int, bytes]]) -> Iterator[_Row]:
        try:
            value = orjson.loads(first)
        except orjson.JSONDecodeError:  # it goes on in other lines, or is damaged
            value, second = self._whole(at, first, lines), None
        else:
            second = next(lines, None)
        if second is None:
            each = value if isinstance(value, list) and not _is_record(value) else [value]
            for number, one in enumerate(each, start=1):
                yield self._value(None, number, one)
            return
        yield self._value(at, 1, value)
        for number, (line, raw) in enumerate(chain((second,), lines), start=2):
            try:
                value = orjson.loads(raw)
            except orjson.JSONDecodeError:
                self._fail("not JSON", "a JSON list, or one JSON value a line", line)
            yield self._value(line, number, value)

    def _whole(self, at: int, first: bytes, lines: Iterator[tuple[int, bytes]]) -> Any:
        pieces = {at: first, **dict(lines)}
        try:
            return orjson.loads(b"\n".join(pieces.values()))
        except orjson.JSONDecodeError as error:
            line = [*pieces][min(error.lineno, len(pieces)) - 1]
            self._fail("not JSON", "a JSON list, or one JSON value a line", line)

    def _value(self, line: int | None, number: int, value: Any) -> _Row:
        """The spans of a JSON value, the ``number``-th."""
        record = text = None
        spans = value
        try:
            if isinstance(value, dict):
                record = value.get("record", value.get("line"))
                if record is not None and (type(record) is not int or record < 1):
                    raise ValueError
                if record is not None and _is_span(value):
                    spans = [value]
                else:
                    groups = [value[name] for name in ("spans", "ents") if name in value]
                    spans = [span for group in groups for span in _ungrouped(group)]
                    if not groups:
                        raise ValueError
                    text = value.get("text", value.get("full_text"))
            if not isinstance(spans, list):
                raise TypeError
            found = [_span(each) for each in spans]
        except (KeyError, TypeError, ValueError):
            known = type(record) is int  # a name could be anything
            self._fail(f"record {record if known else number}: not a list of spans", _SPANS, line)
        return _Row(line, record, found, text if isinstance(text, str) else None)

    def _tabs(self, at: int, first: bytes, lines: Iterator[tuple[int, bytes]]) -> Iterator[_Row]:
        cells = [each.strip() for each in first.split(b"\t")]
        columns: list[int | None] = [0, 1, 2, 3]
        self._numbered = True  # also if no line follows its header
        if cells[0].isdigit():
            lines = chain(((at, first),), lines)
        else:
            names = [each.lower() for each in cells]
            kinds = tuple(each.encode() for each in _KINDS)
            columns = [
                next((names.index(each) for each in known if each in names), None)
                for known in (*_COLUMNS, kinds)
            ]
            if None in columns[:3]:
                self._fail("not spans", _LAYOUTS, at)
        for line, raw in lines:
            cells = [each.strip() for each in raw.split(b"\t")]
            record, start, end, kind = (
                cells[place] if place is not None and place < len(cells) else b""
                for place in columns
            )
            numbers = [int(each) if each.isdigit() else -1 for each in (record, start, end)]
            if max(map(len, (record, start, end))) > 18 or numbers[0] < 1:
                self._fail("not a record, start and end between tabs", "", line)
            if not 0 <= numbers[1] < numbers[2]:
                self._fail(f"record {numbers[0]}: not a span", _OFFSETS, line)
            span = Span(numbers[1], numbers[2], kind.decode(errors="replace"))
            yield _Row(line, numbers[0], [span])


def _is_span(value: Any) -> bool:
    return isinstance(value, dict) and ("start" in value or "start_position" in value)


def _is_record(value: list[Any]) -> bool:
    """Whether a list is the spans of one record and not a list of records."""
    return not value or (_is_span(value[0]) and not {"record", "line", "spans"} & set(value[0]))


def _ungrouped(spans: Any) -> list[Any]:
    """A list of spans, or all those of spaCy's groups."""
    if isinstance(spans, dict):
        spans = [span for group in spans.values() for span in _ungrouped(group)]
    if not isinstance(spans, list):
        raise TypeError
    return spans


def _span(value: dict[str, Any]) -> Span:
    start = value["start"] if "start" in value else value["start_position"]
    end = value["end"] if "end" in value else value["end_position"]
    if type(start) is not int or type(end) is not int or not 0 <= start < end:
        raise ValueError
    return Span(start, end, str(next((value[name] for name in _KINDS if value.get(name)), "")))
