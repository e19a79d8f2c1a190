"""The map of ``rewrite --map``: which original each replacement of a unit stands for.

Lines of JSON, UTF-8, as sensitive as the input::

    {"type": "map", "schema": 1, "dpsan": VERSION, "run": KEY-ID}
    {"unit": ..., "original": ..., "replacement": ..., "class": ...}     any number

All values of a row are strings, words without their possessive ending.  Rows of a unit may stand
anywhere and more than once; a reader that asks for single units is faster where they stand
together.  No message quotes a row.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from dpsan.errors import InputError
from dpsan.files.atomic_files import PrivateFile
from dpsan.files.source import FileSource, open_input
from dpsan.formats.text import raw_records
from dpsan.version import __version__

SCHEMA: Final = 1
_LONGEST: Final = 64 << 20
"""Bytes of the longest row."""
_HELD: Final = 1 << 18
"""Bytes of rows that are collected before they are written."""
_FIELDS: Final = ("unit", "original", "replacement", "class")


class Row(NamedTuple):
    """What a replacement stands for."""

    unit: str
    original: str
    replacement: str


class Part(NamedTuple):
    """Whole lines of a map: the number of the first, and the bytes."""

    line: int
    start: int
    end: int


class MapWriter(PrivateFile):
    """Writes a map; a context manager.

    Rows reach the disk at :meth:`sync`, which must come before an output with their replacements
    gets its name.  Equal rows of a unit are written once, as long as its calls follow each other:
    the distinct words of one unit are held in memory.

    Args:
        path: created with mode 0600 under every umask.
        run: identifies the key of the run.
        force: replace an existing file, at the first :meth:`sync`.

    Raises:
        OutputError: the file exists or cannot be written.
    """

    def __init__(self, path: Path, run: str, *, force: bool = False) -> None:
        super().__init__(path, force=force)
        self._held = bytearray()
        self._synced = True
        self._unit, self._written = "", set[tuple[str, str, str]]()
        self._hold({"type": "map", "schema": SCHEMA, "dpsan": __version__, "run": run})

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is None:
                self.sync()
        finally:
            self.close()

    def add(self, unit: str, rows: Iterable[tuple[str, str, str]]) -> None:
        """Add original, replacement and class of the drawn words of a unit.  Raises OutputError."""
        if unit != self._unit:
            self._unit, self._written = unit, set()
        for row in rows:
            if row not in self._written:
                self._written.add(row)
                self._hold(dict(zip(_FIELDS, (unit, *row), strict=True)))
        if len(self._held) >= _HELD:
            self._flush()

    def sync(self) -> None:
        """Wait until all rows are on the disk, under the name of the map.  Raises OutputError."""
        if not self._synced:
            self._flush()
            self.to_disk()
            self._synced = True

    def _hold(self, row: dict[str, Any]) -> None:
        self._synced = False
        self._held += json.dumps(row).encode() + b"\n"

    def _flush(self) -> None:
        self.send(bytes(self._held))
        self._held.clear()


class Map:
    """An open map; a context manager.

    Args:
        path: with rows of units to be asked for, a regular file.

    Raises:
        InputError: it cannot be opened, or is not a map.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = open_input(path, hints=False)
        self._source = FileSource(str(path), self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def rows(self) -> Iterator[Row]:
        """Yield all rows, once.  Raises InputError: one is damaged."""
        return (row for _, row in self._parts())

    def _parts(self) -> Iterator[tuple[Part, Row]]:
        lines = _lines(self._source)
        _header(self._source, lines)
        for part, raw in lines:
            yield part, _row(self._source, part.line, raw)

    def by_unit(self) -> Callable[[str], Iterator[Row]]:
        """Return what yields the rows of a unit.

        In memory a unit takes about 320 bytes, and 150 more for each further part of the file.

        Raises:
            InputError: a row is damaged, or the file cannot be read twice.
        """
        if self._source.descriptor() is None:
            raise InputError(self._source.name, "not a regular file", "--unit-field reads it twice")
        parts_of: dict[str, list[Part]] = {}
        unit = None
        for part, row in self._parts():
            parts = parts_of.setdefault(row.unit, [])
            if row.unit == unit:
                parts[-1] = parts[-1]._replace(end=part.end)
            else:
                parts.append(part)
            unit = row.unit
        return lambda unit: self._read(parts_of.get(unit, ()))

    def _read(self, parts: Iterable[Part]) -> Iterator[Row]:
        """Yield the rows of some parts.  Raises InputError: the file has changed."""
        for line, start, end in parts:
            data = os.pread(self._descriptor, end - start, start)
            for number, raw in enumerate(data.split(b"\n")[:-1], line):
                yield _row(self._source, number, raw)
        self._source.check_unchanged()


def _lines(source: FileSource) -> Iterator[tuple[Part, bytes]]:
    """Yield whole lines with their positions.  Raises InputError: the last one is torn."""
    end = 0
    for item in raw_records(source, _LONGEST):
        if item is None:
            continue
        line, raw, ending = item
        start, end = end, end + len(raw) + len(ending)
        if not ending:
            if line == 1:
                raise _not_a_map(source)
            hint = "its run was stopped before it wrote an output of it: delete the line"
            raise InputError(source.name, "torn row of a map", hint, line=line)
        yield Part(line, start, end), raw


def _header(source: FileSource, lines: Iterator[tuple[Part, bytes]]) -> str:
    """Return what identifies the run of a map, whose first line is read."""
    try:
        header = json.loads(next(lines)[1])
        if header["type"] == "map" and header["schema"] == SCHEMA and type(header["run"]) is str:
            return str(header["run"])
        wrong = header["type"] != "map"
    except (StopIteration, LookupError, TypeError, ValueError, RecursionError):
        wrong = True
    if wrong:
        raise _not_a_map(source)
    what = f"a map of another schema than {SCHEMA}, which this version reads"
    raise InputError(source.name, what, "use the dpsan that wrote it", line=1)


def _not_a_map(source: FileSource) -> InputError:
    return InputError(source.name, "not a map of dpsan", "see rewrite --map", line=1)


def _row(source: FileSource, line: int, raw: bytes) -> Row:
    try:
        fields = json.loads(raw)
        row = Row(*(fields[name] for name in _FIELDS[:3]))
    except (LookupError, TypeError, ValueError, RecursionError):
        row = Row("", "", "")
    if not all(isinstance(value, str) for value in row) or not row.original or not row.replacement:
        raise InputError(source.name, "damaged row of a map", line=line)
    return row
