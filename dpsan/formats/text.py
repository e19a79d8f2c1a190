"""``text``: one record a line; and bytes cut into records, and decoded, for other formats.

Grammar: records end with a newline and nothing else; the last one may lack it.
A carriage return before the newline is white space of the record and is unchanged.  A byte
order mark at the very start is kept and is not part of the first record.
"""

import codecs
from collections.abc import Callable, Iterator
from functools import partial
from io import BytesIO
from itertools import count, repeat
from typing import Any, ClassVar, Final, TypeAlias

import orjson

from dpsan.errors import InputError, UsageError, refuse
from dpsan.files.source import Source
from dpsan.formats.base import Format, ReadOptions, Record, Unchanged
from dpsan.formats.kinds import binary, refuse_document, refuse_records, refuse_suffix

UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
_UTF32: Final = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
ICONV: Final = "iconv -f {} -t UTF-8 FILE | dpsan rewrite -f FORMAT ..."

_Item: TypeAlias = tuple[int, bytes, bytes]
"""A record's line, its bytes and its ending."""


def text_records(source: Source, options: ReadOptions) -> Iterator[_Item | None]:
    """Yield the items of :func:`raw_records`, of text.

    Raises:
        InputError: a record is too large, or not text.
    """
    records = raw_records(source, options.max_record)
    return records if options.force_text else map(partial(_checked, source), records)


def _checked(source: Source, item: _Item | None) -> _Item | None:
    """Return a record that is text.  A loop would keep it while the next one comes."""
    if item is not None and (item[0] == 1 or b"\0" in item[1]):
        check(source, *item[:2])
    return item


def check(source: Source, line: int, raw: bytes) -> None:
    """Raise InputError if a record is not text."""
    if line == 1:
        refuse_document(source, raw)
    if b"\0" in raw:
        if line == 1:
            byte_order_mark(source, raw)
        raise binary(source, line)


def raw_records(source: Source, max_record: int) -> Iterator[_Item | None]:
    """Yield line, bytes and ending (a newline or b"") of each record; None when idle.

    Raises:
        InputError: a record is larger than ``max_record``.
    """
    for block in blocks(source, max_record):
        if block is None:
            yield None
            continue
        line, records, ending = block
        if len(records) == 1:
            del block
            yield line, records.pop(), ending  # it may be large: nothing keeps it
        else:
            yield from zip(count(line), records, repeat(ending))


def blocks(source: Source, max_record: int) -> Iterator[tuple[int, list[bytes], bytes] | None]:
    """Yield records that were read together: first line, their bytes, and the ending of each.

    Raises:
        InputError: as :func:`raw_records`.
    """
    line, buffer = 1, BytesIO()
    """The beginning of a record; a list of its pieces would double it when they are joined."""
    while True:
        if source.idle():
            yield None
        data = source.read()
        if not data:
            break
        first, *pieces = data.split(b"\n")
        if buffer.tell() + len(first) > max_record:
            raise too_long(source, line, max_record)
        if buffer.tell() or not pieces:
            buffer.write(first)
        if not pieces:
            continue
        yield line, [_taken(buffer) or first], b"\n"
        *whole, last = pieces
        if len(data) > max_record:
            for at, piece in enumerate(whole, start=line + 1):
                if len(piece) > max_record:
                    raise too_long(source, at, max_record)
                yield at, [piece], b"\n"
        else:
            yield line + 1, whole, b"\n"
        line += len(pieces)
        buffer.write(last)
    if buffer.tell() > max_record:
        raise too_long(source, line, max_record)
    if buffer.tell():
        yield line, [_taken(buffer)], b""


def _taken(buffer: BytesIO) -> bytes:
    """Return all that was written, without a copy, and forget it."""
    data = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return data


def too_long(source: Source, line: int, limit: int) -> InputError:
    """Return the error for a record over the limit."""
    what = f"record longer than {limit} bytes"
    return InputError(source.name, what, "split it", line=line)


def json_header(name: str, raw: bytes, kind: str, schema: int, what: str) -> dict[str, Any]:
    """Return the header of a file of JSON lines that dpsan writes.

    Args:
        name, raw: of the file, and its first line.
        kind, schema: of the header.
        what: an audit, a map.

    Raises:
        InputError: it is another file, or was written by another version.
    """
    try:
        row = orjson.loads(raw)
    except orjson.JSONDecodeError:
        row = None
    if type(row) is not dict or row.get("type") != kind:
        hint = f"see rewrite --{what.split()[1]}"
        raise InputError(name, f"not {what} of dpsan", hint, line=1)
    if row.get("schema") != schema:
        other = f"{what} of another schema than {schema}, which this version reads"
        raise InputError(name, other, "use the dpsan that wrote it", line=1)
    return row


