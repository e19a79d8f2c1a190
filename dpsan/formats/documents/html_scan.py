r"""The grammar of HTML on bytes: what is markup; everything else is text.

A browser makes something of any bytes.  Here it is the other way round: what passes has to match
this grammar, and what does not is text, so that a page that no two parsers read alike is rewritten
too much and never too little::

    tag      = "<" name *(space name ["=" value]) [space] ["/"] ">"  /  "</" name [space] ">"
    raw      = content of script and style, up to the end tag; inside of SVG and MathML, where
               browsers read tags in it, without "<" but for that of one comment or section
    comment  = "<!--" ... "-->"  /  "<!" ... ">"  /  "<?" ... ">"  /  "<![CDATA[" ... "]]>"
    frame    = a doctype of the W3C, an XML declaration, Office's <!--[if mso]> and its end

A name that HTML does not have is an error, unless the user names it.
"""

import re
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from typing import Final, NamedTuple, TypeAlias

from dpsan.errors import MalformedError
from dpsan.formats.documents import name_lists
from dpsan.formats.passing import PASSED
from dpsan.text.shape import compiled

_LISTS: Final = name_lists("html_names.txt")
_LINKS: Final = _LISTS["LINKS"]
"""Attributes that hold an address: of all that are text, some pass as parts of the page."""
_PASSING: Final = _LISTS["PASSING"]
"""Attributes whose values pass, counted; all others are text."""
_KNOWN: Final = _PASSING | _LINKS | _LISTS["OTHER"]
"""Attributes that HTML has; besides these there are ``data-*`` and ``on*``."""
_RAW: Final = ("script", "style")
"""Elements whose content is no text to a reader."""
_FOREIGN: Final = ("svg", "math")
"""Elements in which browsers read tags also in those of :data:`_RAW`."""
_TEXT_ONLY: Final = ("title", "textarea", "xmp", "iframe", "noembed", "noframes", "plaintext")
"""Elements in which browsers read no tags; of these ``title`` and ``textarea`` have entities."""
_SPACE: Final = rb"[\t\n\f\r ]"
_NAME: Final = rb"[A-Za-z][A-Za-z0-9]*+(?:[-:._][A-Za-z0-9]++)*+"
# Groups: name, value in double or single quotes or in none.
_ATTRIBUTE: Final = (
    rb"[\t\n\f\r /]*+([^\t\n\f\r \"'<>/=\x00-\x1f]++)(?:" + _SPACE + rb"*+=" + _SPACE + rb"*+(?:"
    rb"\"([^\"]*+)\"|'([^']*+)'|([^\t\n\f\r \"'<>=`][^\t\n\f\r <>]*+)))?+"
)
# Possessive quantifiers: no attribute is tried in two ways.
_OPENING: Final = compiled(
    b"<(" + _NAME + rb")(?=[\t\n\f\r />])((?:"
    + re.sub(rb"\((?!\?)", b"(?:", _ATTRIBUTE)
    + rb")*+)[\t\n\f\r /]*+>"
)  # fmt: skip
_CLOSING: Final = compiled(b"</(" + _NAME + b")" + _SPACE + b"*+>")
_ATTRIBUTES: Final = compiled(_ATTRIBUTE)
_CONDITION: Final = (
    rb"\[if[ (!]+(?:(?:gte?|lte?|!) ?)?(?:mso|ie|vml|support(?:misalignedcolumns|lists|emptyparas"
    rb"|linebreaknewline|fields|annotations|footnotes))(?:[. ()|&]*[0-9]{1,2}){0,4}[ ()|&]*\]"
)
# The names of W3C's and IETF's document types, and the paths of their files.
_DTD: Final = (
    rb"x?html(?:(?:[ +-]|//)(?:[0-9]\.[0-9]{1,2}|level [0-9]|basic|draft|final|frameset|mathml|plus"
    rb"|print|rdfa|strict|svg|transitional))*"
)
_DTD_PATH: Final = (
    rb"(?:x?html[0-9]{0,3}|basic|dtd|f|frameset|loose|markup|mathml[0-9]?|plus|print|rdfa|rec|strict"
    rb"|svg[0-9]{0,2}|transitional|wd|flat|math|[0-9]{1,8}|[/.+-])*"
)
_ENCODING: Final = (
    rb"(?:utf-(?:8|16)|us-ascii|iso-8859-[0-9]{1,2}|windows-125[0-9]|koi8-[ru]|big5|shift_jis"
    rb"|euc-(?:jp|kr)|gb(?:k|2312|18030))"
)
_FRAME: Final = compiled(
    rb"<!doctype\s+html"
    rb"(?:\s+public\s+\"-//(?:w3c|ietf)//dtd " + _DTD + rb"//en"
    rb"(?:\"\s+\"http://www\.w3\.org/(?:tr/)?" + _DTD_PATH + rb")?\""
    rb"|\s+system\s+\"about:legacy-compat\")?\s*>"
    rb"|<\?xml\s+version=[\"']1\.[01][\"'](?:\s+encoding=[\"']" + _ENCODING + rb"[\"'])?"
    rb"(?:\s+standalone=[\"'](?:yes|no)[\"'])?\s*\?>"
    rb"|<\?xml:namespace prefix ?= ?\"?[a-z]\"? ns ?= ?"
    rb"\"urn:schemas-microsoft-com:(?:office:(?:access|excel|office|powerpoint|smarttags|word)|vml)\""
    rb" ?/?>"
    rb"|<!--" + _CONDITION + rb">(?:<!-->|<!---->)?|(?:<!--)?<!\[endif\](?:--)?>"
    rb"|<!--?-->|<!" + _CONDITION + rb">",
    re.IGNORECASE,
)  # fmt: skip
_UNTAGGED: Final = compiled(rb"[^<]*+(?:<!(?:--|\[CDATA\[)[^<]*+)?")
"""Content of a style or script that is none to a reader in HTML, SVG and MathML alike."""
_PART: Final = compiled(
    rb"#|data:(?:image|font)/[a-z0-9.+-]{1,30}(?:;base64)?,[a-z0-9+/=\s]*+\Z", re.IGNORECASE
)
"""Address of a place of the page itself, or a picture in it."""
_WRITTEN_TO: Final = compiled(rb"(?:mailto|tel|sms|callto|skype|xmpp|facetime):", re.IGNORECASE)
_PROGRAM: Final = compiled(
    rb"(?:module|importmap|speculationrules|(?:text|application)/(?:x-)?(?:java|ecma|j)script[0-9.]*"
    rb"(?:\s*;\s*charset=[a-z0-9-]{1,12})?)?",
    re.IGNORECASE,
)


