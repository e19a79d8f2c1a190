"""``odt``: OpenDocument text for dpsan, a package of one file.

A record is a paragraph or a heading: of the text, its lists and tables, of a footnote, a header or
a footer.  The archive is written anew, and nothing is copied into it: elements, attributes and
values come from the lists below, and names of styles that a person may have given are numbered.
What is on no list is left out and counted.
"""

import io
import re
import zipfile
import zlib
from bisect import bisect_right
from collections import Counter
from functools import partial
from itertools import accumulate
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from dpsan.formats.base import Record
from dpsan.formats.documents import Document, RefusedError
from dpsan.formats.passing import LEFT_OUT, PASSED

MIME = "application/vnd.oasis.opendocument.text"
URN = "urn:oasis:names:tc:opendocument:xmlns"
SPACES = {f"{URN}:{name}:1.0": name for name in ("office", "style", "text", "table", "draw")}
SPACES |= {f"{URN}:xsl-fo-compatible:1.0": "fo", f"{URN}:svg-compatible:1.0": "svg"}
PARTS = {"content.xml": "office:document-content", "styles.xml": "office:document-styles"}
"""Members that are read, and their outermost elements."""

ELEMENTS = set(
    """
    office:document-content office:document-styles office:body office:text office:styles
    office:automatic-styles office:master-styles office:font-face-decls
    text:p text:h text:span text:note text:note-body text:note-citation text:list text:list-item
    text:list-header text:page-number text:page-count
    table:table table:table-column table:table-columns table:table-header-columns table:table-row
    table:table-rows table:table-header-rows table:table-cell table:covered-table-cell
    style:font-face style:style style:default-style style:page-layout style:master-page
    style:header style:header-left style:header-first style:footer style:footer-left
    style:footer-first style:header-style style:footer-style style:text-properties
    style:paragraph-properties style:table-properties style:table-column-properties
    style:table-row-properties style:table-cell-properties style:page-layout-properties
    style:header-footer-properties style:footnote-sep style:list-level-properties
    style:list-level-label-alignment style:tab-stops style:tab-stop style:columns style:column
    text:list-style text:list-level-style-number text:list-level-style-bullet text:outline-style
    text:outline-level-style text:notes-configuration text:linenumbering-configuration
    """.split()  # noqa: SIM905
)
SPACED = {"text:s": " ", "text:tab": "\t", "text:line-break": "\n"}
"""Elements that are white space of a text."""
COMPUTED = [["text:page-number"], ["text:page-count"], ["text:note-citation"]]
"""Elements whose text a program computes again: it goes, as somebody may have written it."""
UNWRAPPED = {"text:a": "link"} | dict.fromkeys(
    ("text:section", "text:table-of-content", "text:index-body", "text:index-title"), "section"
)
"""Elements that go while their paragraphs stay."""
REMOVED = {"office:annotation": "comment", "text:number": "computed text"}
REMOVED |= dict.fromkeys(("text:tracked-changes", "text:change"), "tracked change")
REMOVED |= dict.fromkeys(("text:change-start", "text:change-end"), "tracked change")
REMOVED |= dict.fromkeys(("text:bookmark", "text:bookmark-start", "text:bookmark-end"), "bookmark")

