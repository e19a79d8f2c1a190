"""Opening embedding files: regular files only, gzip with a bound, lines with a limit, digests."""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Final

from dpsan.errors import EmbeddingError, file_reason
from dpsan.files.source import open_regular

MAX_WORD: Final = 1 << 20
"""Bytes of the longest word, and of the longest line of text."""
_BUFFER: Final = 1 << 20
_HASHED: Final = 8 << 20
"""Bytes hashed at a time: long enough that a thread which waits its turn in between, while others
import modules, loses little."""
_PART: Final = 64 << 20
"""Bytes of a file that one thread hashes."""
_LOADER_FORMAT: Final = 2
"""Part of every digest: raise it when the same file and options would load differently."""


class _Reported(io.FileIO):
    """A file that tells how far it was read.

    Args:
        progress: is given the share.
    """

    def __init__(self, handle: int, progress: Callable[[float], None]) -> None:
        super().__init__(handle)
        self._size, self._progress = max(1, os.fstat(handle).st_size), progress

    def readinto(self, buffer: Any, /) -> int | None:
        """See the base."""
        got = super().readinto(buffer)
        self._progress(min(1.0, self.tell() / self._size))
        return got


def open_embeddings(
    path: Path, progress: Callable[[float], None] | None = None
) -> io.BufferedReader:
    """Open a regular file for reading, never blocking.

    Args:
        progress: called with the share that was read.

    Raises:
        EmbeddingError: missing, unreadable, or not a regular file.
    """
    try:
        handle = open_regular(path)
    except OSError as error:
        raise EmbeddingError(path, file_reason(error).lower()) from None
    except ValueError:  # a NUL in the name
        raise EmbeddingError(repr(str(path)), "no such file") from None
    file = io.FileIO(handle) if progress is None else _Reported(handle, progress)
    return io.BufferedReader(file, _BUFFER)


class Lines:
    """Numbered lines of a stream, split on LF only, none longer than 1 MB."""

    def __init__(self, stream: io.BufferedReader, path: Path) -> None:
        self.path = path
        self.number = 0
        """Number of the line last read, from 1."""
        self._stream = stream
        self._ahead: deque[bytes] = deque()
        if stream.peek(3)[:3] == b"\xef\xbb\xbf":
            stream.read(3)

    def read(self) -> bytes:
        """Return the next line with its LF; empty at the end.

        Raises:
            EmbeddingError: the line is too long.
        """
        line = self._ahead.popleft() if self._ahead else self._stream.readline(MAX_WORD + 2)
        if line:
            self.number += 1
            if len(line) > MAX_WORD + 1:
                raise EmbeddingError(self.path, "longer than 1 MB", line=self.number)
        return line

    def error_after(self, message: str) -> EmbeddingError:
        """Return an error of the line after the one last read."""
        return EmbeddingError(self.path, message, line=self.number + 1)

    def look(self, count: int) -> list[bytes]:
        """Up to ``count`` of the next lines, still to be read."""
        while len(self._ahead) < count and (line := self._stream.readline(MAX_WORD + 2)):
            self._ahead.append(line)
            if len(line) > MAX_WORD + 1:
                break  # read() refuses it
        return list(self._ahead)[:count]

    def only_blank(self) -> bool:
        """Return True if only white space is left; this reads the rest of the file."""
        rest = iter(lambda: self._stream.read(_BUFFER), b"")
        return not any(part.strip() for part in chain(self._ahead, rest))


def digest_of(files: Iterable[Path | str], vocab_size: int | None) -> str:
    """SHA-256 (hex) of files, each a path or its known SHA-256, and of what is taken of them.

    A large file stands for the SHA-256 of its parts, which two threads compute.

    Raises:
        EmbeddingError: a file cannot be read.
    """
    hashes = [file if isinstance(file, str) else _sha256(file) for file in files]
    settings = {"format": _LOADER_FORMAT, "files": hashes, "vocab_size": vocab_size}
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def _sha256(path: Path) -> str:
    with open_embeddings(path) as stream:
        size = os.fstat(stream.fileno()).st_size
        if size <= _PART:
            return _part_sha256(stream.fileno(), 0)
        from concurrent.futures import ThreadPoolExecutor  # slow to import

        with ThreadPoolExecutor(2) as pool:
            parts = pool.map(partial(_part_sha256, stream.fileno()), range(0, size, _PART))
        return f"parts of {_PART}: {' '.join(parts)}"


def _part_sha256(descriptor: int, start: int) -> str:
    digest, buffer = hashlib.sha256(), memoryview(bytearray(_HASHED))
    at, end = start, start + _PART
    while got := os.preadv(descriptor, [buffer[: end - at]], at):
        digest.update(buffer[:got])
        at += got
    return digest.hexdigest()


def refuse(path: Path) -> EmbeddingError:
    """Return the error for a pickle given to ``load``."""
    hint = "export with save_word2vec_format, or see dpsan index --unsafe-pickle"
    return EmbeddingError(path, "refused: pickle files can run code", hint)
