"""``text``: one record a line.

Grammar: records end with a newline and nothing else; the last one may lack it.
A carriage return before the newline is white space of the record and is unchanged.  A byte
order mark at the very start is kept and is not part of the first record.
"""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import ClassVar, Final

from dpsan.errors import InputError
from dpsan.files.source import Source
from dpsan.formats.base import Format, ReadOptions, Record, Unchanged
from dpsan.formats.lines import WIDE, blocks, byte_order_mark, check, decode, text_encoding
from dpsan.formats.registry import binary, refuse_document, refuse_json

_LARGE: Final = 1 << 20
"""Bytes above which a record is decoded by itself."""


class TextFormat(Format):
    """Lines of text."""

    name: ClassVar[str] = "text"
    one_text = joinable = takes_budget = copyable = takes_spans = True

    def read(self, source: Source, options: ReadOptions) -> Iterator[Record | None]:
        if options.fields:
            hint = "--format jsonl, csv, tsv or parquet has"
            raise InputError(source.name, "text has no fields", hint)
        encoding = text_encoding(options.encoding)
        if encoding.startswith(WIDE):
            return self._wide(source, options, encoding)
        return self._lines(source, options, encoding)

    @classmethod
    def _wide(cls, source: Source, options: ReadOptions, encoding: str) -> Iterator[Record | None]:
        """Read encodings in which a newline is not one byte as UTF-8; write them as they were."""
        data = source.read()
        while data and len(data) < 4 and (more := source.read()):  # a mark has up to four bytes
            data += more
        if not options.force_text:
            refuse_document(source, data)
        mark, written = _byte_order(data, encoding)
        if mark:
            yield Record(1, [], Unchanged(mark), part="mark")
        texts = codecs.iterdecode(chain((data[len(mark) :],), iter(source.read, b"")), written)
        utf8 = _Utf8(source, texts, encoding)
        yield from cls._lines(utf8, replace(options, encoding="utf-8"), written)

    @staticmethod
    def _lines(source: Source, options: ReadOptions, written: str) -> Iterator[Record | None]:
        """Yield the records of a source.

        Args:
            written: encoding of the output; another one than of the source if that is wide.
        """
        ending = "\n".encode(written)
        ended: Callable[[list[str]], bytes] = partial(_render, ending, written)
        unended: Callable[[list[str]], bytes] = partial(_render, b"", written)
        utf8 = text_encoding(options.encoding) == "utf-8"
        for block in blocks(source, options.max_record):
            if block is None:
                yield None
                continue
            line, records, end = block
            del block
            if utf8 and (texts := _texts(records, options)):
                for number, each in enumerate(texts, line):
                    yield Record(number, [each], ended)
                continue
            records.reverse()
            while records:  # a long line is not kept here while it is rewritten
                raw = records.pop()
                if line == 1 and not written.startswith(WIDE):
                    mark = _begin(source, raw, options, utf8=utf8)
                    raw = raw[len(mark) :]
                    if mark:
                        yield Record(1, [], Unchanged(mark), part="mark")
                    if mark and not raw and not end:
                        continue
                elif b"\0" in raw and not options.force_text:
                    raise binary(source, line)
                text, invalid = decode(source, line, raw, options)
                render = ended if end else unended
                if invalid and options.keep_equal:
                    render = partial(_render_changed, text, raw + end, render)
                del raw
                yield Record(line, [text], render, invalid, owes=b"" if end else ending)
                line += 1


def _begin(source: Source, raw: bytes, options: ReadOptions, *, utf8: bool) -> bytes:
    """Return the byte order mark of a first line.  Raises InputError: it is no text."""
    if not options.force_text:
        check(source, 1, raw)
    mark = byte_order_mark(source, raw) if utf8 else b""
    if not options.force_text:
        refuse_json(source, raw[len(mark) :])
    return mark


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


def _byte_order(first: bytes, encoding: str) -> tuple[bytes, str]:
    """Return the byte order mark of a stream and the encoding to write in."""
    orders = ("-be", "-le") if encoding in WIDE else ("",)
    for written in (encoding + order for order in orders):
        mark = "\ufeff".encode(written)
        if first.startswith(mark):
            return mark, written
    return b"", written


class _Utf8:
    """A source in another encoding as UTF-8.

    Args:
        texts: its text in pieces.
        encoding: for messages.
    """

    def __init__(self, source: Source, texts: Iterator[str], encoding: str) -> None:
        self.name, self.idle, self._texts = source.name, source.idle, texts
        self._encoding, self._line = encoding, 1

    def descriptor(self) -> int | None:
        return None

    def read(self) -> bytes:
        try:
            text = next(self._texts, "")
        except UnicodeError:
            what = f"invalid {self._encoding}"
            raise InputError(self.name, what, "convert the file first", line=self._line) from None
        self._line += text.count("\n")
        return text.encode()


def _render_changed(
    old: str, raw: bytes, render: Callable[[list[str]], bytes], texts: list[str]
) -> bytes:
    """Return the bytes of a line whose text stays the same, or of another text."""
    return raw if texts == [old] else render(texts)


def _render(ending: bytes, encoding: str, texts: list[str]) -> bytes:
    """Return a line with another text and the same ending."""
    # A character that the output encoding lacks becomes "?"; lone surrogates cannot occur.
    return texts[0].encode(encoding, errors="replace") + ending
