"""``docx``: a word processor's document, of which the text of paragraphs is rewritten.

A record is a paragraph of the text, a header, a footer, a footnote or an endnote; tabs and the like
cut it into several texts.  Paragraphs are counted instead of lines.  What a person may have written
elsewhere makes the document be refused, or goes with ``--strip``.  Styles, numbering, fonts and
theme keep their bytes; so does all of a story but its words.  The archive is written anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import ClassVar, Final

from dpsan.errors import InputError
from dpsan.files.source import Source
from dpsan.formats.base import ReadOptions, Record
from dpsan.formats.documents.document import Document
from dpsan.formats.documents.docx_names import Role
from dpsan.formats.documents.docx_package import Package
from dpsan.formats.documents.docx_story import (
    DamagedXmlError,
    Segment,
    Story,
    TooManyError,
    check_layout,
    parse,
)
from dpsan.formats.passing import LEFT_OUT, PASSED
from dpsan.text.numerals import counted

_UNPACKED: Final = 16
"""How much longer than ``--max-record`` the parts of an archive may be together."""
_SHRUNK: Final = 100
"""How much longer than the archive they may be where they are longer than ``--max-record``."""
_ELEMENT: Final = 8
"""Bytes of ``--max-record`` for each element of XML: elements take longer than their text."""


class DocxFormat(Document):
    """A document."""

    name: ClassVar[str] = "docx"
    kind: ClassVar[str] = "document"
    own_encoding: ClassVar[str] = "docx says its encoding itself"
    strippable: ClassVar[bool] = True

    def records(self, source: Source, data: bytes, options: ReadOptions) -> Iterator[Record]:
        most = max(options.max_record, _SHRUNK * len(data))
        package = Package(source.name, data, min(most, _UNPACKED * options.max_record))
        contents = {part.name: part.data for part in package.parts}
        stories: dict[str, Story] = {}
        removed = Counter(package.removed)
        left = elements = options.max_record // _ELEMENT
        for part in package.parts:
            try:
                if part.role is Role.LAYOUT:
                    check_layout(part.data)
                    continue
                settings = part.role is Role.SETTINGS
                story = parse(part.data, part.links, left, settings=settings)
            except DamagedXmlError as error:
                where = f"{part.name}: XML that no word processor writes"
                raise InputError(source.name, where, line=error.line) from None
            except TooManyError:
                what = f"more than {elements} elements of XML"
                raise InputError(source.name, what, "raise --max-record") from None
            left -= story.elements
            stories[part.name] = story
            removed.update(story.removed)
        if removed and not options.strip:
            kinds = (counted(count, kind) for kind, count in sorted(removed.items()))
            raise InputError(source.name, f"holds {', '.join(kinds)}", "--strip leaves them out")
        before = 0
        for story in stories.values():
            for number, segments in story.paragraphs:
                texts = [each.text for each in segments]
                yield Record(before + number, texts, partial(_take, story, segments))
            before += story.count
        noted = {f"{LEFT_OUT}:{kind}": count for kind, count in removed.items()}
        layout = sum(part.role is Role.LAYOUT for part in package.parts)
        symbols = sum(story.symbols for story in stories.values())
        passing = {"layout part": layout, "link": package.links, "symbol": symbols}
        noted |= {f"{PASSED}:{kind}": count for kind, count in passing.items() if count}
        finish = partial(_finish, package, contents, stories)
        yield Record(1, [], finish, part="frame", noted=noted)


def _take(story: Story, segments: list[Segment], texts: list[str]) -> bytes:
    """Put texts into their part; the archive is written behind the last one."""
    for segment, text in zip(segments, texts, strict=True):
        story.write(segment, str(text))
    return b""


def _finish(
    package: Package, contents: dict[str, bytes], stories: dict[str, Story], _: list[str]
) -> bytes:
    return package.written(contents | {name: story.written() for name, story in stories.items()})
