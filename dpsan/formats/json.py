"""``json``: a JSON document, however it is laid out: an array of records, one object, or several.

The items of an array are its records, so ``--field text`` means the field of an item;
``--field '[].text'`` says the same, and ``'[]'`` an array of strings.  Other values, one after the
other with white space between them, are a record each: JSON lines, or what ``jq .`` writes.  A
document is read as a whole, 64 MiB long at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from dpsan.errors import MalformedError
from dpsan.files.source import Source, read_whole
from dpsan.formats.base import Format, ReadOptions, Record, Unchanged
from dpsan.formats.json_records import JsonReader, Taken
from dpsan.formats.json_scan import EMPTY_LIST, Scan, after_space, following, is_blank, opening_of
from dpsan.formats.lines import byte_order_mark


class JsonFormat(Format):
    """A JSON document."""

    name: ClassVar[str] = "json"
    takes_budget = takes_spans = takes_fields = needs_fields = field_paths = takes_units = True
    own_encoding: ClassVar[str] = "json is always UTF-8"

    def read(self, source: Source, options: ReadOptions) -> Iterator[Record | None]:
        reader = JsonReader(self.name, source, options)
        return reader.held_back(_records(source, options, reader))


def _records(source: Source, options: ReadOptions, reader: JsonReader) -> Iterator[Taken | None]:
    """Yield frames and records in order."""
    data = read_whole(source, "JSON document", options.max_record)
    at = 0
    if mark := byte_order_mark(source, data):
        at = len(mark)
        yield Record(1, [], Unchanged(mark), part="mark"), set()
    line, inside = 1, False
    try:
        while inside or not is_blank(data, at):
            inner = None if inside else opening_of(data, at)
            if inner is not None:  # the items of an array are its records
                empty = EMPTY_LIST.match(data, inner)
                after, inside = empty.end() if empty else inner, not empty
                yield _frame(line, data[at:after])
            else:
                end = Scan(data, None, at=at).end
                position, after = reader.positions.top, end
                if inside:
                    after, closing = following(data, end)
                    inside = not closing
                    if position.node and position.node.items:
                        position = reader.positions.item(position)
                first = line + data.count(b"\n", at, after_space(data, at))
                raw, ending = data[at:end], data[end:after]
                yield reader.record(first, raw, ending, position)
            line += data.count(b"\n", at, after)
            at = after
    except MalformedError as error:
        wrong = MalformedError(after_space(data, error.at), "invalid JSON")
        raise wrong.in_file(source.name, data) from None
    yield _frame(line, data[at:])


def _frame(line: int, raw: bytes) -> Taken:
    return Record(line, [], Unchanged(raw), part="frame"), set()
