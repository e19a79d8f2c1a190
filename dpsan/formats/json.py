"""``json``: a JSON document, however it is laid out: an array of records, one object, or several.

Knows where a document's records begin and end; what becomes of each is that of ``jsonl``.  Only the
bytes of the chosen strings change.

The items of an array are its records, so ``--field text`` means the field of an item;
``--field '[].text'`` says the same, and ``'[]'`` an array of strings.  Other values, one behind the
other with white space between them, are a record each: JSON lines, or what ``jq .`` writes.  A
document is read as a whole, ``--max-record`` long at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from dpsan.errors import InputError, UsageError
from dpsan.formats.base import Format, ReadOptions, Record, Source, Unchanged
from dpsan.formats.json_scan import (
    EMPTY_LIST,
    MalformedError,
    Node,
    behind_space,
    following,
    is_blank,
    opening_of,
    value_end,
)
from dpsan.formats.jsonl import Taken, fields_of, hold_back, record_of
from dpsan.formats.source import read_whole
from dpsan.formats.text import byte_order_mark


class JsonFormat(Format):
    """A JSON document."""

    name: ClassVar[str] = "json"
    joinable: ClassVar[bool] = False

    def read(self, source: Source, options: ReadOptions) -> Iterator[Record | None]:
        """See :class:`Format`."""
        if options.null_data:
            raise UsageError("json has no records that end with NUL", "leave out -z")
        fields, root = fields_of(self.name, source, options)
        return hold_back(source, fields, _records(source, options, root), options.max_record)


def _records(source: Source, options: ReadOptions, root: Node) -> Iterator[Taken | None]:
    """Frames and records in order."""
    data = read_whole(source, "JSON document", options.max_record)
    at = 0
    if mark := byte_order_mark(source, data):
        at = len(mark)
        yield Record(1, [], Unchanged(mark), part="mark"), set(), 0
    line = 1
    try:
        while not is_blank(data, at):
            inner = opening_of(data, at)
            if inner is None:  # a value that is no array is a record
                end = value_end(data, at)
                first = line + data.count(b"\n", at, behind_space(data, at))
                yield record_of(source, options, root, first, data[at:end], b"")
                line += data.count(b"\n", at, end)
                at = end
                continue
            yield _frame(line, data[at:inner])
            line += data.count(b"\n", at, inner)
            at, closed = inner, EMPTY_LIST.match(data, inner)
            if closed:
                yield _frame(line, closed[0])
                at = closed.end()
            while not closed:
                end = value_end(data, at)
                behind, closing = following(data, end)
                item = root.items or root
                first = line + data.count(b"\n", at, behind_space(data, at))
                yield record_of(source, options, item, first, data[at:end], data[end:behind])
                line += data.count(b"\n", at, behind)
                at = behind
                if closing:
                    break
    except MalformedError as error:
        wrong = behind_space(data, error.at)
        begin = data.rfind(b"\n", 0, wrong) + 1
        raise InputError(
            source.name,
            f"invalid JSON at byte {wrong - begin + 1}",
            line=data.count(b"\n", 0, wrong) + 1,
        ) from None
    yield _frame(line, data[at:])


def _frame(line: int, raw: bytes) -> Taken:
    return Record(line, [], Unchanged(raw), part="frame"), set(), 0
