"""``eml``: an e-mail, of which the subject and the texts are rewritten and other headers left out.

A record is a header, a part of plain text, or a text of a part that is a page (see ``html``).
``start`` and ``end`` of an audit count what was decoded; the line is that of the part's first.
``--field NAME`` draws a header that would be left out.  The mail is written anew: headers that say
how it is built are made from what they mean, and boundaries are dpsan's.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import ClassVar, Final, TypeAlias

from dpsan.files.source import Source
from dpsan.formats.base import ReadOptions, Record, Unchanged
from dpsan.formats.documents import Document, RefusedError, mail_parts
from dpsan.formats.documents.html import HtmlText, page_texts
from dpsan.formats.passing import LEFT_OUT
from dpsan.formats.text import decode
from dpsan.text.tokens import wordless

_Encode: TypeAlias = Callable[[str], bytes]
"""Function that encodes a text for the mail."""


class EmlFormat(Document):
    """A mail."""

    name: ClassVar[str] = "eml"
    kind: ClassVar[str] = "mail"
    takes_fields = leaves_out = True
    own_encoding: ClassVar[str] = "eml says its encoding itself"

    def records(self, source: Source, data: bytes, options: ReadOptions) -> Iterator[Record]:
        if data.startswith(b"From "):
            what = "no header, and no empty line before the text"
            raise RefusedError(what, "an mbox file? split it into mails", line=1)
        mail = _Mail(source, data, options)
        yield from mail.entity(mail_parts.parse(data))
        rest = Unchanged(mail.taken())
        yield Record(data.count(b"\n"), [], rest, part="frame", noted=mail.noted)


class _Page:
    """A part that is a page: its texts are collected, as it is encoded as a whole."""

    def __init__(self, before: bytes, encode: _Encode) -> None:
        self._before, self._encode = before, encode
        self._pieces: list[str] = []

    def take(self, before: bytes, piece: HtmlText, texts: list[str]) -> bytes:
        """Keep a text and the markup before it; nothing is written yet."""
        self._pieces += (before.decode(), piece.write(texts[0]))
        return b""

    def finish(self, rest: bytes, texts: list[str]) -> bytes:
        """Return the whole page, encoded."""
        return self._before + self._encode("".join([*self._pieces, rest.decode()]))


def _written(before: bytes, encode: _Encode, texts: list[str]) -> bytes:
    return before + encode(texts[0])


_USUAL: Final = re.compile("(?i)bcc|cc|date|from|message-id|received|reply-to|sender|to")
"""Names of headers that a message shows: another one may be data."""


class _Mail:
    """One mail on its way."""

    def __init__(self, source: Source, data: bytes, options: ReadOptions) -> None:
        self._source, self._options = source, options
        self._chosen = {"subject", *(field.lower() for field in options.fields)}
        self._eol = b"\r\n" if data[: data.find(b"\n")].endswith(b"\r") else b"\n"
        self._there = set(re.findall(rb"=_[0-9]{8}", data))
        """Byte strings of the mail that look like a boundary of dpsan's."""
        self._boundaries = 0
        self._before: list[bytes] = []
        """Known content that is not written yet."""
        self.noted: Counter[str] = Counter()

    def taken(self) -> bytes:
        """Return what stands before the next record."""
        before = b"".join(self._before)
        self._before.clear()
        return before

    def _write(self, line: str) -> None:
        self._before += (line.encode("ascii", "replace"), self._eol)

    def entity(self, entity: mail_parts.Entity) -> Iterator[Record]:
        """Yield the records of a mail or a part of it.  Raises InputError, RefusedError."""
        if entity.attached if self._options.strict else entity.hollow:
            what, hint = "a mail that is nothing but an attachment", ""
            if entity.depth:
                what, hint = "an attachment", "without --strict or -i it is left out"
            raise RefusedError(what, hint, line=entity.blank + 1)
        entity.check()
        family = entity.get_content_maintype()
        boundary = self._boundary() if family == "multipart" else ""
        for (name, value), line in zip(entity.raw_items(), entity.lines, strict=True):
            yield from self._header(entity, name, value, line, boundary)
        self._write("")
        if family == "multipart":
            yield from self._multipart(entity, boundary)
        elif family == "message":
            yield from self.entity(entity.parts[0])
        else:
            yield from self._part(entity)

    def _boundary(self) -> str:
        """Return a boundary that no text of the mail holds."""
        self._boundaries += 1
        while (boundary := f"=_{self._boundaries:08d}").encode() in self._there:
            self._boundaries += 1
        return boundary

    def _header(
        self, entity: mail_parts.Entity, name: str, value: str, line: int, boundary: str
    ) -> Iterator[Record]:
        if name.lower() in self._chosen:
            mail_parts.refuse_long(value, line)
            text, broken = mail_parts.header_text(value)
            if broken and self._options.invalid == "error":
                raise RefusedError("a header that is no text", line=line)
            encode = partial(mail_parts.write_header, name, eol=self._eol)
            yield from self._text(line, text, int(broken), encode)
        elif written := entity.built(name.lower(), boundary):
            self._write(f"{name}: {written}")
        else:
            self.noted[f"{LEFT_OUT}:{name if _USUAL.fullmatch(name) else 'other'} header"] += 1

    def _multipart(self, entity: mail_parts.Entity, boundary: str) -> Iterator[Record]:
        if entity.preamble is not None:
            yield from self._around(entity.blank + 1, entity.preamble)
            self._write("")
        for part in entity.parts:
            if not self._options.strict and part.hollow:
                self.noted[f"{LEFT_OUT}:attachment"] += 1
                continue
            self._write(f"--{boundary}")
            yield from self.entity(part)
            self._write("")
        self._write(f"--{boundary}--")
        yield from self._around(entity.parts[-1].blank + 1, entity.epilogue or "")

    def _around(self, line: int, around: str) -> Iterator[Record]:
        """Yield what stands before or after the parts, for programs that know none."""
        text, invalid = self._decoded(line, around.encode("ascii", "surrogateescape"), "utf-8")
        yield from self._text(line, text, invalid, str.encode)

    def _part(self, entity: mail_parts.Entity) -> Iterator[Record]:
        line, encoding = entity.blank + 1, entity.encoding
        page = entity.get_content_type() == "text/html"
        raw = entity.raw()
        try:
            charset = mail_parts.python_charset(entity.parameters.get("charset", "utf-8"))
            body = mail_parts.unpack(raw, encoding)
        except LookupError:
            raise RefusedError("a text in an unknown charset", line=line) from None
        except ValueError:
            raise RefusedError(f"damaged {encoding}", line=line) from None
        text, invalid = self._decoded(line, body, charset)
        encode = partial(mail_parts.pack, charset=charset, encoding=encoding, like=raw, page=page)
        yield from (self._page if page else self._text)(line, text, invalid, encode)

    def _decoded(self, line: int, body: bytes, charset: str) -> tuple[str, int]:
        try:
            return decode(self._source, line, body, replace(self._options, encoding=charset))
        except UnicodeError:  # of a codec that cannot replace
            raise RefusedError(f"invalid {charset}", line=line) from None

    def _text(self, line: int, text: str, invalid: int, encode: _Encode) -> Iterator[Record]:
        if invalid or not wordless(text):
            yield Record(line, [text], partial(_written, self.taken(), encode), invalid)
        else:
            self._before.append(encode(text))

    def _page(self, line: int, text: str, invalid: int, encode: _Encode) -> Iterator[Record]:
        page = _Page(self.taken(), encode)
        options = replace(self._options, encoding="utf-8", first_line=line)
        for before, _, piece, _ in page_texts(self._source, text.encode(), options, self.noted):
            if piece is None:
                yield Record(line, [], partial(page.finish, before), part="frame")
            else:
                yield Record(line, [piece.text], partial(page.take, before, piece), invalid)
                invalid = 0
