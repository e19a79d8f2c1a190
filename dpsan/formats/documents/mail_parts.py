"""The parts of a mail as the standard library reads them, their headers, and text inside of them.

Its parser follows RFC 5322 and RFC 2046.  It takes the square of the length of some headers, and
nests as deep as the mail does, so these are bounded while it reads.
"""

import base64
import binascii
import re
import unicodedata
from codecs import lookup
from email import errors
from email.errors import MessageError
from email.feedparser import BytesFeedParser
from email.header import Header, decode_header
from email.message import Message
from email.policy import Policy, compat32
from email.utils import collapse_rfc2231_value
from functools import cached_property, partial
from typing import Any, Final, cast

from dpsan.formats.documents import RefusedError

_NO_CHARSETS = frozenset(
    ("idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem")
)
_CHARSET = re.compile(r"[a-zA-Z0-9._:+-]{1,40}")


def python_charset(name: str) -> str:
    """Return Python's name of a charset: UTF-8 for ASCII, which it holds.

    Raises:
        LookupError: unknown, or no charset of text.
    """
    charset = lookup(name).name if _CHARSET.fullmatch(name) else "undefined"
    if charset in _NO_CHARSETS:
        raise LookupError
    "".encode(charset)  # some of Python's encodings are none of text
    return "utf-8" if charset in ("ascii", "utf-8-sig") else charset


def unpack(raw: bytes, encoding: str) -> bytes:
    """Return a body without its transfer encoding.  Raises ValueError: damaged base64."""
    if encoding == "quoted-printable":
        return binascii.a2b_qp(raw)
    if encoding == "base64":
        return binascii.a2b_base64(re.sub(rb"[ \t\r\n]", b"", raw), strict_mode=True)
    return raw


def pack(text: str, charset: str, encoding: str, like: bytes, *, page: bool = False) -> bytes:
    """Return a body with its transfer encoding.

    Args:
        text: characters that the charset lacks lose their accents, or become a question mark.
        charset, encoding: as the header says.
        page: whether they become numeric entities instead.
        like: the body that stood there: whether it was ASCII, and how its lines and it end.
    """
    narrow = encoding == "7bit" and like.isascii() and charset == "utf-8"
    written = "ascii" if narrow else charset
    out = text.encode(written, errors="xmlcharrefreplace") if page else _encoded(text, written)
    eol = b"\r\n" if b"\r\n" in like else b"\n"
    if encoding == "quoted-printable":
        return binascii.b2a_qp(out, istext=True)
    if encoding == "base64":
        packed = base64.encodebytes(out).replace(b"\n", eol)
        return packed if like.endswith(b"\n") else packed.removesuffix(eol)
    return out


def _encoded(text: str, charset: str) -> bytes:
    try:
        return text.encode(charset)
    except UnicodeEncodeError:
        bare = [char if char.encode(charset, "ignore") else _unaccented(char) for char in text]
        return "".join(bare).encode(charset, errors="replace")


def _unaccented(character: str) -> str:
    split = unicodedata.normalize("NFKD", character)
    return "".join(part for part in split if not unicodedata.combining(part)) or character


def header_text(value: str) -> tuple[str, bool]:
    """Return the text of a header on one line, and whether some of it was no text.

    Args:
        value: as the parser gives it: bytes that are not ASCII are surrogates.
    """
    raw = value.encode("ascii", "surrogateescape")
    try:
        # On one line: decode_header would take words together that stand on two.
        parts = decode_header(re.sub(r"\r?\n", "", raw.decode()).strip())
        text = "".join(
            part if isinstance(part, str) else part.decode(python_charset(charset or "utf-8"))
            for part, charset in parts
        )
        broken = False
    except (MessageError, ValueError, LookupError):
        text, broken = raw.decode("utf-8", "replace"), True
    return re.sub(r"[\s\x00-\x1f\x85\u2028\u2029]+", " ", text).strip(), broken


