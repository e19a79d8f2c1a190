"""``text``: one record a line.

Grammar: records end with a newline (or NUL with ``-z``) and nothing else; the last one may lack it.
A carriage return before the newline is white space of the record and comes out unchanged.  A byte
order mark at the very start is kept and is not part of the first record.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from itertools import count, repeat
from typing import ClassVar, Final, TypeAlias

from dpsan.errors import InputError, UsageError
from dpsan.files.source import Source
from dpsan.formats.base import Format, ReadOptions, Record, Unchanged
from dpsan.formats.refused_files import binary, refuse_document, refuse_json

_LARGE: Final = 1 << 20
"""Bytes above which a record is decoded by itself."""
_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_WIDE: Final = ("utf-16", "utf-32")

_Item: TypeAlias = tuple[int, bytes, bytes]
"""A record's line, its bytes and its ending."""


def text_records(source: Source, separator: bytes, options: ReadOptions) -> Iterator[_Item | None]:
    """As :func:`raw_records`, of text.

    Raises:
        InputError: a record is too large, or not text.
    """
    records = raw_records(source, separator, options.max_record)
    return records if options.force_text else map(partial(_checked, source), records)


def _checked(source: Source, item: _Item | None) -> _Item | None:
    """A record that is text.  Raises InputError.

    A function and no loop: a loop would keep the record while the next one comes.
    """
    if item is not None and (item[0] == 1 or b"\0" in item[1]):
        _check(source, *item[:2])
    return item


def _check(source: Source, line: int, raw: bytes) -> None:
    """Raises InputError: a record is not text."""
    if line == 1:
        refuse_document(source, raw)
    if b"\0" in raw:
        if line == 1:
            byte_order_mark(source, raw)
        raise binary(source, line)


def raw_records(source: Source, separator: bytes, max_record: int) -> Iterator[_Item | None]:
    """(line, bytes without separator, separator or b"") for each record; None when idle.

    Raises:
        InputError: a record is larger than ``max_record``.
    """
    for block in _blocks(source, separator, max_record):
        if block is None:
            yield None
            continue
        line, records, ending = block
        if len(records) == 1:
            del block
            yield line, records.pop(), ending  # it may be large: nothing keeps it
        else:
            yield from zip(count(line), records, repeat(ending))


def _blocks(
    source: Source, separator: bytes, max_record: int
) -> Iterator[tuple[int, list[bytes], bytes] | None]:
    """Records that came together: the line of the first, their bytes, and the ending of each."""
    line, held = 1, BytesIO()
    """What has come of a record that goes on: a list of pieces would be there twice when joined."""
    while True:
        if source.idle():
            yield None
        data = source.read()
        if not data:
            break
        first, *pieces = data.split(separator)
        if held.tell() + len(first) > max_record:
            raise too_long(source, line, max_record)
        if held.tell() or not pieces:
            held.write(first)
        if not pieces:
            continue
        yield line, [_taken(held) or first], separator
        *whole, last = pieces
        long = len(data) > max_record and [len(piece) > max_record for piece in pieces]
        if long and True in long:
            at = long.index(True)
            yield line + 1, whole[:at], separator
            raise too_long(source, line + 1 + at, max_record)
        yield line + 1, whole, separator
        line += len(pieces)
        held.write(last)
    if held.tell():
        yield line, [_taken(held)], b""


def _taken(held: BytesIO) -> bytes:
    """All that was written; nothing is copied or kept."""
    data = held.getvalue()
    held.seek(0)
    held.truncate()
    return data


def too_long(source: Source, line: int, limit: int) -> InputError:
    """The error for a record over the limit."""
    return InputError(
        source.name, f"record longer than {limit} bytes", "raise --max-record", line=line
    )


def decode(source: Source, line: int, raw: bytes, options: ReadOptions) -> tuple[str, int]:
    """The text of a record's bytes and how many invalid sequences were replaced.

    Raises:
        InputError: invalid bytes with ``--invalid error``.
    """
    try:
        return raw.decode(options.encoding), 0
    except UnicodeDecodeError as error:
        if options.invalid == "error":
            raise InputError(
                source.name,
                f"invalid {options.encoding} at byte {error.start + 1}",
                "see --encoding, or --invalid replace",
                line=line,
            ) from None
        text = raw.decode(options.encoding, errors="replace")
        return text, max(1, text.count("\ufffd") - raw.count(b"\xef\xbf\xbd"))


def text_encoding(name: str) -> str:
    """Python's name of an encoding.

    Raises:
        UsageError: unknown, or one in which lines cannot be told from bytes.
    """
    try:
        encoding = codecs.lookup(name).name
        newline = "\n".encode(encoding)
    except (LookupError, UnicodeError, ValueError):
        raise UsageError(f"unknown encoding '{name}'") from None
    if encoding == "utf-8-sig":
        return "utf-8"  # a byte order mark is kept anyway
    if newline != b"\n" and not encoding.startswith(_WIDE):
        raise UsageError(f"encoding '{name}' is not supported", "convert the file to UTF-8")
    return encoding


