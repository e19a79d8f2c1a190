"""``docx``: a word processor's document, of which the text of paragraphs is rewritten.

A record is a paragraph of the text, a header, a footer, a footnote or an endnote; tabs and the like
cut it into several texts.  Paragraphs are counted instead of lines.  What a person may have written
elsewhere makes the document be refused, or goes with ``--strip``.  Styles, numbering, fonts and
theme keep their bytes but for identifiers; all else is written anew.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import ClassVar, Final

from dpsan.files.source import Source
from dpsan.formats.base import ReadOptions, Record
from dpsan.formats.documents.document import Document, RefusedError
from dpsan.formats.documents.docx_package import Package, Role
from dpsan.formats.documents.docx_story import Reader, Segment
from dpsan.formats.passing import LEFT_OUT, PASSED
from dpsan.text.numerals import counted

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
    strippable = True

    def records(self, source: Source, data: bytes, options: ReadOptions) -> Iterator[Record]:
        most = max(options.max_record, _SHRUNK * len(data))
        package = Package(data, min(most, _UNPACKED * options.max_record))
        reader = Reader(options.max_record // _ELEMENT)
        contents = {part.name: reader.read(part) for part in package.parts}
        removed = package.removed + reader.removed
        if removed and not options.strip:
            kinds = (counted(count, kind) for kind, count in sorted(removed.items()))
            raise RefusedError(f"holds {', '.join(kinds)}", "--strip leaves them out")
        for number, segments in reader.paragraphs:
            yield Record(number, [each.text for each in segments], partial(_take, segments))
        passing = Counter(f"{kind} name" for kind, _ in reader.names)
        passing["layout part"] = sum(part.role is Role.LAYOUT for part in package.parts)
        passing["link"], passing["symbol"] = package.links, reader.symbols
        noted = {f"{LEFT_OUT}:{kind}": count for kind, count in removed.items()}
        noted |= {f"{PASSED}:{kind}": count for kind, count in passing.items() if count}
        yield Record(1, [], partial(package.written, contents), part="frame", noted=noted)


def _take(segments: list[Segment], texts: list[str]) -> bytes:
    """Put texts into their parts; the archive is written after the last one."""
    for segment, text in zip(segments, texts, strict=True):
        segment.write(text)
    return b""
