"""One XML part of a document: where its texts are, and what of it has to go.

Expat says what stands at which byte; whatever is not cut out or rewritten keeps its bytes.
"""

from __future__ import annotations

from collections.abc import Collection
from html import unescape
from typing import Final, NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import escape

from dpsan.formats.documents.docx_names import ATTRIBUTES, BARRIERS, ELEMENTS, UNWRAPPED
from dpsan.text.patterns import compiled
from dpsan.text.tokens import TOKENIZERS, wordless

_W: Final = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_R: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TAG: Final = compiled(rb"<(?:[^<>\"']|\"[^\"]*\"|'[^']*')*+>")
_ATTRIBUTE: Final = compiled(rb"\s+([^\s=]+)\s*=\s*(\"[^\"]*\"|'[^']*')")
# Values that a program writes: numbers, colours, identifiers, words of the standard, styles.
_VALUE: Final = compiled(r"[\w .,#%:+/-]{0,64}|[([{)\]}]")
_BOOKMARK: Final = compiled(r"_[A-Z][A-Za-z]{1,9}[0-9]{0,12}")
_FIELD: Final = compiled(
    r"\s*(?:PAGE|NUMPAGES|SECTION|SECTIONPAGES|DATE|TIME|NOTEREF|SEQ (?:Figure|Table|Equation)"
    r"|TOC|FORMTEXT|FORMCHECKBOX|(?:PAGEREF|REF|NOTEREF) _(?:Toc|Ref)[0-9]{1,12})?"
    r"(?:\s+\\[a-z*#@]+(?:\s+(?:MERGEFORMAT|ARABIC|roman|ROMAN|\"[0-9dMyhms,;:. /-]{1,24}\"))?)*\s*"
)
_SYMBOL_FONTS: Final = frozenset(("Symbol", "Webdings", "Wingdings", "Wingdings 2", "Wingdings 3"))
_SYMBOL: Final = compiled(r"[fF]0[0-9a-fA-F]{2}")
"""A character of such a font; any other spells text, a letter for each element."""
_DEEPEST: Final = 300
_OTHER: Final = frozenset(
    (
        "http://www.w3.org/XML/1998/namespace space",
        f"{_R} id",
        "http://schemas.microsoft.com/office/word/2010/wordml paraId",
        "http://schemas.microsoft.com/office/word/2010/wordml textId",
        "http://schemas.openxmlformats.org/markup-compatibility/2006 Ignorable",
    )
)
"""Attributes of other vocabularies that pass."""


class DamagedXmlError(Exception):
    """What is no XML that a word processor writes, at a line."""

    def __init__(self, line: int) -> None:
        super().__init__()
        self.line = line


class TooManyError(Exception):
    """More elements than were allowed."""


class Piece(NamedTuple):
    """The text of one ``w:t``."""

    tag: int
    """Where its tag begins."""
    start: int
    end: int
    text: str


class Segment:
    """Text without anything between its words, over one or more runs."""

    def __init__(self, pieces: list[Piece]) -> None:
        self.pieces = pieces
        self.text = "".join(each.text for each in pieces)

    def laid_out(self, text: str) -> list[str]:
        """Another text, cut for the runs: a word stands where the word before it began.

        Which run a word is in depends on where runs and words begin, and both pass.
        """
        before, after = _split(self.text), _split(text)
        out = [""] * len(self.pieces)
        if len(self.pieces) == 1 or before[::2] != after[::2]:
            out[0] = text
            return out
        edges = []
        at = 0
        for each in self.pieces:
            at += len(each.text)
            edges.append(at)
        at = run = 0
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            for place, written in enumerate(new if number % 2 == 0 else [new]):
                while run < len(edges) - 1 and at + place >= edges[run]:
                    run += 1
                out[run] += written
            at += len(old)
        return out


