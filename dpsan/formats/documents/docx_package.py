"""The archive of a document (Open Packaging Conventions): its parts, and what leads to them.

The archive is written anew: parts in the order in which they lead to one another, without times,
names of programs or comments.
"""

import posixpath
import re
import zipfile
import zlib
from collections import Counter
from io import BytesIO
from typing import Final
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from dpsan.formats.documents import RefusedError

_ROLES: Final = {
    **dict.fromkeys(("officeDocument", "header", "footer", "footnotes", "endnotes"), "text"),
    **dict.fromkeys(("styles", "numbering", "fontTable", "theme"), "layout"),
    "settings": "settings",
}
"""Kinds of relationships, and what the part at their end is for."""
_OTHER_TYPES: Final = {"officeDocument": "wordprocessingml.document.main", "theme": "theme"}
"""Content types of parts that are not called as their relationships are."""
_RELATIONSHIPS: Final = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
DECLARATION: Final = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_TYPES: Final = (
    f'{DECLARATION}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType='
    '"application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
)
_NAME: Final = re.compile(
    r"(?:word/)?(?:(document|header|footer|footnotes|endnotes|styles|numbering|fontTable"
    r"|settings)[0-9]{0,4}\.xml|theme/(theme)[0-9]{0,4}\.xml)"
)
_METADATA: Final = re.compile(
    r"docProps/.*xml|customXml/|word/(?:web|comment|people|glossary)|.*\.rels$"
)
_HEAD: Final = "[Content_Types].xml"
_MOST_PARTS: Final = 10_000


class Part:
    """A part that stays, and what it leads to."""

    def __init__(self, name: str, kind: str = "officeDocument", data: bytes = b"") -> None:
        self.name, self.data = name, data
        self.type, self.role = _OTHER_TYPES.get(kind, f"wordprocessingml.{kind}"), _ROLES[kind]
        folder, file = posixpath.split(name)
        self.member = posixpath.join(folder, "_rels", f"{file}.rels")
        """Member of the archive with its relationships."""
        self.links: dict[str, str] = {}
        """New identifier of each relationship that stays: the old one may be a word."""
        self.pages: dict[str, str] = {}
        """Address of each page that it leads to, by the new identifier: a text."""
        self._parts: dict[str, str] = {}
        """Kind and name of each part that it leads to, as they are written."""

    def link(self, identifier: str, kind: str, target: str) -> None:
        """Keep a relationship."""
        new = self.links[identifier] = f"rId{len(self.links) + 1}"
        if kind == "hyperlink":
            self.pages[new] = target
        else:
            self._parts[new] = f'{kind}" Target={quoteattr(target)}'

    def lead_to(self, addresses: list[str]) -> bytes:
        """Replace the addresses of pages."""
        self.pages = dict(zip(self.pages, addresses, strict=True))
        return b""

    def relationships(self) -> str:
        """Return the relationships as they are written."""
        named = self._parts | {
            new: f'hyperlink" Target={quoteattr(address)} TargetMode="External"'
            for new, address in self.pages.items()
        }
        rows = "".join(
            f'<Relationship Id="{new}" Type="{_OFFICE}{named[new]}/>' for new in self.links.values()
        )
        return f'{DECLARATION}<Relationships xmlns="{_RELATIONSHIPS}">{rows}</Relationships>'