def write_header(name: str, text: str, eol: bytes) -> bytes:
    """Return a header with a text, folded, its ending included."""
    one_line = re.sub(r"[\s\x00-\x1f]+", " ", text)
    charset = "us-ascii" if one_line.isascii() and "=?" not in one_line else "utf-8"
    header = Header(one_line, charset, header_name=name)
    value = header.encode(linesep="\n").encode("ascii", "replace")
    return name.encode() + b": " + value.replace(b"\n", eol) + eol


_KINDS: Final = {
    "text": ("plain", "html", "csv", "markdown", "enriched", "calendar"),
    "multipart": ("mixed", "alternative", "related", "signed", "report", "digest"),
    "message": ("rfc822",),
}
"""Types that pass.  Another one, a name that somebody gave, becomes the first of its family."""
_PARAMETERS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "text": {"charset": (), "format": ("flowed",), "delsp": ("yes", "no")},
    "multipart": {"type": ("text/plain", "text/html", "multipart/alternative")},
    "message": {},
}
"""Parameters and values that pass; of charsets those that Python knows."""
_PLAIN: Final = ("7bit", "8bit", "binary")
_ENCODED: Final = ("base64", "quoted-printable")
_BUILD: Final = ("mime-version", "content-type", "content-transfer-encoding", "content-disposition")
"""Headers that say how a part is written."""
LONGEST: Final = 1 << 16
"""Characters of a header that is drawn."""
_LONGEST_OF_BUILD: Final = 1 << 13
_MOST_HEADERS: Final = 1000
"""Headers of a part: the library searches all of them for each part inside."""
_DEEPEST: Final = 30
_MOST_PARTS: Final = 10_000
_SPACED: Final = re.compile(rb"^([!-9;-~]+)[ \t]+:", re.MULTILINE)
"""A header with white space before its colon, as old programs write it."""
_HEAD: Final = re.compile(rb"(?:[^\r\n].*\n)*")


class _Reading:
    """State of a mail that is being read."""

    line = 0
    """Line of the delimiter that was read last; 0 before the first one."""
    parts = 0