ATTRIBUTES = set(
    """
    office:version text:note-class text:outline-level text:level text:display-levels
    text:number-columns-spanned text:start-value text:select-page text:space-before
    text:min-label-width text:min-label-distance text:list-level-position-and-space-mode
    text:label-followed-by text:list-tab-stop-position text:continue-numbering text:number-lines
    text:line-number text:footnotes-position text:start-numbering-at text:increment text:offset
    table:number-columns-spanned table:number-rows-spanned table:number-columns-repeated
    table:number-rows-repeated table:align table:border-model
    style:family style:class style:width style:rel-width style:column-width style:rel-column-width
    style:row-height style:min-row-height style:vertical-align style:writing-mode style:num-format
    style:print-orientation style:font-size-asian style:font-size-complex style:font-style-asian
    style:font-style-complex style:font-weight-asian style:font-weight-complex style:font-pitch
    style:font-family-generic style:font-charset style:text-underline-style
    style:text-underline-width style:text-underline-color style:text-underline-type
    style:text-line-through-style style:text-line-through-type style:text-position
    style:letter-kerning style:text-autospace style:punctuation-wrap style:line-break
    style:tab-stop-distance style:type style:leader-style style:position style:distance-before-sep
    style:distance-after-sep style:line-style style:adjustment style:color style:contextual-spacing
    style:auto-text-indent style:shadow style:footnote-max-height style:page-usage
    style:join-border style:use-window-font-color style:default-outline-level
    style:list-level style:dynamic-spacing style:may-break-between-rows
    fo:color fo:background-color fo:font-size fo:font-style fo:font-weight fo:font-variant
    fo:text-transform fo:letter-spacing fo:text-align fo:text-align-last fo:text-indent
    fo:line-height fo:margin fo:margin-left fo:margin-right fo:margin-top fo:margin-bottom
    fo:padding fo:padding-left fo:padding-right fo:padding-top fo:padding-bottom fo:border
    fo:border-left fo:border-right fo:border-top fo:border-bottom fo:keep-together
    fo:keep-with-next fo:break-before fo:break-after fo:widows fo:orphans fo:hyphenate
    fo:page-width fo:page-height fo:column-count fo:column-gap fo:min-height fo:wrap-option
    fo:hyphenation-ladder-count fo:hyphenation-remain-char-count fo:hyphenation-push-char-count
    """.split()  # noqa: SIM905
)
WORDS = set(
    """
    true false none auto normal bold italic oblique solid double dotted dashed dash wave single
    start end left right center justify top middle bottom baseline automatic always column page
    both even odd all mirrored portrait landscape lr-tb rl-tb tb-rl page-based transparent
    paragraph text table table-column table-row table-cell graphic section ruby list index chapter
    extra html fixed variable roman swiss modern decorative script system x-symbol small-caps
    uppercase lowercase capitalize super sub font-color ideograph-alpha hanging strict simple wrap
    no-wrap collapsing separating margins current next previous footnote endnote document listtab
    space nothing label-alignment label-width-and-position char thin medium thick continuous
    skip-white-space A a I i 1
    """.split()  # noqa: SIM905
)
NUMBER = re.compile(r"-?[0-9]{0,7}(?:\.[0-9]{1,6})?(?:%|\*|cm|mm|in|pt|pc|px)?|#[0-9a-fA-F]{6}")
PATTERNS = {
    "fo:language": re.compile("[a-z]{2}|none|zxx"),
    "fo:country": re.compile("[A-Z]{2}|none"),
    "style:num-prefix": re.compile("[ ([]{0,2}"),
    "style:num-suffix": re.compile(r"[ .:)\]]{0,2}"),
    "text:bullet-char": re.compile("[^\\w\\s<>&]"),
}
"""Attributes with values of their own."""
FONTS = {
    *("style:font-name", "style:font-name-asian", "style:font-name-complex", "svg:font-family"),
    *("fo:font-family", "style:font-family-asian", "style:font-family-complex"),
}
FONT = re.compile(r"'?[\w .+;-]{1,64}'?")
STYLES = {
    *("style:name", "style:parent-style-name", "style:next-style-name", "style:list-style-name"),
    *("style:master-page-name", "style:page-layout-name", "text:style-name", "table:style-name"),
    *("text:citation-style-name", "text:citation-body-style-name", "text:default-style-name"),
    *("table:default-cell-style-name", "style:leader-text-style", "style:register-truth-ref-style"),
}
STYLE = re.compile(
    r"Standard|Title|Subtitle|(?:Text_20_body|Heading|List|Numbering|Header|Footer|Table)"
    r"(?:_20_(?:[0-9]{1,2}|indent|left|right|Contents|Heading))?|(?:Foot|End)note(?:_20_anchor)?"
    r"|(?:P|T|L|Sect|MP|MT|Mpm|fr)[0-9]{1,5}"
)
"""Names of styles that a program gives; others, which a person may have given, are numbered."""
NO_XML = re.compile("[^\t\n -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
SPACE_RUN = re.compile("(?<= ) +|[\t\n]")


class OdtFormat(Document):
    """OpenDocument text."""

    name = "odt"
    kind = "document"
    own_encoding = "odt says its encoding itself"
    leaves_out = True

    def records(self, source, data, options):
        left_out, fonts, paragraphs = Counter(), set(), []
        most = min(max(options.max_record, 100 * len(data)), 4 * options.max_record)
        try:
            members = unpacked(data, most, left_out)
        except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OSError, KeyError):
            raise RefusedError("a damaged document, or none") from None
        except RuntimeError:  # what zipfile raises for a password, or an unknown compression
            raise RefusedError("a document with a password", "save it without one") from None
        reader = Reader(options.max_record // 32, paragraphs, left_out, fonts)
        parts = {name: reader.read(name, member) for name, member in members.items()}
        if left_out and options.strict:
            kinds = ", ".join(f"{kind} ({count})" for kind, count in sorted(left_out.items()))
            raise RefusedError(f"holds {kinds}", "without --strict or -i they are left out")
        for number, pieces in enumerate(paragraphs, start=1):
            text = "".join(text for _, _, text in pieces)
            yield Record(number, [text], partial(put, pieces))
        noted = {f"{LEFT_OUT}:{kind}": count for kind, count in left_out.items()}
        noted |= {f"{PASSED}:font name": len(fonts)} if fonts else {}
        yield Record(1, [], partial(packed, parts), part="frame", noted=noted)


def unpacked(data, most, left_out):
    """Return the members that are read; count the others.  Raises RefusedError."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = archive.infolist()
        names = [member.filename for member in members]
        if len({name.lower() for name in names}) != len(names) or len(names) > 10_000:
            raise RefusedError("an archive in which a name is there twice, or too many are")
        if sum(member.file_size for member in members) > most:
            raise RefusedError(f"parts longer than {most} bytes together", "split it")
        if archive.read("mimetype").strip() != MIME.encode():
            raise RefusedError("no OpenDocument text", "save it as .odt")
        if b"encryption-data" in archive.read("META-INF/manifest.xml"):
            raise RefusedError("a document with a password", "save it without one")
        for name in {*names} - {*PARTS, "mimetype", "META-INF/manifest.xml"}:
            if not name.endswith("/"):
                left_out[kind_of_member(name)] += 1
        return {
            name: archive.read(name) for name in PARTS if name in names or name == "content.xml"
        }


def kind_of_member(name):
    if name.startswith("Pictures/"):
        return "picture"
    metadata = ("meta.xml", "settings.xml", "manifest.rdf", "layout-cache")
    own = name in metadata or name.startswith(("Thumbnails/", "Configurations2/", "META-INF/"))
    return "metadata part" if own else "embedded file"


class Reader:
    """Reads the XML of a document; what is written of a part is a list of strings.

    Args:
        most: elements of all parts together.
        paragraphs: gets the pieces of each paragraph: list, index in it, and text.
        left_out: gets counts of what is left out, by kind.
        fonts: gets the names of fonts, which pass.
    """

    def __init__(self, most, paragraphs, left_out, fonts):
        self.most, self.paragraphs, self.left_out, self.fonts = most, paragraphs, left_out, fonts
        self.styles = {}

    def read(self, part, data):
        """Return what is written of a part; the places of texts are filled in later."""
        self.part, self.out, self.open, self.removing, self.pieces = part, [], [], 0, []
        self.parser = parser = expat.ParserCreate("utf-8", " ")
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self.start, self.end
        parser.CharacterDataHandler = self.characters
        parser.CommentHandler = parser.ProcessingInstructionHandler = self.refuse
        parser.StartDoctypeDeclHandler = self.refuse  # entities may grow without end
        try:
            parser.Parse(data, True)
        except expat.ExpatError:
            self.refuse()
        return self.out

    def refuse(self, *_):
        line = self.parser.CurrentLineNumber
        raise RefusedError(f"{self.part}: XML that no word processor writes", line=line)

    def start(self, name, attributes):
        name, self.most = short(name), self.most - 1
        if self.most < 0:
            raise RefusedError("too many elements of XML", "split it")
        if len(self.open) + self.removing > 300 or (not self.open and name != PARTS[self.part]):
            self.refuse()
        if self.removing or name in REMOVED or self.open[-1:] in COMPUTED:
            if not self.removing:
                self.left_out[REMOVED.get(name, "computed text")] += 1
            self.removing += 1
        elif name in SPACED and self.pieces:
            count = attributes.pop(f"{URN}:text:1.0 c", "1") if name == "text:s" else "1"
            self.piece(SPACED[name] * int(count if re.fullmatch("[0-9]{1,3}", count) else 1))
            self.written(name, attributes)  # none of them passes: each is counted
            self.open.append("")
        elif name in ELEMENTS:
            self.out.append(f"<{name}{self.written(name, attributes)}>")
            self.open.append(name)
            if name in ("text:p", "text:h"):
                self.pieces.append([])
        elif name in UNWRAPPED or (self.pieces and name.startswith("text:")):
            self.left_out[UNWRAPPED.get(name, "field")] += 1
            self.open.append("")
        else:
            self.left_out["drawing" if name.startswith("draw:") else "other element"] += 1
            self.removing = 1

    def end(self, _):
        if self.removing:
            self.removing -= 1
            return
        name = self.open.pop()
        if name:
            self.out.append(f"</{name}>")
        if name in ("text:p", "text:h"):
            pieces = self.pieces.pop()
            if any(text.strip() for _, _, text in pieces):
                self.paragraphs.append(pieces)
            elif pieces:
                put(pieces, ["".join(text for _, _, text in pieces)])

    def characters(self, text):
        if self.removing:
            return
        if self.open[-1:] in COMPUTED:
            self.left_out["computed text"] += 1
        elif self.pieces:
            self.piece(re.sub("[ \t\r\n]+", " ", text))
        elif text.strip():
            self.refuse()

    def piece(self, text):
        """Add text to the paragraph that is open; its place in the output is filled in later."""
        pieces = self.pieces[-1]
        if pieces and pieces[-1][1] == len(self.out) - 1:
            text = pieces.pop()[2] + text
        else:
            self.out.append("")
        pieces.append((self.out, len(self.out) - 1, text))

    def written(self, element, attributes):
        """Return the attributes of an element that pass, as they are written."""
        out = "" if self.open else "".join(f' xmlns:{to}="{of}"' for of, to in SPACES.items())
        for long, value in attributes.items():
            name, new = short(long), value
            if name in FONTS or (element, name) == ("style:font-face", "style:name"):
                passes = FONT.fullmatch(value)
                self.fonts |= {value} if passes else set()
            elif name in STYLES:
                passes, new = True, self.style(value)
            elif name in PATTERNS:
                passes = PATTERNS[name].fullmatch(value)
            else:
                words = all(word in WORDS or NUMBER.fullmatch(word) for word in value.split())
                passes = name in ATTRIBUTES and words
            if passes:
                out += f" {name}={quoteattr(new)}"
            else:
                self.left_out["attribute"] += 1
        return out

    def style(self, name):
        if not name or STYLE.fullmatch(name):
            return name
        return self.styles.setdefault(name, f"Style_20_{len(self.styles) + 1}")


def short(name):
    """Return a name with the usual prefix of its namespace; nothing for one of another."""
    space, _, local = name.rpartition(" ")
    return f"{SPACES[space]}:{local}" if space in SPACES else ""


def put(pieces, texts):
    """Write a paragraph into the places of its pieces; the archive is written after the last one.

    A word stands in the span in which the word before it began.
    """
    (text,), old = texts, "".join(piece for _, _, piece in pieces)
    before, after = re.split(r"(\s+)", old), re.split(r"(\s+)", text)
    if before[1::2] != after[1::2]:  # another number of words: all of them in the first span
        before, after = [old], [text]
    ends = [*accumulate(len(piece) for _, _, piece in pieces)]
    written, at, last = [""] * len(pieces), 0, " "
    for number, (word, new) in enumerate(zip(before, after, strict=True)):
        for offset, part in enumerate(new if number % 2 else [new]):
            written[min(bisect_right(ends, at + offset), len(ends) - 1)] += part
        at += len(word)
    for (out, index, _), new in zip(pieces, written, strict=True):
        # Of several spaces, and at the start of a paragraph, OpenDocument ignores all but one.
        out[index] = SPACE_RUN.sub(spaced, last + escape(NO_XML.sub("\ufffd", new)))[1:]
        last = " " if new.endswith(" ") else last if not new else "x"
    return b""


def spaced(match):
    if match[0] == "\t":
        return "<text:tab/>"
    return "<text:line-break/>" if match[0] == "\n" else f'<text:s text:c="{len(match[0])}"/>'


def packed(parts, _):
    """Return the archive, without times; its first member is not compressed."""
    rows = "".join(
        f'<m:file-entry m:full-path="{name}" m:media-type="text/xml"/>' for name in parts
    )
    manifest = (
        f'<m:manifest xmlns:m="{URN}:manifest:1.0" m:version="1.3">'
        f'<m:file-entry m:full-path="/" m:version="1.3" m:media-type="{MIME}"/>{rows}</m:manifest>'
    )
    members = {"mimetype": MIME, **{name: "".join(out) for name, out in parts.items()}}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in {**members, "META-INF/manifest.xml": manifest}.items():
            info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            archive.writestr(info, text)
    return out.getvalue()
