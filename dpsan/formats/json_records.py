"""Records of JSON: the chosen strings of a value, and the value with other strings.

Only the bytes of the chosen strings change: white space, order, duplicate keys, the digits of
numbers and the escapes of everything else stay as they are, because no value is parsed and written
again; NaN and Infinity, as Python writes them, pass too.  A chosen string has escapes only where
JSON needs one, however it was written: they would tell which words were in it.

A string in a chosen field is sanitized (with duplicate keys: each of them); null stays null; a
record without the field passes unchanged and is counted; any other value, on the way or at its end,
is an error.  A name that no record has is most often misspelt, and everything would pass unchanged:
records are held back until every field has been seen, :data:`_HELD` at most, and without it the
input fails with nothing written.  ``--field 'NAME?'`` lifts that.  The paths of all other values
are named (:class:`~dpsan.formats.json_positions.Positions`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from dpsan.errors import InputError, MalformedError, UsageError
from dpsan.files.source import Source
from dpsan.formats.base import ReadOptions, Record, Unchanged
from dpsan.formats.fields import near_path, parse_field
from dpsan.formats.json_positions import Node, Position, Positions, parsed
from dpsan.formats.json_scan import KindError, Scan, is_blank, pruned, written
from dpsan.formats.lines import decode, text_encoding
from dpsan.formats.passing import Fields, shown_names

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

Taken: TypeAlias = tuple[Record, set[int]]
"""A record, and which of the chosen fields it has."""


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
        # A field that is given twice is one field, and required if it is required once.
        given = sorted(map(parse_field, options.fields), key=lambda each: not each.optional)
        self._fields = [*{each.steps: each for each in given}.values()]
        if not self._fields:
            raise InputError(source.name, f"{name} needs --field", "such as --field text")
        unit = options.unit_field
        self._unit_steps = parse_field(unit).steps if unit else ()
        root = Node("")
        for number, each in enumerate(self._fields):
            node = root
            for step in each.steps:
                node = node.child(step)
            node.field = number
        requested = tuple(each.name for each in self._fields)
        fields = Fields("field", requested=requested, left_out=options.drop_other)
        self.positions = Positions(root, fields)

    def record(
        self, line: int, raw: bytes, ending: bytes, position: Position, hint: str = ""
    ) -> Taken:
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
        try:
            scan = Scan(raw, position, positions)
            if not is_blank(raw, scan.end):
                raise MalformedError(scan.end)
            unit = self._unit(line, raw) if self._unit_steps else ""
            if options.drop_other:
                raw = pruned(raw, position.node) + raw[scan.end :]
                scan = Scan(raw, position, positions)
        except KindError as error:
            what = f"field '{error.path}'" if error.path else "record"
            what += f" is {_KINDS.get(error.found, 'a number')}, not {error.wanted}"
            hint = "" if error.path else hint
            raise InputError(source.name, what, hint, line=line) from None
        texts: list[str] = []
        invalid = 0
        for start, end in scan.spans:
            text, bad = decode(source, line, raw[start:end], options)
            texts.append(parsed(text))
            invalid += bad
        for number in scan.seen:
            positions.fields.chosen[positions.fields.requested[number]] = None
        render = _Render(raw, ending, scan.spans, texts, options.keep_equal)
        record = Record(line, texts, render, invalid, size=len(raw), bare=not scan.seen)
        record.unit = unit
        if options.kinds:
            names = positions.fields.requested
            record.kinds = [options.kinds.get(names[number], "") for number in scan.fields]
        return record, scan.seen

    def _unit(self, line: int, raw: bytes) -> str:
        """Return the string or the digits of a number that names the unit of a record."""
        node = Node("")
        inner = node
        for step in self._unit_steps:
            inner = inner.child(step)
        try:
            found = json.loads(pruned(raw, node), parse_int=str, parse_float=str)
            for step in self._unit_steps:
                found = found[step]
        except (LookupError, TypeError, ValueError, RecursionError):
            found = None
        if not isinstance(found, str):
            what = f"no string or number in the field '{self._options.unit_field}'"
            raise InputError(self._source.name, what, "it names the unit", line=line)
        return found

    def held_back(self, records: Iterator[Taken | None]) -> Iterator[Record | None]:
        """Yield the records, once every field has been seen.  Raises InputError: one never is."""
        yield Record(1, [], Unchanged(b""), part="frame", fields=[self.positions.fields])
        unseen = {number for number, each in enumerate(self._fields) if not each.optional}
        held: list[Record] = []
        size = line = 0
        for item in records:
            if item is None:
                yield None
                continue
            record, seen = item
            if not unseen:
                yield record
                continue
            unseen -= seen
            line, size = record.line, size + record.size
            held.append(record)
            if not unseen:
                yield from held
                held.clear()
            elif len(held) >= _HELD or size > _HELD_BYTES:
                break
        if unseen and size:
            raise self._missing(sorted(unseen), held, line)
        yield from held

    def _missing(self, unseen: list[int], held: list[Record], line: int) -> InputError:
        """Return the error for fields that no record has.

        Names are shown if they are schema: a record has another chosen field.
        """
        names = ", ".join(f"'{self._fields[number].name}'" for number in unseen)
        raw = (each.render.raw for each in held if isinstance(each.render, (Unchanged, _Render)))
        hint = near_path(self._fields[unseen[0]].steps, raw)
        if not hint:
            fields, hint = self.positions.fields, "add ? to the name if it may be absent"
            if fields.chosen:
                hint = f"fields: {shown_names(fields.chosen | fields.others)}; {hint}"
        what = f"no record up to line {line} has the field {names}"
        return InputError(self._source.name, what, hint)


@dataclass(slots=True, repr=False)
class _Render:
    """A line of JSON with other strings in the chosen positions."""

    raw: bytes
    ending: bytes
    spans: list[tuple[int, int]]
    texts: list[str]
    keep_equal: bool

    def __call__(self, texts: list[str]) -> bytes:
        out: list[bytes] = []
        at = 0
        for (start, end), old, new in zip(self.spans, self.texts, texts, strict=True):
            # U+FFFD for invalid bytes is no white space.
            same = new == old and (self.keep_equal or not new.strip())
            out += (self.raw[at:start], self.raw[start:end] if same else written(new))
            at = end
        out += (self.raw[at:], self.ending)
        return b"".join(out)
