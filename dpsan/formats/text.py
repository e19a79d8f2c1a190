"""``text``: one record a line.

Grammar: records end with a newline and nothing else; the last one may lack it.
A carriage return before the newline is white space of the record and is unchanged.  A byte
order mark at the very start is kept and is not part of the first record.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import ClassVar, Final

from dpsan.errors import InputError
from dpsan.files.source import Source
from dpsan.formats.base import Format, ReadOptions, Record, Unchanged
from dpsan.formats.lines import blocks, byte_order_mark, check, decode, text_encoding
from dpsan.formats.registry import binary, refuse_records, refuse_suffix

_LARGE: Final = 1 << 20
"""Bytes above which a record is decoded by itself."""


class TextFormat(Format):
    """Lines of text."""

    name: ClassVar[str] = "text"
    one_text = joinable = takes_budget = copyable = takes_spans = True

    def read(self, source: Source, options: ReadOptions) -> Iterator[Record | None]:
        if not options.force_text:
            refuse_suffix(source)
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
                for number, each in enumerate(texts, line):
                    yield Record(number, [each], ended)
                continue
            records.reverse()
            while records:  # a long line is not kept here while it is rewritten
                raw = records.pop()
                if line == 1:
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
                yield Record(line, [text], render, invalid, owes=b"" if end else b"\n")
                line += 1


def _begin(source: Source, raw: bytes, options: ReadOptions, *, utf8: bool) -> bytes:
    """Return the byte order mark of a first line.  Raises InputError: it is no text."""
    if not options.force_text:
        check(source, 1, raw)
    mark = byte_order_mark(source, raw) if utf8 else b""
    if not options.force_text:
        refuse_records(source, raw[len(mark) :])
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


def _render_changed(
    old: str, raw: bytes, render: Callable[[list[str]], bytes], texts: list[str]
) -> bytes:
    """Return the bytes of a line whose text stays the same, or of another text."""
    return raw if texts == [old] else render(texts)


def _render(ending: bytes, encoding: str, texts: list[str]) -> bytes:
    """Return a line with another text and the same ending."""
    # A character that the output encoding lacks becomes "?"; lone surrogates cannot occur.
    return texts[0].encode(encoding, errors="replace") + ending
