"""Text in an e-mail: charsets, quoted-printable, base64, encoded words."""

from __future__ import annotations

import binascii
import re
import unicodedata
from codecs import lookup
from email.errors import MessageError
from email.header import Header, decode_header

_NO_CHARSETS = frozenset(
    ("idna", "punycode", "unicode_escape", "raw_unicode_escape", "undefined", "mbcs", "oem")
)
_CHARSET = re.compile(r"[a-zA-Z0-9._:+-]{1,40}")


def python_charset(name: str) -> str:
    """Return Python's name of a charset: UTF-8 for ASCII, which it holds.

    Raises:
        LookupError: unknown, or no charset of text.
    """
    found = lookup(name).name if _CHARSET.fullmatch(name) else "undefined"
    if found in _NO_CHARSETS:
        raise LookupError
    "".encode(found)  # some of Python's encodings are none of text
    return "utf-8" if found in ("ascii", "utf-8-sig") else found


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
        lines = [binascii.b2a_base64(out[at : at + 57]) for at in range(0, len(out), 57)]
        packed = b"".join(lines).replace(b"\n", eol)
        return packed if like.endswith(b"\n") else packed.removesuffix(eol)
    return out


def _encoded(text: str, charset: str) -> bytes:
    try:
        return text.encode(charset)
    except UnicodeEncodeError:
        bare = [each if each.encode(charset, "ignore") else _unaccented(each) for each in text]
        return "".join(bare).encode(charset, errors="replace")


def _unaccented(character: str) -> str:
    split = unicodedata.normalize("NFKD", character)
    return "".join(each for each in split if not unicodedata.combining(each)) or character


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
