"""``text``: one record a line.

Grammar: records end with a newline (or NUL with ``-z``) and nothing else; the last one may lack it.
A carriage return before the newline is white space of the record and comes out unchanged.  A UTF-8
byte order mark at the very start is kept and is not part of the first record.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import ClassVar, Final

from dpsan.errors import InputError, UsageError
from dpsan.formats.base import Format, ReadOptions, Record, Source

__all__ = ["TextFormat", "decode", "raw_records"]

_UTF16: Final = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_WIDE: Final = ("utf-16", "utf-32")


def raw_records(
    source: Source, separator: bytes, max_record: int
) -> Iterator[tuple[int, bytes, bytes] | None]:
    """(line, bytes without separator, separator or b"") for each record; None when idle.

    Raises:
        InputError: a record is larger than ``max_record``.
    """
    line = 0
    parts: list[bytes] = []
    held = 0
    while True:
        if source.idle():
            yield None
        data = source.read()
        if not data:
            break
        pieces = data.split(separator)
        for piece in pieces[:-1]:
            line += 1
            if held + len(piece) > max_record:
                raise _too_long(source, line, max_record)
            if parts:
                parts.append(piece)
                piece = b"".join(parts)  # noqa: PLW2901
                parts, held = [], 0
            yield line, piece, separator
        if pieces[-1]:
            parts.append(pieces[-1])
            held += len(pieces[-1])
            if held > max_record:
                raise _too_long(source, line + 1, max_record)
    if parts:
        yield line + 1, b"".join(parts), b""


def _too_long(source: Source, line: int, limit: int) -> InputError:
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
        return text, text.count("\ufffd")


class TextFormat(Format):
    """Lines of text."""

    name: ClassVar[str] = "text"
    suffixes: ClassVar[tuple[str, ...]] = (".txt", ".log", ".text", ".md")

    def read(self, source: Source, options: ReadOptions) -> Iterator[Record | None]:
        """See :class:`Format`."""
        try:
            encoding = codecs.lookup(options.encoding).name
        except LookupError:
            raise UsageError(f"unknown encoding '{options.encoding}'") from None
        if encoding.startswith(_WIDE):
            yield from self._wide(source, options, encoding)
            return
        separator = b"\0" if options.null_data else b"\n"
        for item in raw_records(source, separator, options.max_record):
            if item is None:
                yield None
                continue
            line, raw, ending = item
            mark = b""
            if line == 1 and encoding == "utf-8":
                if raw.startswith(_UTF16):
                    raise InputError(source.name, "looks like UTF-16", "--encoding utf-16", line=1)
                if raw.startswith(codecs.BOM_UTF8):
                    mark, raw = codecs.BOM_UTF8, raw[3:]
            text, invalid = decode(source, line, raw, options)
            yield Record(line, [text], _Render(mark, ending, encoding), invalid)

    def _wide(self, source: Source, options: ReadOptions, encoding: str) -> Iterator[Record | None]:
        """Encodings in which a newline is not one byte: decoded as a stream, then split."""
        decoder = codecs.getincrementaldecoder(encoding)(errors="strict")
        separator = "\0" if options.null_data else "\n"
        first = source.read()
        mark, out_encoding = _byte_order(first, encoding)
        text, line, data = "", 0, first
        while True:
            try:
                text += decoder.decode(data, final=not data)
            except UnicodeDecodeError:
                if options.invalid == "error" or not data:
                    raise InputError(source.name, f"invalid {encoding}", line=line + 1) from None
                raise InputError(
                    source.name, f"invalid {encoding}", "convert the file first", line=line + 1
                ) from None
            *whole, text = text.split(separator)
            for each in whole:
                line += 1
                yield Record(line, [each], _Render(mark, separator.encode(), out_encoding))
                mark = b""
            if len(text) > options.max_record:
                raise _too_long(source, line + 1, options.max_record)
            if not data:
                break
            if source.idle():
                yield None
            data = source.read()
        if text:
            yield Record(line + 1, [text], _Render(mark, b"", out_encoding))


def _byte_order(first: bytes, encoding: str) -> tuple[bytes, str]:
    """The byte order mark of a stream and the encoding to write in."""
    if encoding in ("utf-16", "utf-32"):
        wide = encoding == "utf-32"
        big = codecs.BOM_UTF32_BE if wide else codecs.BOM_UTF16_BE
        little = codecs.BOM_UTF32_LE if wide else codecs.BOM_UTF16_LE
        if first.startswith(big):
            return big, encoding + "-be"
        return (little if first.startswith(little) else b""), encoding + "-le"
    return b"", encoding


class _Render:
    """A line with another text: byte order mark, text, the same ending."""

    __slots__ = ("encoding", "ending", "mark")

    def __init__(self, mark: bytes, ending: bytes, encoding: str) -> None:
        self.mark, self.ending, self.encoding = mark, ending, encoding

    def __call__(self, texts: list[str]) -> bytes:
        # A word that the output encoding lacks becomes "?"; lone surrogates cannot occur.
        body = texts[0].encode(self.encoding, errors="replace")
        ending = self.ending
        if ending and len("\n".encode(self.encoding)) > 1:
            ending = ending.decode("ascii").encode(self.encoding)
        return self.mark + body + ending
