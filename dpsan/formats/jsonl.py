r"""``jsonl``: one JSON value a line (JSON Lines, NDJSON), RFC 8259, always UTF-8.

Only the bytes of the chosen strings change: white space, order, duplicate keys, the digits of
numbers and the escapes of everything else stay as they are, because no value is parsed and written
again; NaN and Infinity, as Python writes them, pass too.  A chosen string keeps its style: pure
ASCII stays pure ASCII, ``\/`` stays ``\/``.

What is done with a chosen field: a string is sanitized (with duplicate keys: each of them); null
stays null; a record without the field passes unchanged and is counted; any other value, on the way
or at its end, is an error.  A name that no record has is most often misspelt, and everything would
pass unchanged: records are held back until every field has been seen, :data:`_HELD` at most, and
without it the input fails with nothing written.  ``--field 'NAME?'`` lifts that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from json.encoder import encode_basestring, encode_basestring_ascii
from typing import ClassVar, Final

from dpsan.errors import InputError, UsageError
from dpsan.formats.base import Format, ReadOptions, Record, Source
from dpsan.formats.fields import Field, parse_field
from dpsan.formats.text import byte_order_mark, decode, text_encoding, text_records
from dpsan.text.long_text import Text

__all__ = ["JsonlFormat"]

_HELD: Final = 1024
"""Records kept back, while a field has not been seen, before the input is refused."""

# Possessive quantifiers: linear time on any bytes.
_SPACE: Final = rb"[ \t\r\n]*+"
_STRING: Final = rb'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*+)*+"'
_SCALAR: Final = (
    _STRING
    + rb"|-?+(?:(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+|Infinity)"
    + rb"|true|false|null|NaN"
)
# Groups: key, scalar, what follows it, opening bracket.
_MEMBER: Final = re.compile(
    _SPACE + b"(" + _STRING + b")" + _SPACE + b":" + _SPACE
    + b"(?:(" + _SCALAR + b")" + _SPACE + rb"([,}])|([\[{]))"
)  # fmt: skip
_ITEM: Final = re.compile(_SPACE + b"()(?:(" + _SCALAR + b")" + _SPACE + rb"([,\]])|([\[{]))")
_WHOLE: Final = re.compile(_SPACE + b"()(?:(" + _SCALAR + b")()|" + rb"([\[{]))")
_EMPTY: Final = {b"{": re.compile(_SPACE + rb"\}"), b"[": re.compile(_SPACE + rb"\]")}
_NEXT: Final = re.compile(_SPACE + rb"([,\]}])")
_END: Final = re.compile(_SPACE + rb"\Z")
_CLOSING: Final = {b"{": b"}", b"[": b"]"}
_PATTERN: Final = {b"{": _MEMBER, b"[": _ITEM}


class _MalformedError(Exception):
    """Not JSON, at a byte."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at = at


class _KindError(Exception):
    """A chosen field holds something else than text."""

    def __init__(self, path: str, found: bytes, wanted: str) -> None:
        super().__init__()
        self.path, self.found, self.wanted = path, found[:1], wanted


