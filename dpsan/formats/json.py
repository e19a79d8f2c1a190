"""``json`` and ``jsonl``: the chosen strings of values, and the values with other strings.

``jsonl`` is one JSON value a line (JSON Lines, NDJSON).  ``json`` is a document, however it is laid
out: an array of records, one object, or several.  The items of an array are its records, so
``--field text`` means the field of an item; ``--field '[].text'`` says the same, and ``'[]'`` an
array of strings.  Other values, one after the other with white space between them, are a record
each, as ``jq .`` writes.  A document is read as a whole, 64 MiB long at most.

Only the bytes of the chosen strings change: white space, order, duplicate keys, the digits of
numbers and the escapes of everything else stay as they are, because no value is parsed and written
again; NaN and Infinity, as Python writes them, pass too.  A chosen string has escapes only where
JSON needs one, however it was written: they would tell which words were in it.

A string in a chosen field is sanitized (with duplicate keys: each of them); null stays null; a
record without the field passes unchanged and is counted; any other value, on the way or at its end,
is an error, or passes and is named where a path has ``*``.  A name that no record has is most often
misspelt, and everything would pass unchanged: records are held back until every field has been
seen, :data:`_HELD` at most, and without it the input fails with nothing written.
``--field 'NAME?'`` lifts that.  The paths of all other values are named
(:class:`~dpsan.formats.passing.Positions`).
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar, Final

from dpsan.errors import InputError, MalformedError, UsageError
from dpsan.files.source import Source, read_whole
from dpsan.formats import json_scan, kinds, passing, paths
from dpsan.formats.base import Format, ReadOptions, Record, Unchanged
from dpsan.formats.text import byte_order_mark, decode, text_encoding, text_records

_HELD: Final = 1024
_HELD_BYTES: Final = 16 << 20
"""Records kept back, while a field has not been seen, before the input is refused."""
_KINDS: Final = {
    b'"': "a string",
    b"{": "an object",
    b"[": "a list",
    b"t": "true",
    b"f": "false",
    b"n": "null",
}


class JsonReader:
    """Makes records of the values of an input.

    Args:
        name: of the format.

    Raises:
        UsageError: an encoding that is not JSON's, or a wrong path.
        InputError: no field.
    """

    def __init__(self, name: str, source: Source, options: ReadOptions) -> None:
        if text_encoding(options.encoding) != "utf-8":
            raise UsageError(f"{name} is always UTF-8", "leave out --encoding")
        self._source, self._options = source, options
        self._fields = paths.parse_fields(options.fields)
        if not self._fields:
            raise InputError(source.name, f"{name} needs --field", "such as --field text")
        unit = options.unit_field
        self._unit_steps = paths.parse_field(unit).steps if unit else ()
        excluded = paths.parse_fields(options.excluded, "--except")
        self.from_lists = None in {field.steps[0] for field in (*self._fields, *excluded)}
        """True if paths begin at the list whose items are the records."""
        requested = tuple(field.name for field in self._fields)
        fields = passing.Fields("field", requested=requested, left_out=options.drop_other)
        self._keys = passing.Fields("key") if any(field.wild for field in self._fields) else None
        root = paths.places(self._fields, excluded)
        self.positions = self._kept = passing.Positions(root, self._fields, fields, self._keys)
        if options.drop_other:  # of the names of members that are left out, none passes
            self.positions = passing.Positions(root, self._fields, fields)
        self._unseen = {number for number, at in enumerate(self._fields) if not at.optional}
        """Fields that no record had so far, and one must have."""

    def record(
        self, line: int, raw: bytes, ending: bytes, position: passing.Position, hint: str = ""
    ) -> Record:
        """Return the record that some bytes are.

        Args:
            position: where the record begins: at the top, or as an item of a list.
            hint: for a value that is no object.

        Raises:
            MalformedError: they are no JSON.
            InputError: a chosen field holds something else than text.
        """
        source, options, positions = self._source, self._options, self.positions
        if options.invalid == "error":
            decode(source, line, raw, options)
        persons, invalid = self._kept.persons, 0

        def read(part: bytes) -> str:
            nonlocal invalid
            text, bad = decode(source, line, part, options)
            invalid += bad
            return text

        try:
            strings = json_scan.Strings(raw, position, positions, read)
            if not json_scan.is_blank(raw, strings.end):
                raise MalformedError(strings.end)
            unit = self._unit(line, raw) if self._unit_steps else ""
            if options.drop_other:
                raw = json_scan.pruned(raw, position.place) + raw[strings.end :]
                top = self._kept.top
                at = top if position is positions.top else self._kept.item(top)
                strings = json_scan.Strings(raw, at, self._kept, read)
        except RecursionError:
            raise InputError(source.name, json_scan.TOO_DEEP, line=line) from None
        except json_scan.KindError as error:
            what = f"field '{error.path}'" if error.path else "record"
            what += f" is {_KINDS.get(error.found, 'a number')}, not {error.wanted}"
            if error.path:
                hint = f"its items: {error.path}[]" if error.found == b"[" else ""
            raise InputError(source.name, what, hint, line=line) from None
        for number in strings.seen:
            if not self._fields[number].wild:
                positions.fields.chosen[self._fields[number].name] = None

        def render(texts: list[str]) -> bytes:
            return strings.written(iter(texts), keep_equal=options.keep_equal) + ending

        bare = not strings.seen
        record = Record(line, strings.texts, render, invalid, size=len(raw), bare=bare)
        record.unit = unit
        persons = self._kept.persons - persons
        record.noted = {passing.PERSONS: persons} if persons else None
        names = [self._fields[number].name for number in strings.fields]
        record.kinds = options.classes(names, strings.paths, positions.fields.typed)
        self._unseen -= strings.seen
        return record

    def _unit(self, line: int, raw: bytes) -> str:
        """Return the string or the digits of a number that names the unit of a record."""
        try:
            value = json.loads(raw, parse_int=str, parse_float=str)
            for step in self._unit_steps:
                value = value[step]
        except (LookupError, TypeError, ValueError, RecursionError):
            value = None
        if not isinstance(value, str):
            name, others = self._options.unit_field, self.positions.fields.others
            what = f"no string or number in the field '{name}'"
            near = "" if name in others else paths.near_path(name, others) or self._there()
            raise InputError(self._source.name, what, near, line=line)
        return value

    def held_back(self, records: Iterator[Record | None]) -> Iterator[Record | None]:
        """Yield the records, once every field has been seen.  Raises InputError: one never is."""
        fields = [field for field in (self.positions.fields, self._keys) if field is not None]
        yield Record(1, [], Unchanged(b""), part="frame", fields=fields)
        waiting: list[Record] = []
        size = line = 0
        for record in records:
            if record is None or not (self._unseen or waiting):
                yield record
                continue
            line, size = record.line, size + record.size
            waiting.append(record)
            if not self._unseen:
                yield from waiting
                waiting.clear()
            elif len(waiting) >= _HELD or size > _HELD_BYTES:
                break
        if self._unseen and size:
            raise self._missing(sorted(self._unseen), line)
        yield from waiting

    def _missing(self, unseen: list[int], line: int) -> InputError:
        """Return the error for fields that no record has.

        Names are shown if they are schema: a record has another chosen field, or a usual one.
        """
        names = ", ".join(f"'{self._fields[number].name}'" for number in unseen)
        fields = self.positions.fields
        name = self._fields[unseen[0]].name
        excluded = name in fields.others
        hint = "--except leaves it out" if excluded else paths.near_path(name, fields.others)
        parts = (self._there(), "add ? to the name if it may be absent")
        what = f"no record up to line {line} has the field {names}"
        return InputError(self._source.name, what, hint or "; ".join(filter(None, parts)))

    def _there(self) -> str:
        """Return a hint that lists the fields, as far as they are schema; else nothing."""
        fields = self.positions.fields
        every = fields.chosen | fields.others
        there = [*every] if fields.chosen else kinds.known_paths(every)
        return f"fields: {passing.shown_names(there)}" if there != ["*"] else ""


class JsonlFormat(Format):
    """Lines of JSON."""

    name: ClassVar[str] = "jsonl"
    joinable = takes_budget = copyable = takes_spans = takes_fields = needs_fields = True
    field_paths = nested = takes_units = skips_bad_records = True
    own_encoding: ClassVar[str] = "jsonl is always UTF-8"

    def read(self, source: Source, options: ReadOptions) -> Iterator[Record | None]:
        reader = JsonReader(self.name, source, options)
        return reader.held_back(_lines(source, options, reader))

    def labels(self, source: Source, field: str, options: ReadOptions) -> Iterator[str]:
        """Yield a member of each record, also where it is a number."""
        for record in self.read(source, replace(options, fields=("**",), unit_field=field)):
            if record is not None and (record.unit or record.texts):
                yield record.unit


_QUOTED: Final = "JSON has double quotation marks: json.dumps"


def _lines(source: Source, options: ReadOptions, reader: JsonReader) -> Iterator[Record | None]:
    """Yield each record."""
    for item in text_records(source, options):
        if item is None:
            yield None
            continue
        line, raw, ending = item
        if line == 1 and (mark := byte_order_mark(source, raw)):
            raw = raw[len(mark) :]
            yield Record(1, [], Unchanged(mark), part="mark")
        owes = b"" if ending else b"\n"
        if json_scan.is_blank(raw):
            yield Record(line, [], Unchanged(raw + ending), owes=owes)
            continue
        array = line == 1 and raw.lstrip().startswith(b"[")
        other = kinds.named_otherwise("jsonl", source.name)
        hint = "one JSON array? -f json reads it" if array else other
        if line == 1 and raw.strip() == b"{":
            hint = "records of several lines? -f json reads them"
        position = reader.positions.top
        try:
            record = reader.record(line, raw, ending, position, hint)
        except MalformedError as error:
            what = f"invalid JSON at byte {error.at + 1}"
            out = "dpsan rewrite --bad-records FILE takes such records out" * (not options.reject)
            hint = _QUOTED * (raw[error.at : error.at + 1] == b"'") or hint or out
            problem = InputError(source.name, what, hint, line=line)
        except InputError as error:
            problem = error
        else:
            record.owes = owes
            yield record
            del record  # a long line is not kept while the next one comes
            continue
        if options.reject is None:
            raise problem from None
        options.reject(raw + (ending or b"\n"), problem)


class JsonFormat(Format):
    """A JSON document."""

    name: ClassVar[str] = "json"
    takes_budget = takes_spans = takes_fields = needs_fields = True
    field_paths = nested = takes_units = True
    own_encoding: ClassVar[str] = "json is always UTF-8"

    def read(self, source: Source, options: ReadOptions) -> Iterator[Record | None]:
        reader = JsonReader(self.name, source, options)
        return reader.held_back(_items(source, options, reader))


def _items(source: Source, options: ReadOptions, reader: JsonReader) -> Iterator[Record | None]:
    """Yield frames and records in order."""
    data = read_whole(source, "JSON document", options.max_record)
    at = 0
    if mark := byte_order_mark(source, data):
        at = len(mark)
        yield Record(1, [], Unchanged(mark), part="mark")
    line, inside = 1, False
    try:
        while inside or not json_scan.is_blank(data, at):
            inner = None if inside else json_scan.opening_of(data, at)
            if inner is not None:  # the items of an array are its records
                empty = json_scan.EMPTY_LIST.match(data, inner)
                after, inside = empty.end() if empty else inner, not empty
                yield Record(line, [], Unchanged(data[at:after]), part="frame")
            else:
                end = json_scan.Scan(data, None, at=at).end
                position, after = reader.positions.top, end
                if inside:
                    after, closing = json_scan.following(data, end)
                    inside = not closing
                    if reader.from_lists:
                        position = reader.positions.item(position)
                first = line + data.count(b"\n", at, json_scan.after_space(data, at))
                raw, ending = data[at:end], data[end:after]
                yield reader.record(first, raw, ending, position)
            line += data.count(b"\n", at, after)
            at = after
    except MalformedError as error:
        at = json_scan.after_space(data, error.at)
        hint = _QUOTED * (data[at : at + 1] == b"'") or kinds.named_otherwise("json", source.name)
        wrong = MalformedError(at, "invalid JSON", hint)
        raise wrong.in_file(source.name, data) from None
    yield Record(line, [], Unchanged(data[at:]), part="frame")
