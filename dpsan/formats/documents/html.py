"""``html``: a page, of which the texts between tags, in comments and in attributes are rewritten.

Each text is a record: what stands between two tags, an attribute's value, a comment.  Entities are
read before words are looked for, and ``start`` and ``end`` of an audit count what was read.  A page
is read as a whole, 64 MiB long at most.  ``--field NAME`` names further attributes that
are text, which is also how a page's own tags and attributes are known.

Only the bytes of texts change.

What is written is a function of the new text: of characters, ``&``, ``<``, quotes in an attribute
and no-break spaces are entities, and no others, however they were written.  The bytes of a word
that was drawn as itself would tell so.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from html import unescape
from typing import ClassVar, Final, TypeAlias

from dpsan.errors import InputError, MalformedError, UsageError
from dpsan.files.source import Source
from dpsan.formats.base import ReadOptions, Record, Unchanged
from dpsan.formats.documents import Document
from dpsan.formats.documents.html_scan import Kind, Scan
from dpsan.formats.text import byte_order_mark, decode, text_encoding
from dpsan.text.tokens import wordless

_ENTITY: Final = re.compile(r"&(?:#[0-9]{1,9}|#[xX][0-9a-fA-F]{1,8}|[A-Za-z][A-Za-z0-9]{0,40});?")
_ENDS: Final = {
    Kind.COMMENT: re.compile(r"-(?=-!?>)|\A-?(?=>)"),
    Kind.SECTION: re.compile(r"\](?=\]>)"),
    Kind.RAW: re.compile(r"<(?=/)"),
}
"""Strings that would end a text without entities, without their first character."""
_PLAIN: Final = {ord("&"): "&amp;", ord("<"): "&lt;", 0xA0: "&#160;"}
_QUOTED: Final = {**_PLAIN, ord('"'): "&quot;"}
_ESCAPES: Final = {
    Kind.TEXT: _PLAIN,
    Kind.QUOTED: _QUOTED,
    Kind.BARE: _QUOTED,
    Kind.APOSTROPHES: {**_PLAIN, ord("'"): "&#39;"},
}


class HtmlText:
    """A text of a page.

    Args:
        kind: how it stands there.
        raw: its characters there.
    """

    __slots__ = ("_kind", "_more", "text")

    def __init__(self, kind: Kind, raw: str) -> None:
        self._kind = kind
        # As it was: a page within an attribute has &lt;p&gt;.
        nested = kind is not Kind.TEXT and "&gt;" in raw
        self._more = {ord(">"): "&gt;"} if nested else {}
        self.text = _ENTITY.sub(_character, raw) if kind in _ESCAPES else raw
        """Text with its entities replaced."""

    @property
    def blank(self) -> bool:
        """Return True if nothing in it is drawn or dropped."""
        return self.text.isspace() or wordless(self.text)

    def write(self, text: str) -> str:
        """Encode another text instead of it."""
        if self._kind not in _ESCAPES:
            # With a space where it would end too early.
            return _ENDS[self._kind].sub(lambda match: match[0] + " ", text)
        out = text.translate(_ESCAPES[self._kind] | self._more)
        return f'"{out}"' if self._kind is Kind.BARE else out


def _character(entity: re.Match[str]) -> str:
    """Return what an entity stands for; itself if that is no character: it may be a number."""
    plain = unescape(entity[0])
    return entity[0] if plain in ("", "\ufffd") else plain


_DECLARED: Final = re.compile(
    rb"<meta\s[^>]{0,200}?charset\s*=\s*[\"']?\s*([a-z0-9._:-]{1,20})"
    rb"|\A\s*<\?xml\s[^>]{0,80}?encoding\s*=\s*[\"']([a-z0-9._:-]{1,20})",
    re.IGNORECASE,
)
_HEAD: Final = 4096
"""Bytes in which a page may declare its encoding; browsers look at 1024."""
_WIDE: Final = re.compile(rb"<\0[A-Za-z!/?]\0|\0<\0[A-Za-z!/?]")
"""A tag in UTF-16: without a byte order mark it would be text."""
_STATEFUL: Final = ("utf-7", "iso2022", "hz")
"""Encodings in which the byte of < need not be that character."""
_LATIN: Final = {"ascii": "cp1252", "iso8859-1": "cp1252"}
"""Encodings that browsers read these as."""


PageText: TypeAlias = tuple[bytes, int, HtmlText | None, int]
"""Markup before a text, the text's line, the text, None after the last one, and invalid bytes."""


