"""``docx``: a word processor's document, of which the text of paragraphs is rewritten.

A record is a paragraph of the text, a header, a footer, a footnote or an endnote; tabs and the like
cut it into several texts.  Paragraphs are counted instead of lines.  What a person may have written
elsewhere makes the document be refused, or is left out.  Styles, numbering, fonts and
theme keep their bytes but for identifiers.

Nothing else of the XML is copied: what is written is made from names and values that are on a list,
in the order of the file.  So prefixes, names of namespaces and spaces between tags say nothing, and
no tree of elements, which would take over ten times the size of the part, is in memory.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import accumulate
from sys import intern
from typing import ClassVar, Final, NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from dpsan.errors import counted
from dpsan.files.source import Source
from dpsan.formats.base import ReadOptions, Record
from dpsan.formats.documents import Document, RefusedError, name_lists
from dpsan.formats.documents.docx_package import DECLARATION, Package, Part
from dpsan.formats.passing import LEFT_OUT, PASSED
from dpsan.text import shape, tokens

_W: Final = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_R: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_LISTS: Final = name_lists("docx_names.txt")
_BARRIERS: Final = _LISTS["BARRIERS"]
"""Elements that separate words inside a run."""
_ELEMENTS: Final = _BARRIERS | _LISTS["LAYOUT"]
_UNWRAPPED: Final = _LISTS["UNWRAPPED"]
"""Elements that go while their content stays."""
_SPOKEN: Final = ("t", "instrText")
"""Elements with text."""
_VALUE: Final = re.compile(
    r"-?[0-9]{1,6}(?:\.[0-9]{1,4})?(?:%|cm|mm|in|pt|pc|pi)?|[0-9A-Fa-f]{6}|0[0-9A-F]{3}|[01]{12}"
    r"|x-none|[a-z]{2,3}(?:-(?:Latn|Cyrl|Arab|Hans|Hant|Deva|Mong|Tfng|Cans|Cher))?-(?:[A-Z]{2}|[0-9]{3})"
    r"|[a-z]{2}|[.,;([{)\]}]"
)
"""Numbers, colours, languages and signs; words of the standard are on a list."""
_NAME: Final = re.compile(r"@?[\w .+-]{1,64}")
"""Name of a style or font."""
_BOOKMARK: Final = re.compile(r"(?:_(?:Toc|Ref|Hlk|Hlt|GoBack|ENREF_|MailAutoSig)[0-9]{0,9})?")
_FIELD: Final = re.compile(
    r"\s*(?:PAGE|NUMPAGES|SECTION|SECTIONPAGES|DATE|TIME|NOTEREF|SEQ (?:Figure|Table|Equation)"
    r"|TOC|FORMTEXT|FORMCHECKBOX|(?:PAGEREF|REF|NOTEREF) _(?:Toc|Ref)[0-9]{1,12})?"
    r"(?:\s+\\[a-z*#@]+(?:\s+(?:MERGEFORMAT|ARABIC|roman|ROMAN|\"[0-9dMyhms,;:. /-]{1,24}\"))?)*\s*"
)
_LOOKED_AT: Final = {
    "bookmarkStart": {"name": _BOOKMARK},
    "hyperlink": {"anchor": _BOOKMARK},
    "fldSimple": {"instr": _FIELD},
    # A character of another font spells text, a letter for each element.
    "sym": {
        "font": re.compile("Symbol|Webdings|Wingdings(?: [23])?"),
        "char": re.compile("[fF]0[0-9a-fA-F]{2}"),
    },
}
"""Attributes without which, or with another value, an element cannot stay."""
_ANCHOR: Final = re.compile("(?<=_(?:Toc|Ref|Hlk|Hlt))[0-9]+")
_IDENTIFIERS: Final = shape.compiled(
    r"""<(?:[\w.-]++:)?(?:rsid|nsid|tmpl|themeFamily|creationId|embed(?:Regular|Bold|Italic|BoldItalic))
    (?=[\s/>])(?:[^<>"']|"[^"]*+"|'[^']*+')*+(?:(?<=/)>|(?<!/)>\s*+</[^<>]*+>)
    |\s++(?:[\w.-]++:)?(?:rsid\w*+|tplc|durableId|paraId|textId)\s*+=\s*+(?:"[^"]*+"|'[^']*+')""",
    re.VERBOSE,
)
"""Numbers by which two documents of a person or of a template can be linked, in layout parts."""
_NO_XML: Final = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_DEEPEST: Final = 300
_NOISE: Final = ("space", "paraId", "textId", "Ignorable")
"""Attributes of other vocabularies that programs write for themselves; they go without a word."""


class RunText(NamedTuple):
    """The text of one ``w:t``, which is written at an index of a part."""

    out: list[str]
    at: int
    text: str


class Segment:
    """Text without anything between its words, over one or more runs."""

    def __init__(self, pieces: list[RunText]) -> None:
        self.pieces = pieces
        self.text = "".join(piece.text for piece in pieces)

    def write(self, text: str) -> None:
        """Replace this text by another one."""
        for (out, at, _), new in zip(self.pieces, self._laid_out(text), strict=True):
            out[at] = _spoken("t", new)

    def _laid_out(self, text: str) -> list[str]:
        """Return another text, cut for the runs: a word stands where the word before it began.

        Which run a word is in depends on where runs and words begin, and both pass.
        """
        split = tokens.TOKENIZERS["unicode"]
        before, after = split(self.text), split(text)
        out = [""] * len(self.pieces)
        if len(self.pieces) == 1 or before[::2] != after[::2]:
            out[0] = text
            return out
        edges = [*accumulate(len(piece.text) for piece in self.pieces)]
        at = run = 0
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            for place, written in enumerate(new if number % 2 == 0 else [new]):
                while run < len(edges) - 1 and at + place >= edges[run]:
                    run += 1
                out[run] += written
            at += len(old)
        return out


class Reader:
    """Reads the parts of a document, one after the other.

    Args:
        most: elements that they may have together.
    """

    def __init__(self, most: int) -> None:
        self.paragraphs: list[tuple[int, list[Segment]]] = []
        """Number and texts of each paragraph that has words."""
        self.removed: Counter[str] = Counter()
        """Counts of removed content by kind."""
        self.symbols = 0
        """Characters of symbol fonts that pass."""
        self.names: set[tuple[str, str]] = set()
        """Names of styles and fonts that pass, with their kind."""
        self._anchors: dict[str, str] = {}
        """New number of each bookmark: a program makes the old ones of the time or at random."""
        self._most = most
        self._elements = self._paragraphs = 0

    def read(self, part: Part) -> list[str]:
        """Return what is written of a part, in pieces; those of texts are filled in later.

        Raises:
            RefusedError: no XML in UTF-8, or with a DTD, comments or anything else that no word
                processor writes, or too many elements.
        """
        self._part, self._removing = part, 0
        self._out: list[str] = []
        self._open: list[tuple[str, int]] = []
        """Name, and where the tag is written; -1 where only its content is."""
        self._written: list[str] = []
        self._texts: list[list[Segment]] = []
        """Segments of each paragraph that is open; one may hold others."""
        self._run: list[list[RunText]] = []
        """Pieces so far of a segment, of each paragraph that is open."""
        parser = self._parser = expat.ParserCreate("utf-8", " ")
        parser.buffer_text = True
        parser.CharacterDataHandler = self._characters
        parser.CommentHandler = parser.StartDoctypeDeclHandler = self._refuse
        parser.ProcessingInstructionHandler = parser.StartCdataSectionHandler = self._refuse
        if part.role != "layout":
            parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        try:
            parser.Parse(part.data, True)
        except expat.ExpatError:
            self._refuse()
        return self._out or [_IDENTIFIERS.sub("", part.data.decode())]

    def _refuse(self, *_: object) -> None:
        what = f"{self._part.name}: XML that no word processor writes"
        raise RefusedError(what, line=self._parser.CurrentLineNumber)

    def _note(self, kind: str) -> None:
        self.removed["setting" if self._part.role == "settings" else kind] += 1

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._elements += 1
        if self._elements > self._most:
            raise RefusedError(f"more than {self._most} elements of XML", "split it")
        if len(self._open) + self._removing > _DEEPEST:
            self._refuse()
        if self._removing:
            self._removing += 1
            return
        space, _, local = name.rpartition(" ")
        inside = self._open[-1][0] if self._open else ""
        if inside in _SPOKEN:
            self._refuse()
        if space == _W and local in _ELEMENTS and self._trusted(local, attributes):
            self._keep(local, attributes)
            return
        if not inside:
            self._refuse()
        if kind := _kind(space, local):
            self._note(kind)
        if space == _W and local in _UNWRAPPED:
            self._open.append((local, -1))
        else:
            self._removing = 1

    def _keep(self, local: str, attributes: dict[str, str]) -> None:
        if local == "p":
            self._texts.append([])
            self._run.append([])
        elif local in _BARRIERS:
            self.symbols += local == "sym"
            self._close_segment()
        head = f"<w:{local}"
        if not self._open:
            head = f'{DECLARATION}{head} xmlns:w="{_W}" xmlns:r="{_R}"'
        for name, value in attributes.items():
            space, _, short = name.rpartition(" ")
            if name == f"{_R} id" and value in self._part.links:
                head += f' r:id="{self._part.links[value]}"'
            elif space == _W and self._passes(local, short, value):
                looked_at = short in _LOOKED_AT.get(local, ())
                written = self._renumbered(value) if looked_at else value
                head += f" w:{short}={quoteattr(written)}"
            elif space == _W or short not in _NOISE:
                self._note("edit session" if short.startswith("rsid") else "attribute")
        self._open.append((local, len(self._out)))
        if local not in _SPOKEN:
            self._out.append(intern(f"{head}>"))

    def _passes(self, local: str, name: str, value: str) -> bool:
        if name not in _LISTS["ATTRIBUTES"]:
            return False
        listed = name in _LOOKED_AT.get(local, ()) or value in _LISTS["VALUES"]
        if listed or _VALUE.fullmatch(value):
            return True
        kind = "style" if local.endswith("Style") else "font" if local == "rFonts" else ""
        named = bool(kind) and _NAME.fullmatch(value) is not None
        if named:
            self.names.add((kind, value))
        return named

    def _renumbered(self, text: str) -> str:
        """Return a bookmark's name, or a field, with its bookmarks numbered in order."""
        anchors = self._anchors
        return _ANCHOR.sub(lambda old: anchors.setdefault(old[0], str(len(anchors) + 1)), text)

    def _trusted(self, local: str, attributes: dict[str, str]) -> bool:
        """Return True if no attribute can hold what a person has written."""
        patterns = _LOOKED_AT.get(local, {})
        linked = local in ("headerReference", "footerReference", "hyperlink")
        if not patterns and not linked:
            return True
        values = {name.rpartition(" ")[2]: value for name, value in attributes.items()}
        if not all(pattern.fullmatch(values.get(name, "")) for name, pattern in patterns.items()):
            return False
        needless = local == "hyperlink" and "id" not in values
        return not linked or needless or values.get("id") in self._part.links

    def _characters(self, text: str) -> None:
        """Take text: outside of elements that hold it, it is white space, which goes."""
        if self._removing:
            return
        if self._open and self._open[-1][0] in _SPOKEN:
            self._written.append(text)
        elif text.strip(" \t\r\n"):
            self._refuse()

    def _end(self, _: str) -> None:
        if self._removing:
            self._removing -= 1
            return
        local, at = self._open.pop()
        if local in _SPOKEN:
            text = "".join(self._written)
            self._written.clear()
            if local == "t":
                if not self._run:
                    self._refuse()
                self._run[-1].append(RunText(self._out, len(self._out), text))
            elif _FIELD.fullmatch(text):
                text = self._renumbered(text)
            else:
                self._note("field")
                text = ""
            self._out.append(_spoken(local, text))
        elif at == len(self._out) - 1:
            self._out[at] = intern(f"{self._out[at][:-1]}/>")
        elif at >= 0:
            self._out.append(intern(f"</w:{local}>"))
        if local == "p":
            self._close_segment()
            self._run.pop()
            self._paragraphs += 1
            if texts := self._texts.pop():
                self.paragraphs.append((self._paragraphs, texts))

    def _close_segment(self) -> None:
        if self._run and self._run[-1]:
            segment = Segment(self._run[-1])
            self._run[-1] = []
            if not tokens.wordless(segment.text):
                self._texts[-1].append(segment)


def _spoken(local: str, text: str) -> str:
    """Return an element with text."""
    space = ' xml:space="preserve"' if text != text.strip() else ""
    written = escape(_NO_XML.sub("\ufffd", text))
    return f"<w:{local}{space}>{written}</w:{local}>"


def _kind(space: str, local: str) -> str:
    """Return what people call an element; nothing for an end of what has another."""
    if space != _W or local in ("drawing", "pict", "object"):
        return "drawing"
    if local.startswith("comment"):
        return "comment" if local == "commentReference" else ""
    tracked = local in ("ins", "del") or local.startswith(("move", "cellIns", "cellDel"))
    if tracked or local.endswith("Change"):
        return "tracked change"
    called = {"bookmarkStart": "bookmark", "hyperlink": "link", "fldSimple": "field"}
    return called.get(local, "symbol" if local == "sym" else "other element")


_UNPACKED: Final = 4
"""Largest ratio of the unpacked size of an archive to the largest record."""
_SHRUNK: Final = 100
"""Largest ratio of the unpacked size to the archive, above the size of the largest record."""
_ELEMENT: Final = 32
"""Bytes of the largest record for each element of XML: elements take longer than their text."""


class DocxFormat(Document):
    """A document of a word processor."""

    name: ClassVar[str] = "docx"
    kind: ClassVar[str] = "document"
    own_encoding: ClassVar[str] = "docx says its encoding itself"
    leaves_out = True

    def records(self, source: Source, data: bytes, options: ReadOptions) -> Iterator[Record]:
        most = max(options.max_record, _SHRUNK * len(data))
        package = Package(data, min(most, _UNPACKED * options.max_record))
        reader = Reader(options.max_record // _ELEMENT)
        contents = {part.name: reader.read(part) for part in package.parts}
        removed = package.removed + reader.removed
        if removed and options.strict:
            kinds = (counted(count, kind) for kind, count in sorted(removed.items()))
            raise RefusedError(
                f"holds {', '.join(kinds)}", "without --strict or -i they are left out"
            )
        for number, segments in reader.paragraphs:
            yield Record(number, [segment.text for segment in segments], partial(_take, segments))
        for part in package.parts:
            if part.pages:
                yield Record(1, [*part.pages.values()], part.lead_to)
        passing = Counter(f"{kind} name" for kind, _ in reader.names)
        passing["layout part"] = sum(part.role == "layout" for part in package.parts)
        passing["symbol"] = reader.symbols
        noted = {f"{LEFT_OUT}:{kind}": count for kind, count in removed.items()}
        noted |= {f"{PASSED}:{kind}": count for kind, count in passing.items() if count}
        yield Record(1, [], partial(package.written, contents), part="frame", noted=noted)


def _take(segments: list[Segment], texts: list[str]) -> bytes:
    """Put texts into their parts; the archive is written after the last one."""
    for segment, text in zip(segments, texts, strict=True):
        segment.write(text)
    return b""