class _Node:
    """A place inside a record that a field ends at or leads through."""

    __slots__ = ("field", "items", "keys", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.field: int | None = None
        self.keys: dict[str, _Node] = {}
        self.items: _Node | None = None

    def child(self, step: str | None) -> _Node:
        """The place one step further in, made if need be."""
        if step is None:
            if self.items is None:
                self.items = _Node(self.path + "[]")
            return self.items
        if step not in self.keys:
            self.keys[step] = _Node(f"{self.path}.{step}" if self.path else step)
        return self.keys[step]

    @property
    def wanted(self) -> str:
        """What may stand here, for messages."""
        kinds = (
            ("a string", self.field is not None),
            ("an object", self.keys),
            ("a list", self.items),
        )
        return " or ".join(name for name, there in kinds if there)


class _Scan:
    """The chosen strings of one record."""

    __slots__ = ("raw", "seen", "spans")

    def __init__(self, raw: bytes, root: _Node) -> None:
        self.raw = raw
        self.spans: list[tuple[int, int]] = []
        self.seen: set[int] = set()
        match = _WHOLE.match(raw)
        if match is None:
            raise _MalformedError(0)
        at = self._value(match, root)
        if _END.match(raw, at) is None:
            raise _MalformedError(at)

    def _value(self, match: re.Match[bytes], node: _Node | None) -> int:
        """Take the value that a pattern found; returns the place behind it."""
        opening = match[4]
        if opening is None:
            if node is not None:
                self._scalar(node, *match.span(2))
            return match.end()
        if node is None:
            return _skip(self.raw, match.end(), opening)
        if not (node.keys if opening == b"{" else node.items):
            raise _KindError(node.path, opening, node.wanted)
        return self._walk(match.end(), opening, node)

    def _scalar(self, node: _Node, start: int, end: int) -> None:
        first = self.raw[start : start + 1]
        if first == b'"' and node.field is not None:
            self.spans.append((start, end))
        elif first != b"n":
            raise _KindError(node.path, first, node.wanted)
        if node.field is not None:
            self.seen.add(node.field)

    def _walk(self, at: int, opening: bytes, node: _Node) -> int:
        """Go through an object or a list that leads to a field; at: behind its bracket."""
        empty = _EMPTY[opening].match(self.raw, at)
        if empty:
            return empty.end()
        pattern = _PATTERN[opening]
        while True:
            match = pattern.match(self.raw, at)
            if match is None:
                raise _MalformedError(at)
            child = node.items if opening == b"[" else node.keys.get(_key(match[1]))
            at = self._value(match, child)
            follows = match[3]
            if follows is None:
                after = _NEXT.match(self.raw, at)
                if after is None:
                    raise _MalformedError(at)
                follows, at = after[1], after.end()
            if follows != b",":
                if follows != _CLOSING[opening]:
                    raise _MalformedError(at - 1)
                return at


def _array(line: int, raw: bytes) -> str:
    """The hint for a file that is one JSON array."""
    array = line == 1 and raw.lstrip().startswith(b"[")
    return "one JSON array? jq -c '.[]' FILE makes lines of it" if array else ""


def _parsed(text: str) -> str:
    """The value of a JSON string; escaped surrogates that stand alone stay as they are."""
    if "\\" not in text:
        return text[1:-1]
    value: str = json.loads(text)
    return value


def _key(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace")
    return _parsed(text)


def _skip(raw: bytes, at: int, opening: bytes) -> int:
    """The place behind a value that is not chosen; checks its grammar, at any depth."""
    open_ = [opening]
    first = True
    while True:
        empty = _EMPTY[open_[-1]].match(raw, at) if first else None
        if empty is None:
            match = _PATTERN[open_[-1]].match(raw, at)
            if match is None:
                raise _MalformedError(at)
            at, first = match.end(), False
            if match[4] is not None:
                open_.append(match[4])
                first = True
                continue
            if match[3] == b",":
                continue
        else:
            at, first = empty.end(), False
        while True:
            open_.pop()
            if not open_:
                return at
            after = _NEXT.match(raw, at)
            if after is None:
                raise _MalformedError(at)
            at = after.end()
            if after[1] == b",":
                break
            if after[1] != _CLOSING[open_[-1]]:
                raise _MalformedError(at - 1)


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
    divisible: ClassVar[bool] = True

    def read(self, source: Source, options: ReadOptions) -> Iterator[Record | None]:
        """See :class:`Format`."""
        if text_encoding(options.encoding) != "utf-8":
            raise UsageError("jsonl is always UTF-8", "leave out --encoding")
        fields = [parse_field(each) for each in options.fields]
        if not fields:
            raise InputError(source.name, "jsonl needs --field", "such as --field text")
        root = _Node("")
        for number, each in enumerate(fields):
            node = root
            for step in each.steps:
                node = node.child(step)
            node.field = number
        return _hold_back(source, fields, self._records(source, options, root), options.max_record)

    @staticmethod
    def _records(
        source: Source, options: ReadOptions, root: _Node
    ) -> Iterator[tuple[Record, set[int], int] | None]:
        """Each record, which fields it has, and its size."""
        separator = b"\0" if options.null_data else b"\n"
        for item in text_records(source, separator, options):
            if item is None:
                yield None
                continue
            line, raw, ending = item
            if line == 1 and (mark := byte_order_mark(source, raw)):
                raw = raw[len(mark) :]
                yield Record(1, [], _Same(mark), part="mark"), set(), 0
            owes = b"" if ending else separator
            if options.invalid == "error":
                decode(source, line, raw, options)
            if _END.match(raw):
                yield Record(line, [], _Same(raw + ending), owes=owes), set(), 0
                continue
            try:
                scan = _Scan(raw, root)
            except _MalformedError as error:
                raise InputError(
                    source.name,
                    f"invalid JSON at byte {error.at + 1}",
                    _array(line, raw),
                    line=line,
                ) from None
            except _KindError as error:
                kind = _KINDS.get(error.found, "a number")
                what = f"field '{error.path}'" if error.path else "record"
                raise InputError(
                    source.name,
                    f"{what} is {kind}, not {error.wanted}",
                    "" if error.path else _array(line, raw),
                    line=line,
                ) from None
            texts, invalid = [], 0
            for start, end in scan.spans:
                text, bad = decode(source, line, raw[start:end], options)
                texts.append(_parsed(text))
                invalid += bad
            yield (
                Record(
                    line,
                    texts,
                    _Render(raw, ending, scan.spans, texts),
                    invalid,
                    owes=owes,
                    size=len(raw),
                    bare=not scan.seen,
                ),
                scan.seen,
                len(raw),
            )


def _hold_back(
    source: Source,
    fields: list[Field],
    records: Iterator[tuple[Record, set[int], int] | None],
    most_bytes: int,
) -> Iterator[Record | None]:
    """The records, once every field has been seen.  Raises InputError: one never is."""
    unseen = {number for number, each in enumerate(fields) if not each.optional}
    held: list[Record] = []
    size = line = filled = 0
    for item in records:
        if item is None:
            yield None
            continue
        record, seen, length = item
        if unseen:
            unseen -= seen
            line, size, filled = record.line, size + length, filled + bool(length)
            held.append(record)
            if not unseen:
                yield from held
                held.clear()
            elif len(held) >= _HELD or size > most_bytes:
                break
        else:
            yield record
    if unseen and filled:
        names = ", ".join(f"'{fields[number].name}'" for number in sorted(unseen))
        raise InputError(
            source.name,
            f"no record up to line {line} has the field {names}",
            "add ? to the name if it may be absent",
        )
    yield from held


class _Same:
    """Bytes that stay as they are."""

    __slots__ = ("raw",)

    def __init__(self, raw: bytes) -> None:
        self.raw = raw

    def __call__(self, texts: list[Text]) -> bytes:
        return self.raw


class _Render:
    """A line of JSON with other strings in the chosen places."""

    __slots__ = ("ending", "raw", "spans", "texts")

    def __init__(
        self, raw: bytes, ending: bytes, spans: list[tuple[int, int]], texts: list[str]
    ) -> None:
        self.raw, self.ending, self.spans, self.texts = raw, ending, spans, texts

    def __call__(self, texts: list[Text]) -> bytes:
        out, at = [], 0
        for (start, end), old, new in zip(self.spans, self.texts, texts, strict=True):
            out.append(self.raw[at:start])
            raw = self.raw[start:end]
            # The same text keeps its escapes, unless its bytes were not UTF-8.
            out.append(raw if new == old and _clean(raw) else _string(str(new), raw))
            at = end
        out += (self.raw[at:], self.ending)
        return b"".join(out)


def _clean(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _string(text: str, like: bytes) -> bytes:
    """A text as JSON in the style of another string."""
    write: Callable[[str], str] = encode_basestring_ascii if like.isascii() else encode_basestring
    try:
        out = write(text).encode()
    except UnicodeEncodeError:  # a lone surrogate exists in JSON as an escape only
        out = encode_basestring_ascii(text).encode()
    return out.replace(b"/", rb"\/") if rb"\/" in like else out
