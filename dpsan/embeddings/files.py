"""Opening embedding files: regular files only, gzip with a bound, lines with a limit, digests."""

import hashlib
import io
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.words import Embeddings, Progress, no_progress
from dpsan.errors import EmbeddingError, file_reason
from dpsan.files.compression import blocks_of
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

    def __init__(self, handle: int, progress: Progress) -> None:
        super().__init__(handle)
        self._size, self._progress = max(1, os.fstat(handle).st_size), progress

    def readinto(self, buffer: Any, /) -> int | None:
        """See the base."""
        got = super().readinto(buffer)
        self._progress(min(1.0, self.tell() / self._size))
        return got


def open_embeddings(path: Path, progress: Progress = no_progress) -> io.BufferedReader:
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
    return io.BufferedReader(_Reported(handle, progress), _BUFFER)


class Lines:
    """Numbered lines of a stream, split on LF only, none longer than 1 MB."""

    def __init__(self, stream: io.BufferedReader, path: Path) -> None:
        self.path = path
        self.number = 0
        """Number of the line last read, from 1."""
        self._stream = stream
        if stream.peek(3)[:3] == b"\xef\xbb\xbf":
            stream.read(3)

    def read(self) -> bytes:
        """Return the next line with its LF; empty at the end.

        Raises:
            EmbeddingError: the line is too long.
        """
        line = self._stream.readline(MAX_WORD + 2)
        if line:
            self.number += 1
            if len(line) > MAX_WORD + 1:
                raise EmbeddingError(self.path, "longer than 1 MB", line=self.number)
        return line

    def look(self, count: int) -> list[bytes]:
        """Up to ``count`` of the next lines, still to be read; the last one may be cut."""
        return self._stream.peek().split(b"\n", count)[:count]

    def only_blank(self) -> bool:
        """Return True if only white space is left; this reads the rest of the file."""
        return not any(part.strip() for part in iter(lambda: self._stream.read(_BUFFER), b""))


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


# Collecting usable rows, whatever format they come from.
#
# Memory grows with the rows that really arrive: no header's count is believed.  Left out and
# counted by reason, the first that applies: ``empty_word``, ``nul`` (a NUL or a line feed in the
# word), ``non_finite`` (also what float32 cannot hold), ``zero``, ``duplicate`` (of a kept row).

MAX_DIMENSIONS: Final = 10_000
_UNUSABLE: Final = 100_000
"""Rows left out that are never questioned; beyond, at most ten per kept row."""


def check_dimensions(path: Path, d: int, *, line: int | None = None) -> None:
    """Refuse numbers of dimensions that no embedding has.

    Raises:
        EmbeddingError: ``d`` is not in 1 ... 10,000.
    """
    if not 1 <= d <= MAX_DIMENSIONS:
        raise EmbeddingError(path, f"{d} dimensions, expected 1 to {MAX_DIMENSIONS}", line=line)


class Rows:
    """Words and vectors so far, at most ``limit`` of them."""

    def __init__(self, path: Path, d: int, limit: int | None) -> None:
        self.path = path
        self.dropped: dict[str, int] = {}
        self._d = d
        self._limit = limit
        self._words: list[str] = []
        self._seen: set[str] = set()
        self._vectors = np.empty((0, d), dtype=np.float32)
        self._columns: defaultdict[str, list[Any]] = defaultdict(list)

    @property
    def full(self) -> bool:
        """Return True if the limit is reached."""
        return self._limit is not None and len(self._words) >= self._limit

    def room(self, wanted: int) -> int:
        """Return the number of rows to read next, at most ``wanted``."""
        return wanted if self._limit is None else min(wanted, self._limit - len(self._words))

    def add(
        self, words: Sequence[bytes | str], vectors: NDArray[Any], **columns: Sequence[Any]
    ) -> None:
        """Keep the usable rows of a block.

        Args:
            vectors: shape (m, d), of any real type.
            columns: ``counts``, ``spellings``; those that the file has.

        Raises:
            EmbeddingError: a word is longer than 1 MB, a spelling is that of another word, or
                nearly all rows are unusable.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            block = vectors.astype(np.float32, copy=False)
        finite = np.logical_and.reduce(np.isfinite(block), axis=1).tolist()
        nonzero = np.logical_or.reduce(block != 0, axis=1).tolist()
        keep: list[int] = []
        for row, raw in enumerate(words):
            if self.full:
                break
            if len(raw) > MAX_WORD:
                raise EmbeddingError(self.path, "a word longer than 1 MB")
            word = _text(raw)
            if not word:
                reason = "empty_word"
            elif "\0" in word or "\n" in word:
                reason = "nul"
            elif not finite[row]:
                reason = "non_finite"
            elif not nonzero[row]:
                reason = "zero"
            elif word in self._seen:
                reason = "duplicate"
            else:
                self._seen.add(word)
                self._words.append(word)
                keep.append(row)
                continue
            self.dropped[reason] = self.dropped.get(reason, 0) + 1
        unusable = sum(self.dropped.values())
        if unusable > _UNUSABLE and unusable > 10 * len(self._words):
            # Else a small compressed file of one repeated row would keep us busy for hours.
            raise EmbeddingError(self.path, f"too many unusable rows: {self._reasons()}")
        for name, values in columns.items():
            self._columns[name] += [values[row] for row in keep]
        n = len(self._words)
        if n > len(self._vectors):
            # realloc in place of a second copy, an eighth ahead: peak 1.125 times the matrix.
            self._vectors.resize((n + n // 8, self._d), refcheck=False)
        self._vectors[n - len(keep) : n] = block if len(keep) == len(block) else block[keep]

    def _reasons(self) -> str:
        return ", ".join(f"{count} {reason}" for reason, count in self.dropped.items())

    def finish(self, source: str, digest: str) -> Embeddings:
        """Return the collected rows; call once.

        Raises:
            EmbeddingError: there are none.
        """
        n = len(self._words)
        if not n:
            raise EmbeddingError(self.path, f"no usable row: {self._reasons() or 'no row at all'}")
        spellings, counts = map(self._columns.get, ("spellings", "counts"))
        spellings = [*map(_text, spellings)] if spellings else None
        for word, spelling in zip(self._words, spellings or (), strict=False):
            # What is written must not be read as another word.
            if spelling != word and (spelling.lower() != word or spelling in self._seen):
                raise EmbeddingError(self.path, "a spelling that is not of its word")
        self._seen.clear()
        self._vectors.resize((n, self._d), refcheck=False)
        return Embeddings(
            index_to_key=self._words,
            vectors=self._vectors,
            source=source,
            digest=digest,
            counts=np.array(counts, dtype=np.int64) if counts else None,
            dropped=self.dropped,
            spellings=spellings,
        )


def _text(word: bytes | str) -> str:
    """Return a word that can be written as UTF-8: what cannot becomes U+FFFD."""
    if isinstance(word, bytes):
        return word.decode("utf-8", "replace")
    try:
        word.encode()
    except UnicodeEncodeError:
        return word.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return word


def blocks_of_all(texts: Sequence[Path], progress: Progress) -> Iterator[list[str]]:
    """Yield the blocks of lines of all texts; see :func:`dpsan.files.compression.blocks_of`.

    Args:
        progress: called with the share that was read.

    Raises:
        InputError: a file cannot be read.
    """
    total, done = max(1, sum(path.stat().st_size for path in texts)), 0

    def advance(size: int) -> None:
        nonlocal done
        before, done = done, done + size
        # About once a megabyte: lines are many.
        if before >> 20 < done >> 20:
            progress(min(1.0, done / total))

    for path in texts:
        yield from blocks_of(path, advance)