def decode(source: Source, line: int, raw: bytes, options: ReadOptions) -> tuple[str, int]:
    """Return the text of a record's bytes and how many invalid sequences were replaced.

    Raises:
        InputError: invalid bytes with ``--invalid error``.
    """
    try:
        return raw.decode(options.encoding), 0
    except UnicodeDecodeError as error:
        if options.invalid == "error":
            what = f"invalid {options.encoding} at byte {error.start + 1}"
            hint = "--encoding latin-1 if it is that, or of JSON iconv -f latin1 -t utf-8 FILE; "
            hint += "--invalid replace writes U+FFFD"
            raise InputError(source.name, what, hint, line=line) from None
        text = raw.decode(options.encoding, errors="replace")
        return text, max(1, text.count("\ufffd") - raw.count(b"\xef\xbf\xbd"))


def text_encoding(name: str) -> str:
    """Return Python's name of an encoding.

    Raises:
        UsageError: unknown, or one in which lines cannot be told from bytes.
    """
    try:
        encoding = codecs.lookup(name).name
        newline = "\n".encode(encoding)
    except (LookupError, UnicodeError, ValueError):
        raise UsageError(f"unknown encoding '{name}'", "such as utf-8, latin-1 or cp1252") from None
    if encoding == "utf-8-sig":
        return "utf-8"  # a byte order mark is kept anyway
    hint = f"convert the file to UTF-8, such as by {ICONV.format('UTF-16')}"
    refuse(newline != b"\n", f"encoding '{name}' is not supported", hint)
    return encoding


def byte_order_mark(source: Source, raw: bytes) -> bytes:
    """Return the UTF-8 byte order mark that a file begins with, or nothing.

    Raises:
        InputError: that of UTF-16.
    """
    if raw.startswith(UTF16):
        name = "UTF-32" if raw.startswith(_UTF32) else "UTF-16"
        raise InputError(source.name, f"looks like {name}", ICONV.format(name), line=1)
    return codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""


_LARGE: Final = 1 << 20
"""Bytes above which a record is decoded by itself."""


class TextFormat(Format):
    """Lines of text."""

    name: ClassVar[str] = "text"
    one_text = joinable = takes_budget = copyable = takes_spans = True

    def read(self, source: Source, options: ReadOptions) -> Iterator[Record | None]:
        if not options.force_text:
            refuse_suffix(source.name)
        if options.fields:
            hint = "--format jsonl, csv, tsv or parquet has"
            raise InputError(source.name, "text has no fields", hint)
        encoding = text_encoding(options.encoding)
        ended: Callable[[list[str]], bytes] = partial(_render, b"\n", encoding)
        unended: Callable[[list[str]], bytes] = partial(_render, b"", encoding)
        utf8 = encoding == "utf-8"
        for block in blocks(source, options.max_record):
            if block is None:
                yield None
                continue
            line, records, end = block
            del block
            if utf8 and (texts := _texts(records, options)):
                for number, piece in enumerate(texts, line):
                    yield Record(number, [piece], ended)
                continue
            records.reverse()
            while records:  # a long line is not kept here while it is rewritten
                raw = records.pop()
                if line == 1:
                    if not options.force_text:
                        check(source, 1, raw)
                    mark = byte_order_mark(source, raw) if utf8 else b""
                    raw = raw[len(mark) :]
                    if not options.force_text:
                        refuse_records(source, raw)
                    if mark:
                        yield Record(1, [], Unchanged(mark), part="mark")
                    if mark and not raw and not end:
                        continue
                elif b"\0" in raw and not options.force_text:
                    raise binary(source, line)
                text, invalid = decode(source, line, raw, options)
                if line == 1 and invalid > max(16, len(text) / 3) and not options.force_text:
                    hint = "--encoding cp1251 and the like; -f text reads it as it is"
                    raise InputError(
                        source.name, f"most of this line is not {encoding}", hint, line=1
                    )
                render = ended if end else unended
                if invalid and options.keep_equal:
                    render = partial(_render_changed, text, raw + end, render)
                del raw
                yield Record(line, [text], render, invalid, owes=b"" if end else b"\n")
                line += 1


def _texts(records: list[bytes], options: ReadOptions) -> list[str] | None:
    """Decode several records at once, if none of them needs a message; else return None."""
    if len(records) < 2 or max(map(len, records)) > _LARGE:
        return None
    data = b"\n".join(records)
    if b"\0" in data and not options.force_text:
        return None
    try:
        return data.decode().split("\n")
    except UnicodeDecodeError:
        return None


def _render_changed(
    old: str, raw: bytes, render: Callable[[list[str]], bytes], texts: list[str]
) -> bytes:
    """Return the bytes of a line whose text stays the same, or of another text."""
    return raw if texts == [old] else render(texts)


def _render(ending: bytes, encoding: str, texts: list[str]) -> bytes:
    """Return a line with another text and the same ending."""
    # A character that the output encoding lacks becomes "?"; lone surrogates cannot occur.
    return texts[0].encode(encoding, errors="replace") + ending
