"""The archive that a document is (Open Packaging Conventions): which parts stay, and how they lead
to one another.

The archive is written anew: parts in the order in which they lead to one another, without times,
names of programs or comments.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
import zlib
from collections import Counter
from io import BytesIO
from typing import Final, NamedTuple
from urllib.parse import unquote
from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from dpsan.errors import InputError
from dpsan.formats.documents.docx_names import RELATIONS

_RELATIONSHIPS: Final = "http://schemas.openxmlformats.org/package/2006/relationships"
_OFFICE: Final = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
_TYPES: Final = "http://schemas.openxmlformats.org/package/2006/content-types"
_MAIN: Final = "application/vnd.openxmlformats-officedocument.wordprocessingml."
_THEME: Final = "application/vnd.openxmlformats-officedocument.theme+xml"
_DECLARATION: Final = b'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_NAME: Final = re.compile(
    r"(?:word/)?(?:(document|header|footer|footnotes|endnotes|styles|numbering|fontTable"
    r"|settings)[0-9]{0,4}\.xml|theme/(theme)[0-9]{0,4}\.xml)"
)
_ID: Final = re.compile(r"[A-Za-z]{1,4}[0-9]{1,9}")
_HEAD: Final = "[Content_Types].xml"
_MOST_PARTS: Final = 10_000


class _Link(NamedTuple):
    """A relationship that stays."""

    id: str
    kind: str
    target: str
    outside: bool


class Part:
    """A part that stays, and what it leads to."""

    def __init__(self, name: str, kind: str, data: bytes) -> None:
        self.name, self.data = name, data
        self.content_type, self.role = RELATIONS[kind]
        self.links: dict[str, _Link] = {}


class Package:
    """A document's archive.

    Args:
        name: for messages.
        data: the archive.
        most: bytes that its parts may have together.

    Raises:
        InputError: no zip archive, a damaged or hostile one, or none of a document.
    """

    def __init__(self, name: str, data: bytes, most: int) -> None:
        self._name = name
        self.parts: list[Part] = []
        self.links = 0
        """Addresses of pages that pass."""
        self.removed: Counter[str] = Counter()
        """What is no part of the text or its layout, by kind."""
        self._root: dict[str, _Link] = {}
        self._taken: set[str] = set()
        try:
            with zipfile.ZipFile(BytesIO(data)) as archive:
                self._read(archive, most)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, ValueError):
            raise InputError(name, "a damaged archive") from None
        except RuntimeError:  # what zipfile raises for a password
            raise InputError(name, "a document with a password", "save it without one") from None
        except (OSError, expat.ExpatError, KeyError):
            raise InputError(name, "a damaged archive") from None

    def _read(self, archive: zipfile.ZipFile, most: int) -> None:
        members = archive.infolist()
        names = [each.filename for each in members]
        if len({name.lower() for name in names}) != len(names) or len(names) > _MOST_PARTS:
            raise InputError(
                self._name, "an archive in which a name is there twice, or too many are"
            )
        if sum(each.file_size for each in members) > most:
            raise InputError(
                self._name,
                f"parts longer than {most} bytes together",
                "raise --max-record",
            )
        self._archive, self._names = archive, set(names)
        self._root = self._links("", 0)
        if not self.parts or self.parts[0].content_type != "document.main":
            raise InputError(self._name, "no word processor's document in it", "save it as .docx")
        left = self._names - self._taken - {_HEAD}
        left -= {name for name in left if name.endswith("/")}
        for name in left:
            self.removed[_kind(name)] += 1

    def _links(self, part: str, depth: int) -> dict[str, _Link]:
        """The relationships of a part, and the parts at their ends: the text's, and its own."""
        out: dict[str, _Link] = {}
        name = _links_of(part)
        if name not in self._names:
            return out
        self._taken.add(name)
        for each in _relationships(self._name, self._archive.read(name)):
            kind = each.get("Type", "").removeprefix(_OFFICE)
            link, target = each.get("Id", ""), each.get("Target", "")
            if not _ID.fullmatch(link) or link in out:
                raise InputError(self._name, "relationships that no word processor writes")
            if each.get("TargetMode") == "External":
                if kind == "hyperlink" and re.match("https?://[^@]*$", unquote(target)):
                    out[link] = _Link(link, kind, target, outside=True)
                    self.links += 1
                elif kind != "hyperlink":  # of those, the text tells
                    self.removed["metadata part"] += 1
                continue
            path = posixpath.normpath(posixpath.join("/", posixpath.dirname(part), target)).lstrip(
                "/"
            )
            wanted = kind in RELATIONS and depth == (0 if kind == "officeDocument" else 1)
            stem = "document" if kind == "officeDocument" else kind
            named = (match := _NAME.fullmatch(path)) and (match[1] or match[2]) == stem
            if not wanted or not named or path not in self._names:
                continue
            if not depth and out:
                raise InputError(self._name, "two texts in one document")
            out[link] = _Link(link, kind, path, outside=False)
            if path not in self._taken:
                self._taken.add(path)
                found = Part(path, kind, self._archive.read(path))
                self.parts.append(found)
                found.links = self._links(path, depth + 1)
        return out

    def written(self, contents: dict[str, bytes]) -> bytes:
        """The archive with what its parts hold now, by name."""
        out = BytesIO()
        with zipfile.ZipFile(out, "w") as archive:
            _write(archive, _HEAD, self._types())
            _write(archive, _links_of(""), _links(self._root))
            for part in self.parts:
                _write(archive, part.name, contents[part.name])
                if part.links:
                    _write(archive, _links_of(part.name), _links(part.links))
        return out.getvalue()

    def _types(self) -> bytes:
        overrides = "".join(
            f'<Override PartName="/{part.name}" ContentType='
            f'"{_THEME if part.content_type == "theme" else f"{_MAIN}{part.content_type}+xml"}"/>'
            for part in self.parts
        )
        return (
            _DECLARATION
            + (
                f'<Types xmlns="{_TYPES}"><Default Extension="rels" ContentType='
                '"application/vnd.openxmlformats-package.relationships+xml"/>'
                f'<Default Extension="xml" ContentType="application/xml"/>{overrides}</Types>'
            ).encode()
        )