def page_texts(
    source: Source, data: bytes, options: ReadOptions, passing: Counter[str]
) -> Iterator[PageText]:
    """Yield the texts of a page, and last what follows them.

    Args:
        options: encoding, what to do with invalid bytes, chosen names, line of the first byte.
        passing: see :class:`~dpsan.formats.documents.html_scan.Scan`.

    Raises:
        InputError: something cannot be told from text; names the line.
    """
    chosen = frozenset(field.lower() for field in options.fields)
    done = counted = 0
    line = options.first_line
    try:
        for kind, start, end in Scan(data, chosen, passing):
            here = line + data.count(b"\n", counted, start)
            line, counted = here, start
            raw, invalid = decode(source, here, data[start:end], options)
            text = HtmlText(kind, raw)
            if invalid or not text.blank:
                # What an attribute without quotes gets, it gets with its text.
                yield data[done:start], here, text, invalid
                done = end
    except MalformedError as error:
        raise error.in_file(source.name, data, options.first_line) from None
    yield data[done:], line, None, 0


class HtmlFormat(Document):
    """A page."""

    name: ClassVar[str] = "html"
    kind: ClassVar[str] = "page"
    takes_fields = True

    def records(self, source: Source, data: bytes, options: ReadOptions) -> Iterator[Record]:
        encoding = _supported(text_encoding(options.encoding))
        mark = byte_order_mark(source, data)
        declared, line = ("utf-8", 1) if mark else _declared(data)
        if declared and declared != encoding:
            if encoding != "utf-8":
                what = f"the page says that it is {declared}, not {encoding}"
                raise InputError(source.name, what, f"--encoding {declared}", line=line)
            encoding = _supported(declared)
        options = replace(options, encoding=encoding)
        if mark:
            yield Record(1, [], Unchanged(mark), part="mark")
            data = data[len(mark) :]
        if match := _WIDE.search(data):
            line = 1 + data.count(b"\n", 0, match.start())
            what = "NUL bytes around a tag: UTF-16?"
            raise InputError(source.name, what, "convert it to UTF-8", line=line)
        passing = Counter[str]()
        for before, line, text, invalid in page_texts(source, data, options, passing):
            if text is None:
                yield Record(line, [], Unchanged(before), part="frame", noted=passing)
            else:
                written = partial(_written, before, text, encoding)
                yield Record(line, [text.text], written, invalid, size=len(before))


def _supported(encoding: str) -> str:
    """Return the encoding that a page is read in. Raises UsageError."""
    if encoding.replace("_", "").startswith(_STATEFUL):
        raise UsageError(f"html in {encoding} is not supported", "convert the file to UTF-8")
    return _LATIN.get(encoding, encoding)


def _declared(data: bytes) -> tuple[str, int]:
    """Return the encoding that a page says it has, and where; nothing if browsers guess."""
    match = _DECLARED.search(data, 0, _HEAD)
    if match is None:
        return "", 1
    try:
        declared = text_encoding((match[1] or match[2]).decode())
    except UsageError:
        return "", 1
    return _LATIN.get(declared, declared), 1 + data.count(b"\n", 0, match.start())


def _written(before: bytes, text: HtmlText, encoding: str, texts: list[str]) -> bytes:
    """Markup, and another text after it."""
    return before + text.write(str(texts[0])).encode(encoding, errors="xmlcharrefreplace")
