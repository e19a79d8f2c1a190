"""``eml``: an e-mail, of which the subject and the texts are rewritten and other headers left out.

Knows which parts of a mail are texts.  Must not know mechanisms.

A record is a header, a part of plain text, or a text of a part that is a page (see ``html``).
``start`` and ``end`` of an audit count what was decoded; the line is that of the part's first.
Headers that only say how a part is written stay, byte by byte where they can.  ``--field NAME``
draws a header that would be left out.  A mail is read as a whole, ``--max-record`` long at most.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import ClassVar, Final

from dpsan.errors import InputError, MalformedError
from dpsan.files.source import Source
from dpsan.formats.base import ReadOptions, Record, Unchanged
from dpsan.formats.documents.document import Document
from dpsan.formats.documents.html import noted, page_texts
from dpsan.formats.documents.html_text import HtmlText
from dpsan.formats.documents.mail_parts import Entity, Header, part_of, refuse_long, segments
from dpsan.formats.documents.mail_text import (
    CharsetError,
    header_text,
    is_plain,
    pack,
    python_charset,
    unpack,
    write_header,
)
from dpsan.formats.passing import LEFT_OUT
from dpsan.formats.text import decode
from dpsan.text.tokens import wordless

_DEEPEST: Final = 30
"""Mails and parts inside one another."""
_MOST_PARTS: Final = 10_000


class EmlFormat(Document):
    """A mail."""

    name: ClassVar[str] = "eml"
    kind: ClassVar[str] = "mail"
    takes_fields: ClassVar[bool] = True
    own_encoding: ClassVar[str] = "eml says its encoding itself"
    strippable: ClassVar[bool] = True

    def records(self, source: Source, data: bytes, options: ReadOptions) -> Iterator[Record]:
        """See :class:`~dpsan.formats.documents.document.Document`."""
        mail = _Mail(source, data, options)
        try:
            yield from mail.entity(Entity(data, 0, len(data)), 0)
        except MalformedError as error:
            mbox = data.startswith(b"From ")
            hint = "an mbox file? split it into mails" if mbox else ""
            raise InputError(source.name, error.what, hint, line=mail.line(error.at)) from None
        rest = Unchanged(mail.taken())
        yield Record(mail.line(len(data)), [], rest, part="frame", noted=mail.noted)


class _Page:
    """A part that is a page: its texts are collected, as it is encoded as a whole."""

    def __init__(self, before: bytes, charset: str, encoding: str, like: bytes) -> None:
        self._before, self._like = before, like
        self._charset, self._encoding = charset, encoding
        self._pieces: list[str] = []

    def take(self, before: bytes, said: HtmlText, texts: list[str]) -> bytes:
        """Keep a text and what stands before it; nothing is written yet."""
        self._pieces += (before.decode(), said.write(str(texts[0])))
        return b""

    def finish(self, rest: bytes, texts: list[str]) -> bytes:
        """All of it, encoded."""
        text = "".join([*self._pieces, rest.decode()])
        packed = pack(text, self._charset, self._encoding, self._like, page=True)
        return self._before + packed


def _header(before: bytes, name: str, eol: bytes, texts: list[str]) -> bytes:
    return before + write_header(name, str(texts[0]), eol)


def _part(before: bytes, charset: str, encoding: str, like: bytes, texts: list[str]) -> bytes:
    return before + pack(str(texts[0]), charset, encoding, like)


class _Mail:
    """One mail on its way."""

    def __init__(self, source: Source, data: bytes, options: ReadOptions) -> None:
        self.source, self.data, self.options = source, data, options
        self.chosen = {"subject", *(each.lower() for each in options.fields)}
        self.noted: Counter[str] = Counter()
        self._before: list[bytes] = []
        """What stays and is not written yet."""
        self._parts = self._boundaries = 0
        self._hollow: dict[tuple[int, int], bool] = {}
        """Whether the multipart or mail at a place holds nothing but attachments."""
        self._counted = 0, 1
        """A place, and its line."""

    def line(self, at: int) -> int:
        """Of a byte."""
        before, line = self._counted if at >= self._counted[0] else (0, 1)
        self._counted = at, line + self.data.count(b"\n", before, at)
        return self._counted[1]

    def taken(self) -> bytes:
        """What stays up to here."""
        before = b"".join(self._before)
        self._before.clear()
        return before

    def _left_out(self, kind: str) -> None:
        self.noted[f"{LEFT_OUT}:{kind}"] += 1

    def entity(self, entity: Entity, depth: int) -> Iterator[Record]:
        """The records of a mail or a part of it.  Raises InputError, MalformedError."""
        if depth > _DEEPEST:
            raise MalformedError(entity.body, f"more than {_DEEPEST} parts inside one another")
        if self._attached(entity, depth):
            self._refuse(entity)
        boundary = self._boundary() if entity.family == "multipart" else ""
        for header in entity.headers:
            yield from self._header(entity, header, boundary)
        self._before.append(self.data[entity.blank : entity.body])
        if entity.family == "multipart":
            yield from self._multipart(entity, depth, boundary)
        elif entity.kind == "message/rfc822":
            yield from self.entity(Entity(self.data, entity.body, entity.end), depth + 1)
        else:
            yield from self._part(entity)

    def _boundary(self) -> str:
        """A boundary that no text of the mail holds."""
        self._boundaries += 1
        while (boundary := f"=_{self._boundaries:08d}").encode() in self.data:
            self._boundaries += 1
        return boundary

    def _header(self, entity: Entity, header: Header, boundary: str) -> Iterator[Record]:
        raw = self.data[header.start : header.end]
        name = self.data[header.start : header.value].rstrip(b": \t").decode()
        if header.name in self.chosen:
            refuse_long(header.start, header.end)
            text, broken = header_text(self.data[header.value : header.end])
            if broken and self.options.invalid == "error":
                raise MalformedError(header.start, "a header that is no text")
            if wordless(text) and not broken and b"=?" not in raw:
                self._before.append(raw)
                return
            render = partial(_header, self.taken(), name, entity.eol)
            yield Record(self.line(header.start), [text], render, int(broken))
        elif written := entity.written(header, boundary):
            self._before.append(written)
        else:
            self._left_out("header")

    def _multipart(self, entity: Entity, depth: int, boundary: str) -> Iterator[Record]:
        if entity.encoding in ("base64", "quoted-printable"):
            raise MalformedError(entity.body, "a multipart text that is encoded as a whole")
        parts, last = segments(entity)
        self._parts += len(parts)
        if self._parts > _MOST_PARTS:
            raise MalformedError(entity.body, f"more than {_MOST_PARTS} parts")
        old, new = f"--{entity.boundary}".encode(), f"--{boundary}".encode()
        yield from self._around(entity.body, parts[0].start)
        for segment in parts:
            part = part_of(entity, segment)
            if self.options.strip and self._attached(part, depth + 1):
                self._left_out("attachment")
                continue
            delimiter = self.data[segment.start : segment.inner]
            self._before.append(delimiter.replace(old, new, 1))
            yield from self.entity(part, depth + 1)
        closing = self.data.find(b"\n", last + 2, entity.end)
        behind = entity.end if closing < 0 else closing
        self._before.append(self.data[last:behind].replace(old, new, 1))
        yield from self._around(behind, entity.end)

    def _around(self, start: int, end: int) -> Iterator[Record]:
        """What stands before and behind the parts, where programs look only if they know none."""
        raw = self.data[start:end]
        yield from self._text(start, raw, "utf-8", "8bit")

    def _attached(self, entity: Entity, depth: int) -> bool:
        """Whether it is something that cannot be rewritten, or with --strip holds nothing else."""
        if entity.kind == "message/rfc822" and entity.encoding in ("base64", "quoted-printable"):
            return True
        if entity.family not in ("text", "multipart") and entity.kind != "message/rfc822":
            return True
        if not self.options.strip or entity.family == "text" or depth > _DEEPEST:
            return False
        place = entity.body, entity.end
        if place not in self._hollow:
            if entity.family == "message":
                inner = iter([Entity(self.data, *place)])
            else:
                inner = (part_of(entity, each) for each in segments(entity)[0])
            self._hollow[place] = all(self._attached(each, depth + 1) for each in inner)
        return self._hollow[place]

    def _refuse(self, entity: Entity) -> None:
        alone = entity.headers and entity.headers[0].start == 0
        raise InputError(
            self.source.name,
            "a mail that is nothing but an attachment" if alone else "an attachment",
            "" if alone else "--strip leaves attachments out",
            line=self.line(entity.body),
        )

    def _part(self, entity: Entity) -> Iterator[Record]:
        raw = self.data[entity.body : entity.end]
        try:
            charset = python_charset(entity.charset)
        except CharsetError:
            raise MalformedError(entity.body, "a text in an unknown charset") from None
        try:
            body = unpack(raw, entity.encoding)
        except CharsetError:
            raise MalformedError(entity.body, f"damaged {entity.encoding}") from None
        if entity.kind == "text/html":
            yield from self._html(entity, body, raw, charset)
        else:
            yield from self._text(entity.body, raw, charset, entity.encoding, body)

    def _decoded(self, at: int, body: bytes, charset: str) -> tuple[str, int]:
        options = replace(self.options, encoding=charset)
        try:
            return decode(self.source, self.line(at), body, options)
        except UnicodeError:  # of a codec that cannot replace
            raise MalformedError(at, f"invalid {charset}") from None

    def _text(
        self, at: int, raw: bytes, charset: str, encoding: str, body: bytes | None = None
    ) -> Iterator[Record]:
        body = raw if body is None else body
        text, invalid = self._decoded(at, body, charset)
        if wordless(text) and not invalid and is_plain(raw, body, text, charset, encoding):
            self._before.append(raw)
            return
        render = partial(_part, self.taken(), charset, encoding, raw)
        yield Record(self.line(at), [text], render, invalid)

    def _html(self, entity: Entity, body: bytes, raw: bytes, charset: str) -> Iterator[Record]:
        text, invalid = self._decoded(entity.body, body, charset)
        line = self.line(entity.body)
        kept = self.taken()
        page = _Page(kept, charset, entity.encoding, raw)
        options = replace(self.options, encoding="utf-8", first_line=line)
        passing: dict[str, int] = {}
        unchanged = not invalid and is_plain(raw, body, text, charset, entity.encoding)
        for before, _, said, _ in page_texts(self.source, text.encode(), options, passing):
            if said is not None:
                yield Record(line, [said.text], partial(page.take, before, said), invalid)
                unchanged, invalid = False, 0
            elif unchanged:
                self._before += (kept, raw)
            else:
                yield Record(line, [], partial(page.finish, before), part="frame")
        self.noted.update(noted(passing))
