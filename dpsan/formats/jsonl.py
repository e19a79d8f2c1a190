"""``jsonl``: one JSON value a line (JSON Lines, NDJSON), RFC 8259, always UTF-8."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import ClassVar

from dpsan.errors import InputError, MalformedError
from dpsan.files.source import Source
from dpsan.formats.base import Format, ReadOptions, Record, Unchanged
from dpsan.formats.json_records import JsonReader, Taken
from dpsan.formats.json_scan import is_blank
from dpsan.formats.lines import byte_order_mark, raw_records, text_records


class JsonlFormat(Format):
    """Lines of JSON."""

    name: ClassVar[str] = "jsonl"
    joinable = takes_budget = copyable = takes_spans = takes_fields = needs_fields = True
    field_paths = takes_units = skips_bad_records = True
    own_encoding: ClassVar[str] = "jsonl is always UTF-8"

    def read(self, source: Source, options: ReadOptions) -> Iterator[Record | None]:
        reader = JsonReader(self.name, source, options)
        return reader.held_back(_records(source, options, reader))

    def labels(self, source: Source, field: str, options: ReadOptions) -> Iterator[str]:
        """Yield a top-level member of each object, also where it is a number."""
        import orjson

        for item in raw_records(source, options.max_record):
            if item is None or is_blank(item[1]):
                continue
            try:
                label = orjson.loads(item[1].removeprefix(BOM_UTF8))[field]
            except (orjson.JSONDecodeError, KeyError, TypeError):
                raise InputError(source.name, f"no label '{field}'", line=item[0]) from None
            if isinstance(label, list | dict) or label is None:
                what = "a label must be a string or a number"
                raise InputError(source.name, what, line=item[0])
            yield str(label)


def _records(source: Source, options: ReadOptions, reader: JsonReader) -> Iterator[Taken | None]:
    """Yield each record, and which fields it has."""
    for item in text_records(source, options, options.reject):
        if item is None:
            yield None
            continue
        line, raw, ending = item
        if line == 1 and (mark := byte_order_mark(source, raw)):
            raw = raw[len(mark) :]
            yield Record(1, [], Unchanged(mark), part="mark"), set()
        owes = b"" if ending else b"\n"
        if is_blank(raw):
            yield Record(line, [], Unchanged(raw + ending), owes=owes), set()
            continue
        array = line == 1 and raw.lstrip().startswith(b"[")
        hint = "one JSON array? -f json reads it" if array else ""
        position = reader.positions.top
        try:
            taken = reader.record(line, raw, ending, position, hint)
        except MalformedError as error:
            what = f"invalid JSON at byte {error.at + 1}"
            problem = InputError(source.name, what, hint, line=line)
        except InputError as error:
            problem = error
        else:
            taken[0].owes = owes
            yield taken
            del taken  # a long line is not kept while the next one comes
            continue
        if options.reject is None:
            raise problem from None
        options.reject(raw + (ending or b"\n"), problem)
