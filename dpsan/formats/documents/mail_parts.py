"""The grammar of an e-mail (RFC 5322, RFC 2046) on bytes: headers, and where its parts are.

Knows bytes and header names.  Must not know records.  The standard library says what a header
means; where it stands is found here, as its parser tells no places.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from email.errors import MessageError
from email.message import Message
from email.parser import BytesHeaderParser
from typing import Final, NamedTuple

from dpsan.errors import MalformedError
from dpsan.text.patterns import compiled

_HEADER: Final = compiled(rb"([!-9;-~]+)[ \t]*:([^\n]*+(?:\n[ \t][^\n]*+)*+)(?:\n|\Z)")
_BLANK: Final = compiled(rb"\r?\n")
# What a header may say that passes as it is: nothing that a person writes.
_SPACE: Final = rb"(?:\r?\n)?[ \t]*"
_BOUNDARY: Final = rb"boundary=(?:\"[^\"\\\r\n]{1,70}\"|[^\s\";]{1,70})"
_PASSING: Final = {
    "mime-version": compiled(_SPACE + rb"1\.0[ \t]*\r?"),
    "content-transfer-encoding": compiled(
        _SPACE + rb"(?:7bit|8bit|binary|base64|quoted-printable)[ \t]*\r?", re.IGNORECASE
    ),
    "content-disposition": compiled(_SPACE + rb"(?:inline|attachment)[ \t]*\r?", re.IGNORECASE),
    "content-type": compiled(
        _SPACE
        + rb"(?:message/rfc822|text/(?:plain|html|csv|markdown|enriched|calendar)(?:[ \t]*;"
        + _SPACE
        + rb"(?:charset=\"?[a-z0-9._:-]{1,40}\"?|format=\"?flowed\"?|delsp=\"?(?:yes|no)\"?))*+"
        rb"|multipart/(?:mixed|alternative|related|signed|report|digest)(?:[ \t]*;"
        + _SPACE
        + rb"(?:type=\"?(?:text/(?:plain|html)|multipart/alternative)\"?|"
        + _BOUNDARY
        + rb"))*+)[ \t]*;?[ \t]*\r?",
        re.IGNORECASE,
    ),
}
_BOUNDARIES: Final = compiled(_BOUNDARY, re.IGNORECASE)
_LONGEST: Final = 1 << 16
"""Bytes of a header that is read: the library takes the square of its length."""
_ENCODINGS: Final = ("7bit", "8bit", "binary", "base64", "quoted-printable")
_ONCE: Final = ("content-type", "content-transfer-encoding", "mime-version")


class Header(NamedTuple):
    """One header: bytes from ``start`` to ``end``, its ending included."""

    name: str
    """In small letters."""
    start: int
    value: int
    """The first byte behind the colon."""
    end: int
    passes: bool
    """Whether it says nothing but how its part is written."""


class Segment(NamedTuple):
    """A part of a multipart body."""

    start: int
    """With its delimiter."""
    inner: int
    """Behind it."""
    end: int


class Entity:
    """A mail, or a part of one: its headers, and where its body is.

    Args:
        data: of the whole mail.
        start, end: of this entity.
        kind: its type where it does not say.

    Raises:
        MalformedError: a line among the headers is none, or one that counts is there twice.
    """

    def __init__(self, data: bytes, start: int, end: int, kind: str = "text/plain") -> None:
        self.data, self.end = data, end
        self.headers = list[Header]()
        at = start
        while at < end and not (blank := _BLANK.match(data, at, end)):
            match = _HEADER.match(data, at, end)
            if match is None:
                raise MalformedError(at, "no header, and no empty line before the text")
            name = match[1].decode("ascii").lower()
            pattern = _PASSING.get(name)
            passes = pattern is not None and pattern.fullmatch(match[2]) is not None
            if pattern is not None:
                refuse_long(at, match.end())
            self.headers.append(Header(name, at, match.start(2), match.end(), passes))
            at = match.end()
        self.blank = at
        """Where the empty line begins."""
        self.body = blank.end() if at < end and blank else at
        names = [each.name for each in self.headers]
        if any(names.count(name) > 1 for name in _ONCE):
            raise MalformedError(start, "a header that counts once is there twice")
        try:
            self._said: Message = BytesHeaderParser().parsebytes(data[start:at])
            self._said.set_default_type(kind)
            self.kind = self._said.get_content_type()
            """Its type in small letters."""
            self.charset = self._said.get_content_charset("utf-8")
            self.boundary = self._said.get_boundary()
            self.encoding = str(self._said.get("content-transfer-encoding", "7bit")).strip().lower()
        except (MessageError, ValueError, LookupError):
            raise MalformedError(start, "headers that cannot be read") from None
        if self.encoding not in _ENCODINGS:
            raise MalformedError(start, "an unknown Content-Transfer-Encoding")

    @property
    def family(self) -> str:
        """The first half of its type."""
        return self.kind.partition("/")[0]

    @property
    def eol(self) -> bytes:
        """How its lines end."""
        at = self.data.find(b"\n", self.headers[0].start if self.headers else self.body)
        return b"\r\n" if at > 0 and self.data[at - 1 : at] == b"\r" else b"\n"

    def written(self, header: Header, boundary: str) -> bytes | None:
        """A header that says how its part is written, without what else it says; None: leave out.

        Args:
            header: of this entity.
            boundary: what a multipart has in place of its own, which may name a host or a person.

        Raises:
            MalformedError: there is nothing that it could say.
        """
        raw = self.data[header.start : header.end]
        if header.passes:
            return _BOUNDARIES.sub(f'boundary="{boundary}"'.encode(), raw)
        name, eol = self.data[header.start : header.value], self.eol
        if header.name == "content-type":
            # A type that is not known is a name that somebody gave.
            text = next(
                each
                for each in (self.kind, f"{self.family}/mixed", "text/plain")
                if (_PASSING[header.name].fullmatch(each.encode("ascii", "replace")))
            )
            if self.family == "multipart":
                text += f'; boundary="{boundary}"'
            elif self.family == "text":
                text += f'; charset="{self.charset}"'
        elif header.name == "content-transfer-encoding":
            text = self.encoding
        elif header.name == "mime-version":
            text = "1.0"
        elif header.name == "content-disposition":
            text = "attachment" if self._said.get_content_disposition() != "inline" else "inline"
        else:
            return None
        out = name + b" " + text.encode("ascii", "replace") + eol
        if not _PASSING[header.name].fullmatch(out[len(name) :].rstrip(b"\r\n")):
            raise MalformedError(header.start, "a header that cannot be read")
        return out


def refuse_long(start: int, end: int) -> None:
    """Raise MalformedError for a header that would take minutes to read."""
    if end - start > _LONGEST:
        raise MalformedError(start, f"a header longer than {_LONGEST} bytes")


def part_of(entity: Entity, segment: Segment) -> Entity:
    """Read a part of a multipart body.  Raises as :class:`Entity`."""
    kind = "message/rfc822" if entity.kind == "multipart/digest" else "text/plain"
    return Entity(entity.data, segment.inner, segment.end, kind)


def segments(entity: Entity) -> tuple[list[Segment], int]:
    """The parts of a multipart body, and where its last delimiter begins, or the body ends.

    Raises:
        MalformedError: no boundary, or no part.
    """
    if not entity.boundary:
        raise MalformedError(entity.body, "a multipart text without a boundary")
    try:
        boundary = re.escape(entity.boundary.encode("ascii"))
    except UnicodeEncodeError:
        raise MalformedError(entity.body, "a boundary that cannot be read") from None
    found = list(_delimiters(entity, boundary))
    if not found or found[0][1]:
        raise MalformedError(entity.body, "a multipart text without parts")
    last = next((at for at, (_, closes) in enumerate(found) if closes), None)
    ends = [match.start() for match, _ in found[1:]] + [entity.end]
    out = []
    for (match, _), end in zip(found[:last], ends, strict=False):
        blank = _BLANK.match(entity.data, match.end(), entity.end)
        inner = min(end, blank.end() if blank else match.end())
        out.append(Segment(match.start(), inner, end))
    return out, entity.end if last is None else found[last][0].start()


def _delimiters(entity: Entity, boundary: bytes) -> Iterator[tuple[re.Match[bytes], bool]]:
    pattern = compiled(rb"(?:\r?\n|(?<![^\n]))--" + boundary + rb"(--)?[ \t]*(?=\r?\n|\Z)")
    at = entity.body
    while match := pattern.search(entity.data, at, entity.end):
        yield match, match[1] is not None
        at = match.end()
