"""The formats by name, which one a file name suggests, and which files none of them reads.

Files that are not lines of text are recognized by suffix or first bytes and refused.  Read as text
they would become something, with exit status 0, that no other program can open.

Users choose by ``--field`` among names of columns and paths of strings.  Names of columns are data
where a table has no header, and keys of JSON may be data too.  Whoever asks for them by ``dpsan
headers`` sees them all.  A message shows them where one of them is a usual name of a column, such
as ``id`` or ``text``, so that the others are names as well.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from importlib import import_module
from pathlib import Path, PurePath
from typing import Any, Final, NamedTuple, cast

from dpsan.errors import DpsanError, InputError, UsageError, check_name, refuse
from dpsan.files import compression, packages
from dpsan.files.source import Source
from dpsan.formats.base import Format, ReadOptions
from dpsan.formats.passing import shown_names
from dpsan.formats.paths import CODE, USUAL, usual
from dpsan.privacy.guarantee import UNREVIEWED
from dpsan.text.shape import compiled

MANUAL: Final = "man dpsan, CONTAINERS"
"""Where to read what a format of dpsan does."""
COMPRESSED: Final = (".gz", ".zst")


class Home(NamedTuple):
    """Module and class of a format, and the suffixes that suggest it."""

    module: str
    kind: str
    suffixes: tuple[str, ...]


FORMATS: Final[dict[str, Home]] = {
    "text": Home("dpsan.formats.text", "TextFormat", (".txt", ".log", ".text", ".md")),
    "jsonl": Home("dpsan.formats.json", "JsonlFormat", (".jsonl", ".ndjson")),
    "json": Home("dpsan.formats.json", "JsonFormat", (".json",)),
    "csv": Home("dpsan.formats.csv", "CsvFormat", (".csv",)),
    "tsv": Home("dpsan.formats.csv", "TsvFormat", (".tsv", ".tab")),
    "html": Home("dpsan.formats.documents.html", "HtmlFormat", (".html", ".htm", ".xhtml")),
    "eml": Home("dpsan.formats.documents.eml", "EmlFormat", (".eml",)),
    "docx": Home("dpsan.formats.documents.docx", "DocxFormat", (".docx",)),
    "parquet": Home("dpsan.formats.parquet", "ParquetFormat", (".parquet", ".pq")),
}
_NAMES: Final = {suffix: name for name, home in FORMATS.items() for suffix in home.suffixes}
_OWN: Final = frozenset(["auto", *(suffix[1:] for suffix in _NAMES)])


def format_name(name: str, path: str) -> str:
    """Return the name itself, or with ``auto`` what the suffix suggests; text where nothing does.

    Raises:
        UsageError: unknown name.
    """
    meant = _suggested(path if name == "auto" else f"_.{name}")
    if name == "auto":
        return meant or "text"
    if name not in FORMATS and name != meant:
        refused = REFUSED.get(f".{name.lower()}")
        hint = refused.hint if refused and not meant else f"-f {meant}"
        refuse(meant or refused, f"unknown format '{name}'", hint)
        check_name("format", name, ["auto", *FORMATS, *brought()])
    return name


def brought() -> Mapping[str, Any]:
    """Return the formats of other packages by name, which is the suffix, too.

    A name or suffix of dpsan's own is none of theirs.
    """
    return packages.installed("dpsan.formats", _OWN)


def named_otherwise(names: str, path: str) -> str:
    """Return the hint for a file that is none of some formats, if its name tells of another."""
    named = _suggested(path)
    return f"its name says {named}" if named and named not in names.split() else ""


def _suggested(path: str) -> str | None:
    suffix = _suffix(path)
    # Only a suffix that is none of dpsan's own is worth the time that looking for packages takes.
    return _NAMES.get(suffix) or (suffix[1:] if suffix and suffix[1:] in brought() else None)


def suggested_format(path: str) -> str | None:
    """Return the format, or the kind of file that no format reads, that a suffix tells of."""
    refused = REFUSED.get(_suffix(path))
    return _suggested(path) or (refused and refused.name)


def _suffix(path: str) -> str:
    """Return the last suffix in lower case, or the one before if that is a compression's."""
    suffixes = [suffix.lower() for suffix in PurePath(path).suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def format_class(name: str, path: str) -> type[Format]:
    """Return the class of a format.  Raises UsageError: unknown name."""
    home = FORMATS.get(name := format_name(name, path))
    if home is None:
        return cast("type[Format]", packages.imported(brought()[name], Format)[0])
    return cast("type[Format]", getattr(import_module(home.module), home.kind))


def described_in(kind: type[Format]) -> str:
    """Return where to read what a format does: the manual, or the package that brings it."""
    if kind.name in FORMATS:
        return MANUAL
    entry = brought()[kind.name]
    _, path, digest = packages.imported(entry, Format)
    return f"{entry.dist and entry.dist.name}, {path.name}, SHA-256 {digest[:16]}, {UNREVIEWED}"


def format_for(name: str, path: str) -> Format:
    """Return the format of a name and path.  Raises UsageError: unknown name."""
    return format_class(name, path)()


def formats_with(capability: str) -> str:
    """Return the names of the formats that have an attribute, for messages: ``csv and tsv``."""
    names = [name for name in FORMATS if getattr(format_class(name, ""), capability)]
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


# --- refused files -----------------------------------------------------------------------------


class Kind(NamedTuple):
    """A kind of file, and what to do with it instead."""

    name: str
    hint: str

    def error(self, name: str, forced: str = "-f text reads it as it is") -> InputError:
        """Return the error for a file of this kind; the hint can be typed."""
        hint = "; ".join(filter(None, (self.hint, forced)))
        return InputError(name, f"{self.name}, not lines of text", hint)


REFUSED: Final[dict[str, Kind]] = {}
"""Kinds of files by suffix."""
_BEGINNINGS: Final[list[tuple[bytes, Kind]]] = []
"""First bytes.  None of them holds a newline or NUL, so each lies within the first record."""

for _row in (Path(__file__).parent / "refused_files.tsv").read_text("utf-8").splitlines()[1:]:
    _name, _hint, _suffixes, _beginnings = _row.split("\t")
    REFUSED.update(dict.fromkeys(_suffixes.split(), Kind(_name, _hint)))
    for _escaped in _beginnings.split():
        _first = _escaped.encode().decode("unicode_escape").encode("latin-1")
        _BEGINNINGS.append((_first, Kind(_name, _hint)))


def is_code(path: str) -> bool:
    """Return whether the name of a file is that of a program or of settings."""
    return _suffix(path) in CODE


_JSON: Final = compiled(
    rb"""_(?:(?P<array>\[)_(?:\{_["}]|\{?_$)|\{_(?:"[^"\\]*+"_:|$))""".replace(
        b"_",
        rb"[ \t\r\n]*+",  # other white space is none in JSON
    )
)
"""The first line of an array of objects, or of an object; printed in one line or in many."""
_ROW: Final = compiled(
    rb"""[\w"][^\r\n,;\t]*+(?:([,;\t])[\w"][^\r\n,;\t]*+)(?:\1[\w"][^\r\n,;\t]*+)*+\r?"""
)
"""Cells without space before them, as no text has commas."""
_ARRAY = Kind("a JSON array", "-f json -k FIELD")
_OBJECT = Kind("JSON", "-f jsonl -k FIELD; -f json if a record goes over several lines")


def refuse_suffix(path: str) -> None:
    """Raise InputError if a name is that of a kind of file which no format reads."""
    if (refused := REFUSED.get(_suffix(path))) and not _suggested(path):
        raise refused.error(path)


def refuse_records(source: Source, first: bytes) -> None:
    """Raise InputError if a first line is JSON or a header: as text its names would be drawn."""
    if match := _JSON.match(first, 0, 4096):
        raise (_ARRAY if match["array"] else _OBJECT).error(source.name)
    if match := _ROW.fullmatch(first, 0, 4096):
        cells = {cell.strip(b'" ').lower() for cell in match[0].rstrip().split(match[1])}
        if cells & {name.encode() for name in USUAL}:
            raise Kind("a table with a header", "-f csv -k NAME").error(source.name)


def refuse_document(source: Source, first: bytes, *forced: str) -> None:
    """Raise InputError if the first bytes of a source are those of another kind of file.

    Args:
        forced: how it can be read all the same, if not by ``-f text``.
    """
    first = first.removeprefix(b"\xef\xbb\xbf")
    markup = first[:256].lstrip().lower()
    for start, kind in _BEGINNINGS:
        if (markup if start[:1] == b"<" else first).startswith(start):
            raise kind.error(source.name, *forced)


def binary(source: Source, line: int) -> InputError:
    """Return the error for a record that holds NUL."""
    hint = "iconv -f UTF-16 or tr '\\0' '\\n' may help; -f text reads it as it is"
    return InputError(source.name, "NUL byte: not text", hint, line=line)


_NAME: Final = re.compile(r"[^.\[\]]+")


def headers(path: Path, name: str, options: ReadOptions) -> list[str]:
    """Return the names of the columns of a file, or the paths of its values, in order.

    Args:
        name: of the format, or ``auto``.

    Raises:
        UsageError: the format has no columns.
        InputError: the file cannot be read.
    """
    kind = format_class(name, str(path))
    with compression.open_decompressed(path) as source:
        if not kind.takes_fields:
            refuse_suffix(str(path))
            refuse_document(source, source.read())
            raise UsageError(f"{path}: {kind.name} has no columns", "it needs no -k")
        names = kind().headers(source, kind.suited(options)) if kind.needs_fields else []
    if not names:
        raise InputError(path, "empty" if kind.needs_fields else f"{kind.name} has no columns")
    return names


def known_paths(paths: Iterable[str]) -> list[str]:
    """Return paths up to the first object none of whose names is usual: its names may be data."""
    names = {path: [(match.start(), match[0]) for match in _NAME.finditer(path)] for path in paths}
    members: dict[str, set[str]] = {}
    for path, steps in names.items():
        for at, name in steps:
            members.setdefault(path[:at], set()).add(name)
    shown: dict[str, None] = {}
    for path, steps in names.items():
        unknown = (at for at, _ in steps if not usual(members[path[:at]]))
        at = next(unknown, len(path))
        shown[path[:at] + "*" * (at < len(path))] = None
    return [*shown]


def choices(names: Collection[str]) -> str:
    """Return the hint that lists names of columns or paths, as far as they are surely no data."""
    shown = [name for name in known_paths(names) if name != "*"]
    return f"columns: {shown_names(shown)}" if shown else "dpsan headers FILE lists the names"


def file_choices(path: Path, name: str, options: ReadOptions) -> str:
    """Return the same of a file; how a field is named where the file cannot be read."""
    try:
        return choices(headers(path, name, options))
    except DpsanError:
        return "a column's name, path or number"