class Story:
    """A part that was read."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.paragraphs: list[tuple[int, list[Segment]]] = []
        """Number and texts of each paragraph that has words."""
        self.count = 0
        """Paragraphs, also those without words."""
        self.elements = 0
        self.symbols = 0
        """Characters of symbol fonts that pass."""
        self.removed: dict[str, int] = {}
        """What had to go, by kind."""
        self.cuts: list[tuple[int, int, bytes]] = []
        """Bytes from, to, and what stands there instead."""

    def write(self, segment: Segment, text: str) -> None:
        """Put another text in the place of one."""
        for piece, new in zip(segment.pieces, segment.laid_out(text), strict=True):
            tag = self.data[piece.tag : piece.start]
            if new != new.strip() and b"xml:space" not in tag:
                self.cuts.append((piece.start - 1, piece.start, b' xml:space="preserve">'))
            self.cuts.append((piece.start, piece.end, escape(new).encode("utf-8", "replace")))

    def written(self) -> bytes:
        """The part as it is now."""
        out: list[bytes] = []
        at = 0
        for start, end, new in sorted(self.cuts, key=lambda cut: cut[:2]):
            out += (self.data[at:start], new)
            at = end
        return b"".join([*out, self.data[at:]])


def parse(data: bytes, links: Collection[str], most: int, *, settings: bool = False) -> Story:
    """Read a part.

    Args:
        data: of the part.
        links: identifiers of the relationships that stay.
        most: elements that the part may have.
        settings: whether it holds settings, and no text.

    Raises:
        DamagedXmlError: no XML in UTF-8, or with a DTD, comments or anything else that no word
            processor writes.
        TooManyError: it has more elements.
    """
    reader = _Reader(data, links, most, settings)
    _run(reader, tags=True)
    return reader.story


def check_layout(data: bytes) -> None:
    """Raise DamagedXmlError unless a part is XML without text, comments or a DTD."""
    _run(_Reader(data, (), 0, settings=False), tags=False)


def _run(reader: _Reader, *, tags: bool) -> None:
    parser = reader.parser = expat.ParserCreate("utf-8", " ")
    parser.ordered_attributes = True
    parser.buffer_text = False
    parser.CharacterDataHandler = reader.characters
    parser.CommentHandler = parser.StartDoctypeDeclHandler = reader.refuse
    parser.ProcessingInstructionHandler = parser.StartCdataSectionHandler = reader.refuse
    if tags:
        parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    try:
        parser.Parse(reader.data, True)
    except expat.ExpatError as error:
        raise DamagedXmlError(error.lineno) from None


class _Reader:
    """Takes what expat finds."""

    parser: expat.XMLParserType

    def __init__(self, data: bytes, links: Collection[str], most: int, settings: bool) -> None:
        self.data, self.links, self._most, self._settings = data, links, most, settings
        self.story = Story(data)
        self._open: list[tuple[str, int, int, str]] = []
        """Name, place and end of the tag, and what becomes of it: keep, unwrap or remove."""
        self._removing = 0
        self._texts: list[list[Segment]] = []
        """Of each paragraph that is open; one may hold others."""
        self._run: list[list[Piece]] = []
        """The pieces so far of a segment, of each open paragraph."""

    def refuse(self, *_: object) -> None:
        """What no word processor writes."""
        raise DamagedXmlError(self.parser.CurrentLineNumber)

    def start(self, name: str, attributes: list[str]) -> None:
        """A tag that opens."""
        if len(self._open) > _DEEPEST:
            self.refuse()
        self.story.elements += 1
        if self.story.elements > self._most:
            raise TooManyError
        at = self.parser.CurrentByteIndex
        tag = _TAG.match(self.data, at)
        if tag is None:
            self.refuse()
            return
        space, _, local = name.rpartition(" ")
        if self._open and self._open[-1][0] in ("t", "instrText") and not self._removing:
            self.refuse()
        fate = "remove" if self._removing else self._fate(space, local, attributes)
        if fate == "remove":
            self._removing += 1
        elif fate == "keep":
            if attributes:
                self._attributes(at, tag.end(), attributes)
            if local == "p":
                self._texts.append([])
                self._run.append([])
            elif local in BARRIERS:
                self.story.symbols += local == "sym"
                self._close_segment()
        self._open.append((local, at, tag.end(), fate))

    def end(self, _: str) -> None:
        """A tag that closes."""
        local, start, opened, fate = self._open.pop()
        at = self.parser.CurrentByteIndex
        if self.data[opened - 2 : opened] == b"/>":  # expat is behind it already
            closed = end = opened
        else:
            closed, end = at, self.data.index(b">", at) + 1
        if fate == "remove":
            self._removing -= 1
            if not self._removing:
                self.story.cuts.append((start, end, b""))
            return
        if fate == "unwrap":
            self.story.cuts += [(start, opened, b""), (closed, end, b"")]
        elif local == "t" and opened < closed:
            text = unescape(self.data[opened:closed].decode())
            if self._run:
                self._run[-1].append(Piece(start, opened, closed, text))
            else:
                self.refuse()
        elif local == "instrText":
            if not _FIELD.fullmatch(unescape(self.data[opened:closed].decode())):
                self._note("field")
                self.story.cuts.append((opened, closed, b""))
        elif local == "p":
            self._close_segment()
            self._run.pop()
            self.story.count += 1
            if texts := self._texts.pop():
                self.story.paragraphs.append((self.story.count, texts))

    def characters(self, text: str) -> None:
        """Text: outside of ``w:t`` there is none but white space."""
        inside = self._open[-1][0] if self._open else ""
        if not self._removing and inside not in ("t", "instrText") and text.strip(" \t\r\n"):
            self.refuse()

    def _close_segment(self) -> None:
        if self._run and self._run[-1]:
            segment = Segment(self._run[-1])
            self._run[-1] = []
            if not wordless(segment.text):
                self._texts[-1].append(segment)

    def _note(self, kind: str) -> None:
        kind = "setting" if self._settings else kind
        self.story.removed[kind] = self.story.removed.get(kind, 0) + 1

    def _fate(self, space: str, local: str, attributes: list[str]) -> str:
        """What becomes of an element."""
        known = space == _W and local in ELEMENTS
        if known and self._trusted(local, attributes):
            return "keep"
        if kind := _kind(space, local):
            self._note(kind)
        return "unwrap" if space == _W and local in UNWRAPPED else "remove"

    def _trusted(self, local: str, attributes: list[str]) -> bool:
        """Whether no attribute says what a person may have written, where it cannot just go."""
        said = {name.rpartition(" ")[2]: value for name, value in _pairs(attributes)}
        if local in ("bookmarkStart", "hyperlink"):
            mark = said.get("name" if local == "bookmarkStart" else "anchor")
            if mark is not None and not _BOOKMARK.fullmatch(mark):
                return False
        if local == "hyperlink" and "id" in said:
            return said["id"] in self.links
        if local == "sym":
            drawn = said.get("font") in _SYMBOL_FONTS
            return drawn and _SYMBOL.fullmatch(said.get("char", "")) is not None
        if local in ("headerReference", "footerReference"):
            return said.get("id", "") in self.links
        return local != "fldSimple" or _FIELD.fullmatch(said.get("instr", "")) is not None

    def _attributes(self, at: int, end: int, attributes: list[str]) -> None:
        """Cut out the attributes that do not pass."""
        raw = [
            match
            for match in _ATTRIBUTE.finditer(self.data, at, end)
            if match[1] != b"xmlns" and not match[1].startswith(b"xmlns:")
        ]
        for match, (name, value) in zip(raw, _pairs(attributes), strict=True):
            space, _, local = name.rpartition(" ")
            known = name in _OTHER or (space == _W and local in ATTRIBUTES)
            if not known or not (_VALUE.fullmatch(value) or local == "instr"):
                rsid = local.startswith("rsid")
                self._note("edit session" if rsid else "attribute")
                self.story.cuts.append((*match.span(), b""))


def _pairs(attributes: list[str]) -> list[tuple[str, str]]:
    return list(zip(attributes[::2], attributes[1::2], strict=True))


def _kind(space: str, local: str) -> str:
    """What people call an element; nothing for an end of what has another."""
    if space != _W or local in ("drawing", "pict", "object"):
        return "drawing"
    if local.startswith("comment"):
        return "comment" if local == "commentReference" else ""
    tracked = local in ("ins", "del") or local.startswith(("move", "cellIns", "cellDel"))
    if tracked or local.endswith("Change"):
        return "tracked change"
    named = {
        "bookmarkStart": "bookmark",
        "hyperlink": "link",
        "fldSimple": "field",
        "sym": "symbol",
    }
    return named.get(local, "other element")


def _split(text: str) -> list[str]:
    return TOKENIZERS["unicode"].split(text)
