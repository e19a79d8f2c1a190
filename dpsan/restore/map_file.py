"""The map of ``rewrite --map``.

It has lines of JSON, UTF-8, as sensitive as the input::

    {"type": "map", "schema": 1, "dpsan": VERSION, "run": KEY-ID}
    {"unit": ..., "original": ..., "replacement": ..., "class": ...}     any number

All values of a row are strings, words without their possessive ending.  Where the replacement alone
has an s in it, one more row has both with it: Williams' and Crum's.  Rows of a unit may stand
anywhere and more than once.  No message quotes a row.
"""

import json
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from dpsan import __version__
from dpsan.errors import InputError
from dpsan.files.atomic_files import PrivateFile
from dpsan.files.source import FileSource, opened_input
from dpsan.formats.text import json_header, raw_records

SCHEMA: Final = 1
_BARE: Final = 200
"""Bytes that the header of a map does not reach."""
_LONGEST: Final = 64 << 20
"""Bytes of the longest row."""
_HELD_ROWS: Final = 1 << 18
"""Bytes of rows that are collected before they are written."""
_FIELDS: Final = ("unit", "original", "replacement", "class")


class Row(NamedTuple):
    """Meaning of a replacement."""

    unit: str
    original: str
    replacement: str


class MapWriter(PrivateFile):
    """Writes a map; a context manager.

    Rows reach the disk at :meth:`sync`, which must come before an output with their replacements
    gets its name.  Equal rows of a unit are written once, as long as its calls follow each other:
    the distinct words of one unit are held in memory.

    Args:
        path: created with mode 0600 under every umask.
        run: identifies the key of the run.
        force: replace an existing file, at the first :meth:`sync`; one without a row always is.

    Raises:
        OutputError: the file exists or cannot be written.
    """

    def __init__(self, path: Path, run: str, *, force: bool = False) -> None:
        super().__init__(path, force=force or is_bare(path))
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
        if len(self._held) >= _HELD_ROWS:
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


def read_map(path: Path) -> Iterator[Row]:
    """Yield all rows.

    Raises:
        InputError: it cannot be read, others may read it, it is not a map, or a row is damaged or
            torn.
    """
    with opened_input(path, hints=False) as source:
        rows = filter(None, raw_records(source, _LONGEST))
        _, raw, ending = next(rows, (1, b"", b""))
        json_header(source.name, raw if ending else b"", "map", SCHEMA, "a map")
        file = source.descriptor()  # None: a pipe
        if file is not None and os.fstat(file).st_mode & 0o077:
            raise InputError(path, "others may read the map", f"chmod 600 {path}")
        for line, raw, ending in rows:
            if not ending:
                hint = "its run was stopped before it wrote an output of it: delete the line"
                raise InputError(source.name, "torn row of a map", hint, line=line)
            yield _row(source, line, raw)


def is_bare(path: Path) -> bool:
    """Return whether a file is a map without a row, such as a run that failed leaves."""
    with suppress(OSError, InputError):
        return path.is_file() and path.stat().st_size < _BARE and not any(read_map(path))
    return False


def rows_by_unit(path: Path) -> dict[str, list[Row]]:
    """Return the rows of each unit.  Raises as :func:`read_map`."""
    rows: dict[str, list[Row]] = {}
    for row in read_map(path):
        rows.setdefault(row.unit, []).append(row)
    return rows


def _row(source: FileSource, line: int, raw: bytes) -> Row:
    try:
        fields = json.loads(raw)
        row = Row(*(fields[name] for name in _FIELDS[:3]))
    except (LookupError, TypeError, ValueError, RecursionError):
        row = Row("", "", "")
    if not all(isinstance(value, str) for value in row) or not row.original or not row.replacement:
        raise InputError(source.name, "damaged row of a map", line=line)
    return row
