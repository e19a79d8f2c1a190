r"""``jsonl``: one JSON value a line (JSON Lines, NDJSON), RFC 8259, always UTF-8.

Only the bytes of the chosen strings change: white space, order, duplicate keys, the digits of
numbers and the escapes of everything else stay as they are, because no value is parsed and written
again; NaN and Infinity, as Python writes them, pass too.  A chosen string has escapes only where
JSON needs one, however it was written: they would tell which words were in it.

What is done with a chosen field: a string is sanitized (with duplicate keys: each of them); null
stays null; a record without the field passes unchanged and is counted; any other value, on the way
or at its end, is an error.  A name that no record has is most often misspelt, and everything would
pass unchanged: records are held back until every field has been seen, :data:`_HELD` at most, and
without it the input fails with nothing written.  ``--field 'NAME?'`` lifts that.  The paths of all
other values are named (:class:`~dpsan.formats.json_scan.Places`).
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final, TypeAlias

from dpsan.errors import InputError, MalformedError, UsageError
from dpsan.files.source import Source
from dpsan.formats.base import Format, ReadOptions, Record, Unchanged
from dpsan.formats.fields import Field, parse_field
from dpsan.formats.json_scan import (
    KindError,
    Node,
    Place,
    Places,
    Scan,
    is_blank,
    parsed,
    pruned,
    written,
)
from dpsan.formats.near_names import near_path
from dpsan.formats.passing import Fields, shown_names
from dpsan.formats.text import (
    byte_order_mark,
    decode,
    raw_records,
    text_encoding,
    text_records,
)

_HELD: Final = 1024
"""Records kept back, while a field has not been seen, before the input is refused."""


_KINDS: Final = {
    b'"': "a string",
    b"{": "an object",
    b"[": "a list",
    b"t": "true",
    b"f": "false",
    b"n": "null",
}


class JsonlFormat(Format):
    """Lines of JSON."""

    name: ClassVar[str] = "jsonl"
    joinable: ClassVar[bool] = True
    takes_budget: ClassVar[bool] = True
    copyable: ClassVar[bool] = True
    takes_spans: ClassVar[bool] = True
    takes_fields: ClassVar[bool] = True
    needs_fields: ClassVar[bool] = True
    field_paths: ClassVar[bool] = True
    own_encoding: ClassVar[str] = "jsonl is always UTF-8"
    takes_null_data: ClassVar[bool] = True
    skips_bad_records: ClassVar[bool] = True

    def read(self, source: Source, options: ReadOptions) -> Iterator[Record | None]:
        fields, places = fields_of(self.own_encoding, source, options)
        records = self._records(source, options, places)
        return hold_back(source, fields, places, records, options.max_record)

    def labels(self, source: Source, field: str, options: ReadOptions) -> Iterator[str]:
        """Yield a top-level member of each object, also where it is a number."""
        import orjson

        for item in raw_records(source, b"\n", options.max_record):
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

    @staticmethod
    def _records(source: Source, options: ReadOptions, places: Places) -> Iterator[Taken | None]:
        """Each record, and which fields it has."""
        separator = b"\0" if options.null_data else b"\n"
        for item in text_records(source, separator, options):
            if item is None:
                yield None
                continue
            line, raw, ending = item
            if line == 1 and (mark := byte_order_mark(source, raw)):
                raw = raw[len(mark) :]
                yield Record(1, [], Unchanged(mark), part="mark"), set()
            owes = b"" if ending else separator
            if is_blank(raw):
                yield Record(line, [], Unchanged(raw + ending), owes=owes), set()
                continue
            array = line == 1 and raw.lstrip().startswith(b"[")
            hint = "one JSON array? -f json reads it" if array else ""
            try:
                taken = record_of(
                    source, options, places, places.top, line, raw, ending, owes, hint
                )
            except MalformedError as error:
                what = f"invalid JSON at byte {error.at + 1}"
                problem = InputError(source.name, what, hint, line=line)
            except InputError as error:
                problem = error
            else:
                yield taken
                del taken  # a long line is not kept while the next one comes
                continue
            if options.aside is None:
                raise problem from None
            options.aside(raw + (ending or separator), problem)


Taken: TypeAlias = tuple[Record, set[int]]
"""A record, and which fields it has."""


def fields_of(utf8: str, source: Source, options: ReadOptions) -> tuple[list[Field], Places]:
    """The chosen fields, and the tree of their paths.

    Args:
        utf8: sentence that refuses another encoding.

    Raises:
        UsageError: an encoding that is not JSON's, or a wrong path.
        InputError: no field.
    """
    if text_encoding(options.encoding) != "utf-8":
        raise UsageError(utf8, "leave out --encoding")
    fields = [parse_field(each) for each in options.fields]
    if not fields:
        raise InputError(source.name, f"{utf8.split()[0]} needs --field", "such as --field text")
    root = Node("")
    for number, each in enumerate(fields):
        node = root
        for step in each.steps:
            node = node.child(step)
        node.field = number
    asked = tuple(each.name for each in fields)
    passing = Fields("field", asked=asked, left_out=options.drop_other)
    return fields, Places(root, passing)


def record_of(
    source: Source,
    options: ReadOptions,
    places: Places,
    place: Place,
    line: int,
    raw: bytes,
    ending: bytes,
    owes: bytes = b"",
    hint: str = "",
) -> Taken:
    """The record that some bytes are; the hint is for a value that is no object.

    Args:
        places: of the input.
        place: where the record begins: at the top, or as an item of a list.

    Raises:
        MalformedError: they are no JSON.
        InputError: a chosen field holds something else than text.
    """
    if options.invalid == "error":
        decode(source, line, raw, options)
    try:
        scan = Scan(raw, place, places)
        if not is_blank(raw, scan.end):
            raise MalformedError(scan.end)
        if options.drop_other:
            raw = pruned(raw, place.node) + raw[scan.end :]
            scan = Scan(raw, place, places)
    except KindError as error:
        kind = _KINDS.get(error.found, "a number")
        what = f"field '{error.path}'" if error.path else "record"
        raise InputError(
            source.name,
            f"{what} is {kind}, not {error.wanted}",
            "" if error.path else hint,
            line=line,
        ) from None
    texts: list[str] = []
    invalid = 0
    for start, end in scan.spans:
        text, bad = decode(source, line, raw[start:end], options)
        texts.append(parsed(text))
        invalid += bad
    for number in scan.seen:
        places.fields.chosen[places.fields.asked[number]] = None
    record = Record(
        line,
        texts,
        _Render(raw, ending, scan.spans, texts),
        invalid,
        owes=owes,
        size=len(raw),
        bare=not scan.seen,
    )
    return record, scan.seen


def hold_back(
    source: Source, fields: list[Field], places: Places, records: Iterator[Taken | None], most: int
) -> Iterator[Record | None]:
    """The records, once every field has been seen.  Raises InputError: one never is."""
    yield Record(1, [], Unchanged(b""), part="frame", fields=[places.fields])
    unseen = {number for number, each in enumerate(fields) if not each.optional}
    held: list[Record] = []
    size = line = 0
    filled = False
    for item in records:
        if item is None:
            yield None
            continue
        record, seen = item
        if unseen:
            unseen -= seen
            line, size, filled = record.line, size + record.size, filled or record.size > 0
            held.append(record)
            if not unseen:
                yield from held
                held.clear()
            elif len(held) >= _HELD or size > most:
                break
        else:
            yield record
    if unseen and filled:
        names = ", ".join(f"'{fields[number].name}'" for number in sorted(unseen))
        first = min(unseen)
        raw = (each.render.raw for each in held if isinstance(each.render, (Unchanged, _Render)))
        raise InputError(
            source.name,
            f"no record up to line {line} has the field {names}",
            near_path(fields[first].steps, raw) or _there(places),
        )
    yield from held


def _there(places: Places) -> str:
    """Return the hint for a field that no record has.

    Names are shown if they are schema: a record has another chosen field.
    """
    told, fields = "add ? to the name if it may be absent", places.fields
    return (
        f"fields: {shown_names(fields.chosen | fields.others)}; {told}" if fields.chosen else told
    )


@dataclass(slots=True, repr=False)
class _Render:
    """A line of JSON with other strings in the chosen places."""

    raw: bytes
    ending: bytes
    spans: list[tuple[int, int]]
    texts: list[str]

    def __call__(self, texts: list[str]) -> bytes:
        out, at = [], 0
        for (start, end), old, new in zip(self.spans, self.texts, texts, strict=True):
            out.append(self.raw[at:start])
            if new == old and not new.strip() and _clean(self.raw[start:end]):
                out.append(self.raw[start:end])
            else:
                out.append(written(new))
            at = end
        out += (self.raw[at:], self.ending)
        return b"".join(out)


def _clean(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True
