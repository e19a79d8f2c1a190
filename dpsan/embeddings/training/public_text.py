"""Public text as it is read for training: files, gzip or not, in blocks of lines.

Knows files, UTF-8 and line ends.  Must not know words.  A file is read piece by piece: neither a
long text nor a long line is held in memory.
"""

from __future__ import annotations

import gzip
import os
import stat
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from dpsan.embeddings.sniff import GZIP
from dpsan.errors import InputError, file_reason

_PIECE: Final = 1 << 20
"""Bytes of a line that are read at a time; a longer line counts as several."""
_LINES: Final = 50
"""Lines of a block, at most: a book is no single document."""


def check_readable(path: Path) -> None:
    """Raise what :func:`blocks_of` would raise at once.

    Raises:
        InputError: no such file, not a regular one, or it cannot be read.
    """
    _open(path).close()


def _open(path: Path) -> BinaryIO:
    try:
        # Opening a FIFO would wait for a writer; and a text is read more than once.
        if not stat.S_ISREG(path.stat().st_mode):
            raise InputError(path, "not a regular file")
        return path.open("rb")
    except OSError as error:
        raise InputError(path, file_reason(error).lower()) from None


def blocks_of(path: Path, advance: Callable[[int], None]) -> Iterator[list[str]]:
    """Lines that belong together, without line ends: up to an empty line, at most 50.

    Args:
        path: text in UTF-8, or gzip of it.
        advance: told how many bytes of the file were read since it was last told.

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
    number = told = 0
    rest = b""  # of a line that is longer than a piece: what may belong to its next word
    with _open(path) as file:
        packed = file.peek(2)[:2] == GZIP  # type: ignore[attr-defined]
        stream = gzip.GzipFile(fileobj=file) if packed else file
        while line := _read(stream, path):
            number += not rest
            line, rest = rest + line, b""
            if not line.endswith(b"\n") and len(line) >= _PIECE:
                line, rest = _cut(line)
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError:
                hint = "iconv -t UTF-8 converts it"
                raise InputError(path, "not UTF-8", hint, line=number) from None
            yield text.strip()
            here = os.lseek(file.fileno(), 0, os.SEEK_CUR)
            advance(here - told)
            told = here
    if rest:
        yield rest.decode("utf-8", "replace").strip()


def _read(stream: BinaryIO | gzip.GzipFile, path: Path) -> bytes:
    try:
        return stream.readline(_PIECE)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise InputError(path, "the compressed data are damaged") from None
    except OSError as error:
        raise InputError(path, file_reason(error).lower()) from None


def _cut(line: bytes) -> tuple[bytes, bytes]:
    """A long line before and after its last space; without one, before its last character."""
    at = line.rfind(b" ") + 1
    if not at or len(line) - at > _PIECE // 2:
        at = len(line) - 1
        while at and line[at] & 0xC0 == 0x80:  # inside a character
            at -= 1
    return line[:at], line[at:]