def _relationships(source: str, data: bytes) -> list[dict[str, str]]:
    """Attributes of each relationship.  Raises InputError."""
    found: list[dict[str, str]] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == f"{_RELATIONSHIPS} Relationship":
            found.append(attributes)

    def refuse(*_: object) -> None:
        raise InputError(source, "an archive with a DTD")

    parser = expat.ParserCreate(None, " ")
    parser.StartElementHandler = start
    parser.StartDoctypeDeclHandler = refuse
    parser.Parse(data, True)
    return found


def _links_of(part: str) -> str:
    """The member that holds a part's relationships, or with no name those of the archive."""
    folder, file = posixpath.split(part)
    return posixpath.join(folder, "_rels", f"{file}.rels")


def _links(links: dict[str, _Link]) -> bytes:
    rows = "".join(
        f'<Relationship Id="{each.id}" Type="{_OFFICE}{each.kind}" Target='
        + (
            f'{quoteattr(each.target)} TargetMode="External"'
            if each.outside
            else f'"/{each.target}"'
        )
        + "/>"
        for each in links.values()
    )
    return _DECLARATION + (
        f'<Relationships xmlns="{_RELATIONSHIPS}">{rows}</Relationships>'.encode()
    )


def _write(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = 0
    archive.writestr(info, data)


def _kind(name: str) -> str:
    """What people call a part that does not stay."""
    if re.match(r"docProps/.*xml|customXml/|word/(?:web|comment|people|glossary)|.*\.rels$", name):
        return "metadata part"
    return "embedded file"