class Entity(Message):
    """A mail, or a part of one."""

    def __init__(self, reading: _Reading, policy: Policy) -> None:
        super().__init__(policy)
        self._reading = reading
        self.depth = 0
        self.lines: list[int] = []
        """Line of each header."""
        self.blank = reading.line + 1
        """Line after the headers."""

    def set_raw(self, name: str, value: str) -> None:
        """Take a header from the parser.  Raises RefusedError."""
        if name.lower() in _BUILD:
            refuse_long(value, self.blank, _LONGEST_OF_BUILD)
        if len(self.lines) == _MOST_HEADERS:
            raise RefusedError(f"more than {_MOST_HEADERS} headers", line=self.blank)
        self.lines.append(self.blank)
        self.blank += 1 + value.count("\n")
        super().set_raw(name, value)

    def attach(self, payload: Any) -> None:
        """Take a part from the parser.  Raises RefusedError."""
        if self.get_content_maintype() == "message":
            payload.blank = self.blank + 1
        payload.depth = self.depth + 1
        self._reading.parts += 1
        if payload.depth > _DEEPEST:
            raise RefusedError(f"more than {_DEEPEST} parts inside one another", line=payload.blank)
        if self._reading.parts > _MOST_PARTS:
            raise RefusedError(f"more than {_MOST_PARTS} parts", line=payload.blank)
        super().attach(payload)

    @property
    def parts(self) -> "list[Entity]":
        """Parts of a multipart, or the mail inside a message."""
        return cast(list[Entity], self.get_payload()) if self.is_multipart() else []

    @property
    def encoding(self) -> str:
        """Transfer encoding in small letters."""
        return str(self.get("content-transfer-encoding", "7bit")).strip().lower()

    @cached_property
    def parameters(self) -> dict[str, str]:
        """Parameters of the type in small letters; of one that is there twice the first."""
        pairs = reversed(self.get_params([]))
        return {name.lower(): collapse_rfc2231_value(value).lower() for name, value in pairs}

    @property
    def attached(self) -> bool:
        """Return True if the part cannot be rewritten."""
        mail = self.get_content_type() == "message/rfc822" and self.encoding not in _ENCODED
        return not mail and self.get_content_maintype() not in ("text", "multipart")

    @property
    def hollow(self) -> bool:
        """Return True if nothing in the part can be rewritten."""
        parts = self.parts
        return self.attached or (bool(parts) and all(part.hollow for part in parts))

    def check(self) -> None:
        """Raise RefusedError if headers are damaged or say two things."""
        # A delimiter that is missing is a defect, too, but its last part is complete.
        if any(
            not re.search("Multipart|Boundary", type(defect).__name__) for defect in self.defects
        ):
            raise RefusedError("no header, and no empty line before the text", line=self.blank)
        names = [name.lower() for name in self.keys()]
        if any(names.count(name) > 1 for name in _BUILD[:3]):
            raise RefusedError("a header that counts once is there twice", line=self.lines[0])
        if self.encoding not in _PLAIN + _ENCODED:
            raise RefusedError("an unknown Content-Transfer-Encoding", line=self.lines[0])
        if self.get_content_maintype() == "multipart":
            if not self.is_multipart():
                lacks = "parts" if self.get_boundary() else "a boundary"
                raise RefusedError(f"a multipart text without {lacks}", line=self.blank + 1)
            if self.encoding in _ENCODED:
                what = "a multipart text that is encoded as a whole"
                raise RefusedError(what, line=self.blank + 1)

    def raw(self) -> bytes:
        """Return the body as it stands in the file, with its transfer encoding."""
        del self["content-transfer-encoding"]  # the library would undo it, whatever is damaged
        body = self.get_payload(decode=True)
        return body if isinstance(body, bytes) else b""

    def built(self, name: str, boundary: str) -> str | None:
        """Return the value of a header that says how its part is written; None: leave it out.

        Args:
            name: in small letters.
            boundary: that a multipart has in place of its own, which may name a host or a
            person.
        """
        match name:
            case "mime-version":
                return "1.0"
            case "content-transfer-encoding":
                return self.encoding
            case "content-disposition":
                return "inline" if self.get_content_disposition() == "inline" else "attachment"
            case "content-type":
                return self._type(boundary)
        return None

    def _type(self, boundary: str) -> str:
        family, kind = self.get_content_maintype(), self.get_content_subtype()
        kinds = _KINDS[family]
        declared = [f"{family}/{kind if kind in kinds else kinds[0]}"]
        for name, values in _PARAMETERS[family].items():
            value = self.parameters.get(name, "")
            if value in values or (name == "charset" and value):
                declared.append(f'{name}="{value}"')
        if family == "multipart":
            declared.append(f'boundary="{boundary}"')
        return "; ".join(declared)


def parse(data: bytes) -> Entity:
    """Read a mail.  Raises RefusedError: it is too deep, or has too many or too long headers."""
    head = _HEAD.match(data)
    end = head.end() if head else 0
    data = _SPACED.sub(rb"\1:", data[:end]) + data[end:]
    reading = _Reading()
    parser = BytesFeedParser(partial(Entity, reading), policy=compat32)
    try:
        # Delimiters begin with two hyphens: fed one by one, each part learns its line.
        for number, piece in enumerate(re.split(rb"^(?=--)", data, flags=re.MULTILINE)):
            parser.feed(piece)
            reading.line += piece.count(b"\n") + (number == 0)
        return cast(Entity, parser.close())
    except (errors.MessageError, ValueError, LookupError):
        raise RefusedError("headers that cannot be read", line=reading.line) from None


def refuse_long(value: str, line: int, most: int = LONGEST) -> None:
    """Raise RefusedError for a header that would take minutes to read."""
    if len(value) > most:
        raise RefusedError(f"a header longer than {most} bytes", line=line)