def byte_order_mark(source: Source, raw: bytes) -> bytes:
    """The UTF-8 byte order mark that a file begins with, or nothing.

    Raises:
        InputError: that of UTF-16.
    """
    if raw.startswith(_UTF16):
        raise InputError(source.name, "looks like UTF-16", "--encoding utf-16", line=1)
    return codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""


class TextFormat(Format):
    """Lines of text."""

    name: ClassVar[str] = "text"
    joinable: ClassVar[bool] = True
    takes_budget: ClassVar[bool] = True
    copyable: ClassVar[bool] = True
    takes_spans: ClassVar[bool] = True
    takes_null_data: ClassVar[bool] = True

    def read(self, source: Source, options: ReadOptions) -> Iterator[Record | None]:
        if options.fields:
            raise InputError(
                source.name, "text has no fields", "--format jsonl, csv, tsv or parquet has"
            )
        encoding = text_encoding(options.encoding)
        if encoding.startswith(_WIDE):
            return self._wide(source, options, encoding)
        return self._lines(source, options, encoding)

    @staticmethod
    def _lines(source: Source, options: ReadOptions, encoding: str) -> Iterator[Record | None]:
        separator = b"\0" if options.null_data else b"\n"
        ended, unended = _Render(separator, encoding), _Render(b"", encoding)
        for block in _blocks(source, separator, options.max_record):
            if block is None:
                yield None
                continue
            line, records, ending = block
            del block
            if texts := _texts(records, separator, options, encoding):
                for number, each in enumerate(texts, line):
                    yield Record(number, [each], ended)
                continue
            records.reverse()
            while records:  # a long line is not kept here while it is rewritten
                raw = records.pop()
                if not options.force_text:
                    _check(source, line, raw)
                if line == 1:
                    if encoding == "utf-8" and (mark := byte_order_mark(source, raw)):
                        raw = raw[len(mark) :]
                        yield Record(1, [], Unchanged(mark), part="mark")
                        if not raw and not ending:
                            continue
                    if not options.force_text:
                        refuse_json(source, raw)
                text, invalid = decode(source, line, raw, options)
                del raw
                if ending:
                    yield Record(line, [text], ended, invalid)
                else:
                    yield Record(line, [text], unended, invalid, owes=separator)
                line += 1

    @staticmethod
    def _wide(source: Source, options: ReadOptions, encoding: str) -> Iterator[Record | None]:
        """Encodings in which a newline is not one byte: decoded as a stream, then split."""
        decoder = codecs.getincrementaldecoder(encoding)(errors="strict")
        separator = "\0" if options.null_data else "\n"
        data = source.read()
        while data and len(data) < 4 and (more := source.read()):  # a mark has up to four bytes
            data += more
        if not options.force_text:
            refuse_document(source, data)
        mark, out_encoding = _byte_order(data, encoding)
        ending = separator.encode(out_encoding)
        if mark:
            yield Record(1, [], Unchanged(mark), part="mark")
            decoder.decode(mark)
            data = data[len(mark) :] or source.read()
        text, line = "", 0
        while True:
            try:
                text += decoder.decode(data, final=not data)
            except UnicodeError:
                raise InputError(
                    source.name, f"invalid {encoding}", "convert the file first", line=line + 1
                ) from None
            *whole, text = text.split(separator)
            for each in whole:
                line += 1
                if len(each) > options.max_record:
                    raise too_long(source, line, options.max_record)
                if "\0" in each and not options.force_text:
                    raise binary(source, line)
                yield Record(line, [each], _Render(ending, out_encoding))
            if len(text) > options.max_record:
                raise too_long(source, line + 1, options.max_record)
            if not data:
                break
            if source.idle():
                yield None
            data = source.read()
        if text:
            if "\0" in text and not options.force_text:
                raise binary(source, line + 1)
            yield Record(line + 1, [text], _Render(b"", out_encoding), owes=ending)


def _texts(
    records: list[bytes], separator: bytes, options: ReadOptions, encoding: str
) -> list[str] | None:
    """The texts of several records, where nothing needs to be said of one: decoded at once."""
    if len(records) < 2 or encoding != "utf-8" or max(map(len, records)) > _LARGE:
        return None
    data = separator.join(records)
    if separator != b"\0" and b"\0" in data and not options.force_text:
        return None
    try:
        return data.decode().split(separator.decode())
    except UnicodeDecodeError:
        return None


def _byte_order(first: bytes, encoding: str) -> tuple[bytes, str]:
    """The byte order mark of a stream and the encoding to write in."""
    orders = ("-be", "-le") if encoding in _WIDE else ("",)
    for written in (encoding + order for order in orders):
        mark = "\ufeff".encode(written)
        if first.startswith(mark):
            return mark, written
    return b"", written


@dataclass(slots=True)
class _Render:
    """A line with another text and the same ending."""

    ending: bytes
    encoding: str

    def __call__(self, texts: list[str]) -> bytes:
        # A character that the output encoding lacks becomes "?"; lone surrogates cannot occur.
        return texts[0].encode(self.encoding, errors="replace") + self.ending
