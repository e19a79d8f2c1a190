"""Where inputs are cut into pieces that can be worked on apart.

Knows paths, sizes and separators.  Must not know what is done to a piece.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Self

from dpsan.errors import InputError
from dpsan.errors import reason as os_reason
from dpsan.files.source import FileSource
from dpsan.formats.base import ReadOptions
from dpsan.formats.registry import COMPRESSED, format_for, format_name
from dpsan.formats.text import text_encoding
from dpsan.run.paths import open_input, opened_input

_SMALLEST: Final = 1 << 16
_LARGEST: Final = 8 << 20
_MOST: Final = 100_000
"""Pieces that a driver keeps in mind without effort."""
_EACH: Final = 16
"""Pieces for each worker at least, so that all end at about the same time."""
_LOOK: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of an input, or all of it."""

    number: int
    """Within the run, from 0, in the order of the outputs."""
    file: int
    """1-based number of the input."""
    path: Path
    whole: bool
    """All of its input: it needs no counting."""
    groups: bool
    """``start`` and ``end`` count row groups, not bytes."""
    start: int
    end: int
    size: int
    """Bytes of the input, about."""
    first_line: int = 1
    first_text: int = 0
    texts: int = -1
    """How many texts it holds; -1 where nobody has counted."""

    def row(self) -> dict[str, Any]:
        """As plain values: what a cluster passes on."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {**values, "path": os.fsencode(self.path)}

    @classmethod
    def of(cls, row: dict[str, Any]) -> Self:
        """The piece of a :meth:`row`."""
        return cls(**{**row, "path": Path(os.fsdecode(row["path"]))})


def piece_bytes(total: int, workers: int) -> int:
    """How large pieces are to be; no result depends on it.

    Args:
        total: bytes of all inputs.
        workers: how many work at once.
    """
    fair = total // max(1, _EACH * workers)
    return max(_SMALLEST, min(_LARGEST, fair), total // _MOST)


def cut(
    path: Path, file: int, number: int, kind: str, options: ReadOptions, size: int
) -> list[Piece]:
    """The pieces of an input.

    Args:
        path: a regular file.
        file: 1-based number of the input.
        number: of the first piece.
        kind: name of the format or ``auto``.
        options: how it is read.
        size: wanted bytes of a piece.

    Raises:
        InputError: it cannot be read.
    """
    with opened_input(path) as source:
        there = path.stat().st_size
        groups = format_name(kind, str(path)) == "parquet"
        if groups:
            from dpsan.formats.parquet_groups import group_sizes  # pyarrow is an extra

            sizes = group_sizes(source)
            edges = _groups_of(size, sizes)
        else:
            cuttable = (
                format_for(kind, str(path)).divisible
                and path.suffix.lower() not in COMPRESSED
                and "\n".encode(text_encoding(options.encoding)) == b"\n"
            )
            edges = [*range(0, there, size), there] if cuttable and there > size else [0, there]
    if len(edges) == 2:
        return [Piece(number, file, path, True, False, 0, there, there)]
    return [
        Piece(
            *(number + at, file, path, False, groups, start, end),
            sum(sizes[start:end]) if groups else end - start,
        )
        for at, (start, end) in enumerate(pairwise(edges))
    ]


def _groups_of(size: int, sizes: list[int]) -> list[int]:
    """Where row groups are cut: behind the one with which there are ``size`` bytes."""
    edges, held = [0], 0
    for at, each in enumerate(sizes[:-1], start=1):
        held += each
        if held >= size:
            edges.append(at)
            held = 0
    return [*edges, len(sizes)]


def remove(part: Path) -> None:
    """Remove a temporary file, if it is there and can be."""
    with suppress(OSError):
        part.unlink(missing_ok=True)


@contextmanager
def stretch(piece: Piece, options: ReadOptions) -> Iterator[FileSource]:
    """The records that begin within a piece of bytes.

    Raises:
        InputError: it cannot be read.
    """
    separator = b"\0" if options.null_data else b"\n"
    descriptor = open_input(piece.path)
    try:
        try:
            begin = _boundary(descriptor, piece.start, separator, options.max_record)
            stop = _boundary(descriptor, piece.end, separator, options.max_record)
            os.lseek(descriptor, begin, os.SEEK_SET)
        except OSError as error:
            raise InputError(piece.path, f"cannot read: {os_reason(error)}") from None
        yield FileSource(str(piece.path), descriptor, max(0, stop - begin))
    finally:
        os.close(descriptor)


def _boundary(descriptor: int, at: int, separator: bytes, max_record: int) -> int:
    """Where the first record begins at or behind a place.

    Not further than a record may be long: what follows is an error that the reader of the record
    will find.
    """
    if at == 0:
        return 0
    place = at - 1
    while place <= at + max_record:
        data = os.pread(descriptor, _LOOK, place)
        if not data:
            return place
        found = data.find(separator)
        if found >= 0:
            return place + found + 1
        place += len(data)
    return place