class Package:
    """A document's archive.

    Args:
        data: the archive.
        most: bytes that its parts may have together.

    Raises:
        RefusedError: no zip archive, a damaged or hostile one, or none of a document.
    """

    def __init__(self, data: bytes, most: int) -> None:
        self.parts: list[Part] = []
        self.removed: Counter[str] = Counter()
        """Counts of removed content by kind."""
        self._root = Part("")
        self._taken = {_HEAD}
        damage = (zipfile.BadZipFile, zlib.error, EOFError, ValueError, OSError, KeyError)
        try:
            with zipfile.ZipFile(BytesIO(data)) as archive:
                self._read(archive, most)
        except (*damage, NotImplementedError, expat.ExpatError):
            old = data.startswith(b"\xd0\xcf\x11\xe0")  # what Office puts around both
            what = "an old document or one with a password" if old else "a damaged document or none"
            raise RefusedError(what, "save it again as .docx, without a password") from None
        except RuntimeError:  # what zipfile raises for a password
            raise RefusedError("a document with a password", "save it without one") from None

    def _read(self, archive: zipfile.ZipFile, most: int) -> None:
        members = archive.infolist()
        names = [member.filename for member in members]
        if len({name.lower() for name in names}) != len(names) or len(names) > _MOST_PARTS:
            raise RefusedError("an archive in which a name is there twice, or too many are")
        if sum(member.file_size for member in members) > most:
            raise RefusedError(f"parts longer than {most} bytes together", "split it")
        self._archive, self._names = archive, set(names)
        self._follow(self._root, 0)
        if not self.parts:
            raise RefusedError("no word processor's document in it", "save it as .docx")
        for name in self._names - self._taken:
            if not name.endswith("/"):
                kind = "metadata part" if _METADATA.match(name) else "embedded file"
                self.removed[kind] += 1

    def _follow(self, part: Part, depth: int) -> None:
        """Read the relationships of a part, and the parts that they lead to."""
        if part.member not in self._names:
            return
        self._taken.add(part.member)
        for relationship in _relationships(self._archive.read(part.member)):
            kind = relationship.get("Type", "").removeprefix(_OFFICE)
            identifier, target = relationship.get("Id", ""), relationship.get("Target", "")
            if identifier in part.links:
                raise RefusedError("relationships that no word processor writes")
            if relationship.get("TargetMode") == "External":
                if kind == "hyperlink" and re.match("https?://", target):
                    part.link(identifier, kind, target)
                elif kind != "hyperlink":  # of those, the text tells
                    self.removed["metadata part"] += 1
                continue
            path = posixpath.join("/", posixpath.dirname(part.name), target)
            path = posixpath.normpath(path).lstrip("/")
            wanted = kind in _ROLES and depth == (0 if kind == "officeDocument" else 1)
            stem = "document" if kind == "officeDocument" else kind
            named = (match := _NAME.fullmatch(path)) and (match[1] or match[2]) == stem
            if not wanted or not named or path not in self._names:
                continue
            if not depth and self.parts:
                raise RefusedError("two texts in one document")
            part.link(identifier, kind, f"/{path}")
            if path not in self._taken:
                self._taken.add(path)
                self.parts.append(Part(path, kind, self._archive.read(path)))
                self._follow(self.parts[-1], depth + 1)

    def written(self, contents: dict[str, list[str]], _: list[str]) -> bytes:
        """Return the archive with what its parts hold now, in pieces, by name."""
        types = "".join(
            f'<Override PartName="/{part.name}" ContentType='
            f'"application/vnd.openxmlformats-officedocument.{part.type}+xml"/>'
            for part in self.parts
        )
        members = {_HEAD: f"{_TYPES}{types}</Types>", self._root.member: self._root.relationships()}
        for part in self.parts:
            members[part.name] = "".join(contents[part.name])
            if part.links:
                members[part.member] = part.relationships()
        out = BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            for name, text in members.items():
                info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
                info.compress_type = zipfile.ZIP_DEFLATED
                info.create_system = 0
                archive.writestr(info, text)
        return out.getvalue()


def _relationships(data: bytes) -> list[dict[str, str]]:
    """Return the attributes of each relationship.  Raises RefusedError."""
    relationships: list[dict[str, str]] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == f"{_RELATIONSHIPS} Relationship":
            relationships.append(attributes)

    def refuse(*_: object) -> None:
        raise RefusedError("an archive with a DTD")

    parser = expat.ParserCreate(None, " ")
    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = refuse
    parser.Parse(data, True)
    return relationships