class Kind(Enum):
    """Notation of a text."""

    TEXT = "between tags"
    QUOTED = "attribute in double quotes"
    APOSTROPHES = "attribute in single quotes"
    BARE = "attribute without quotes"
    COMMENT = "comment"
    SECTION = "CDATA section"
    RAW = "element whose content has no entities"


class Span(NamedTuple):
    """A text: bytes from ``start`` to ``end``."""

    kind: Kind
    start: int
    end: int


_Attribute: TypeAlias = tuple[str, Span]
"""Name and value of an attribute."""


class Scan:
    """The texts of a page in order.

    Args:
        chosen: names in small letters of elements and attributes that are known besides those of
            HTML; such attributes are text.  ``*`` stands for all, whose names pass.
        passing: what passes although it might hold text is counted here, as a record reports it.
    """

    def __init__(self, data: bytes, chosen: frozenset[str], passing: Counter[str]) -> None:
        self.data, self.chosen, self.passing = data, chosen, passing
        self._foreign = 0
        """Number of open elements of SVG and MathML."""

    def __iter__(self) -> Iterator[Span]:
        """Raises MalformedError: a name that HTML does not have, or a script that does not end."""
        data, at, begin = self.data, 0, 0
        while (at := data.find(b"<", at)) >= 0:
            spans: list[Span]
            if frame := _FRAME.match(data, at):
                spans, end = [], frame.end()
            elif data.startswith((b"<!", b"<?"), at):
                spans, end = self._comment(at)
            elif closing := _CLOSING.match(data, at):
                name = _text(closing[1])
                self._check(name in _LISTS["ELEMENTS"] or name in self.chosen, at)
                self._foreign -= name in _FOREIGN and self._foreign > 0
                spans, end = [], closing.end()
            elif opening := _OPENING.match(data, at):
                spans, end = self._tag(opening)
            else:
                at += 1
                continue
            if begin < at:
                yield Span(Kind.TEXT, begin, at)
            yield from spans
            at = begin = end
        if begin < len(data):
            yield Span(Kind.TEXT, begin, len(data))

    def _count(self, kind: str) -> None:
        self.passing[f"{PASSED}:{kind}"] += 1

    def _comment(self, at: int) -> tuple[list[Span], int]:
        """Return a comment, and the position after it; without an end it is the rest of the
        page.
        """
        data = self.data
        kind, opening, closing = Kind.COMMENT, 2, b">"
        if data.startswith(b"<!--", at) and not data.startswith((b"<!-->", b"<!--->"), at):
            opening, closing = 4, b"-->"
        elif data.startswith(b"<![CDATA[", at):
            kind, opening, closing = Kind.SECTION, 9, b"]]>"
        start = at + opening
        end = data.find(closing, start)
        if end < 0:
            return [Span(kind, start, len(data))], len(data)
        return [Span(kind, start, end)], end + len(closing)

    def _check(self, listed: bool, at: int) -> None:
        """Raise MalformedError if the name of a tag or attribute is not known."""
        if listed:
            return
        if "*" not in self.chosen:
            what = "a tag or attribute with a name that HTML does not have"
            hint = "if it is text, write &lt; or quotes; if not, -k NAME or -k '*'"
            raise MalformedError(at, what, hint)
        self._count("name")

    def _tag(self, match: re.Match[bytes]) -> tuple[list[Span], int]:
        """Return the texts of a tag, those of an element without tags, and the position after."""
        name, end = _text(match[1]), match.end()
        self._check(name in _LISTS["ELEMENTS"] or name in self.chosen, match.start())
        attributes = list(self._attributes(*match.span(2)))
        spans = [*filter(None, (self._value(name, span, attributes) for span in attributes))]
        closed = b"/" in self.data[match.end(2) : end]
        self._foreign += name in _FOREIGN and not closed
        if name in _RAW or name in _TEXT_ONLY:
            inner, end = self._content(name, end, attributes)
            spans += inner
        return spans, end

    def _attributes(self, at: int, end: int) -> Iterator[_Attribute]:
        for match in _ATTRIBUTES.finditer(self.data, at, end):
            name = _text(match[1])
            if name in _KNOWN or name in self.chosen:
                pass
            elif name[:2] == "on" and name.isalpha() and name.isascii() and len(name) < 30:
                self._count("script")
            elif re.fullmatch(r"data-[a-z0-9_.:-]+", name):
                self._count("name")
            else:
                self._check(False, match.start(1))
            for group, kind in ((2, Kind.QUOTED), (3, Kind.APOSTROPHES), (4, Kind.BARE)):
                if match[group]:
                    yield name, Span(kind, *match.span(group))

    def _value(self, element: str, attribute: _Attribute, others: list[_Attribute]) -> Span | None:
        """Return the text that an attribute's value is; None where it passes."""
        name, value = attribute
        if name in self.chosen:
            return value
        if name in _LINKS:
            if part := _PART.match(self.data[value.start : value.end]):
                self._count("link" if part[0] == b"#" else "picture")
                return None
            scheme = _WRITTEN_TO.match(self.data, value.start, value.end)
            return value._replace(start=scheme.end()) if scheme else value
        if name == "content" and element == "meta":
            named = [span for other, span in others if other in ("name", "http-equiv")]
            kinds = {_text(self.data[span.start : span.end]) for span in named}
            if len(kinds) == 1 and kinds <= _LISTS["PLAIN_META"]:
                self._count("attribute")
                return None
        if name in _PASSING:
            self._count("style" if name == "style" else "attribute")
            return None
        return None if name.startswith("on") else value

    def _content(self, name: str, at: int, attributes: list[_Attribute]) -> tuple[list[Span], int]:
        """Return the text of an element without tags, and where it ends."""
        data = self.data
        if name in _RAW and data[at - 2 : at] == b"/>":
            return [], at  # XHTML ends it here, HTML does not: then its content is text
        ending = compiled(b"</" + name.encode() + rb"(?=[\t\n\f\r />])", re.IGNORECASE)
        match = None if name == "plaintext" else ending.search(data, at)
        end = match.start() if match else len(data)
        if name in _RAW and match is None:
            raise MalformedError(at, f"a {name} that does not end")
        if at == end or (name in _RAW and self._foreign and not _UNTAGGED.fullmatch(data, at, end)):
            return [], at
        types = [data[span.start : span.end] for other, span in attributes if other == "type"]
        if name == "style" or (name == "script" and all(map(_PROGRAM.fullmatch, types))):
            self._count(name)
            return [], end
        kind = Kind.TEXT if name in ("title", "textarea") else Kind.RAW
        return [Span(kind, at, end)], end


def _text(name: bytes) -> str:
    return name.decode("latin-1").lower()
