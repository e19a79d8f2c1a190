"""Read public text in blocks of lines, piece by piece: neither text nor line is held in memory."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from dpsan.errors import InputError, file_reason
from dpsan.files.compression import decompressed
from dpsan.files.source import FileSource

_LONGEST: Final = 1 << 20
"""Characters of a line; a longer line is cut at a space, if it has one, and counts as several."""
_LINES: Final = 50
"""Largest number of lines of a block: a book is no single document."""


def open_public(path: Path) -> BinaryIO:
    """Open a regular file.  Raises InputError."""
    try:
        if path.exists() and not path.is_file():  # opening a FIFO would wait for a writer
            raise InputError(path, "not a regular file")
        return path.open("rb")
    except OSError as error:
        raise InputError(path, file_reason(error).lower()) from None


def blocks_of(path: Path, advance: Callable[[int], None]) -> Iterator[list[str]]:
    """Yield lines that belong together, without line ends: up to an empty line, at most 50.

    Args:
        path: text in UTF-8, compressed if its name ends in .gz or .zst.
        advance: called with the number of bytes read since the last call.

    Raises:
        InputError: the file cannot be read, is damaged or not UTF-8; names file and line.
    """
    block: list[str] = []
    for line in _lines(path, advance):
        if line:
            block.append(line)
        if block and (not line or len(block) == _LINES):
            yield block
            block = []
    if block:
        yield block


def _lines(path: Path, advance: Callable[[int], None]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8-sig")()
    number, line, done = 1, "", 0
    with open_public(path) as file:
        raw = FileSource(str(path), file.fileno())
        source = decompressed(raw)
        while True:
            data = source.read()
            try:
                line += decoder.decode(data, final=not data)
            except UnicodeDecodeError as error:
                number += error.object[: error.start].count(b"\n")
                hint = "iconv -t UTF-8 converts it"
                raise InputError(path, "not UTF-8", hint, line=number) from None
            advance(raw.bytes_read - done)
            done = raw.bytes_read
            *whole, line = line.split("\n")
            number += len(whole)
            if len(line) > _LONGEST:
                before, _, line = line.rpartition(" ")
                whole += [before] if before else []
            yield from map(str.strip, whole)
            if not data:
                yield line.strip()
                return
