"""Cut bytes into records between newlines, and decode them.

Records end with a newline and nothing else; the last one may lack it.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from functools import partial
from io import BytesIO
from itertools import count, repeat
from typing import Final, TypeAlias

from dpsan.errors import InputError, UsageError
from dpsan.files.source import Source
from dpsan.formats.base import ReadOptions, Reject
from dpsan.formats.registry import binary, refuse_document

_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_ICONV: Final = "iconv -f UTF-16 -t UTF-8 FILE | dpsan rewrite ..."

_Item: TypeAlias = tuple[int, bytes, bytes]
"""A record's line, its bytes and its ending."""


def text_records(
    source: Source, options: ReadOptions, reject: Reject | None = None
) -> Iterator[_Item | None]:
    """Yield the items of :func:`raw_records`, of text.

    Args:
        reject: takes records that are too large, which end the input otherwise.

    Raises:
        InputError: a record is too large, or not text.
    """
    records = raw_records(source, options.max_record, reject)
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


def raw_records(
    source: Source, max_record: int, reject: Reject | None = None
) -> Iterator[_Item | None]:
    """Yield line, bytes and ending (a newline or b"") of each record; None when idle.

    Raises:
        InputError: a record is larger than ``max_record``.
    """
    for block in blocks(source, max_record, reject):
        if block is None:
            yield None
            continue
        line, records, ending = block
        if len(records) == 1:
            del block
            yield line, records.pop(), ending  # it may be large: nothing keeps it
        else:
            yield from zip(count(line), records, repeat(ending))


def blocks(
    source: Source, max_record: int, reject: Reject | None = None
) -> Iterator[tuple[int, list[bytes], bytes] | None]:
    """Yield records that were read together: first line, their bytes, and the ending of each."""
    set_aside = reject or _raise
    line, held, rejecting = 1, BytesIO(), False
    """The beginning of a record; a list of its pieces would double it when they are joined."""
    while True:
        if source.idle():
            yield None
        data = source.read()
        if not data:
            break
        first, *pieces = data.split(b"\n")
        if rejecting or held.tell() + len(first) > max_record:
            problem = None if rejecting else too_long(source, line, max_record)
            set_aside(_taken(held) + first + (b"\n" if pieces else b""), problem)
            rejecting = not pieces
        else:
            if held.tell() or not pieces:
                held.write(first)
            if pieces:
                yield line, [_taken(held) or first], b"\n"
        if not pieces:
            continue
        *whole, last = pieces
        if len(data) > max_record:
            for at, piece in enumerate(whole, start=line + 1):
                if len(piece) > max_record:
                    set_aside(piece + b"\n", too_long(source, at, max_record))
                else:
                    yield at, [piece], b"\n"
        else:
            yield line + 1, whole, b"\n"
        line += len(pieces)
        held.write(last)
    if held.tell() > max_record:
        set_aside(_taken(held) + b"\n", too_long(source, line, max_record))
    elif rejecting:
        set_aside(b"\n", None)
    elif held.tell():
        yield line, [_taken(held)], b""


def _raise(_: bytes, problem: InputError | None) -> None:
    if problem:
        raise problem


def _taken(held: BytesIO) -> bytes:
    """Return all that was written, without a copy, and forget it."""
    data = held.getvalue()
    held.seek(0)
    held.truncate()
    return data


def too_long(source: Source, line: int, limit: int) -> InputError:
    """Return the error for a record over the limit."""
    what = f"record longer than {limit} bytes"
    return InputError(source.name, what, "split it", line=line)


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
            hint = "see --encoding, or --invalid replace"
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
        raise UsageError(f"unknown encoding '{name}'") from None
    if encoding == "utf-8-sig":
        return "utf-8"  # a byte order mark is kept anyway
    if newline != b"\n":  # UTF-16, UTF-32
        raise UsageError(f"encoding '{name}' is not supported", "convert the file to UTF-8")
    return encoding


def byte_order_mark(source: Source, raw: bytes) -> bytes:
    """Return the UTF-8 byte order mark that a file begins with, or nothing.

    Raises:
        InputError: that of UTF-16.
    """
    if raw.startswith(_UTF16):
        raise InputError(source.name, "looks like UTF-16", _ICONV, line=1)
    return codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
