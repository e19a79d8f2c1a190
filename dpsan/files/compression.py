"""Compression: outputs packed as their names say, inputs unpacked with a bound, public text too.

Names ending in ``.gz`` and, with an extra, ``.zst`` are compressed.  The same bytes give the same
compressed bytes: no time and no name in the header.
"""

import codecs
import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

from dpsan.errors import EmbeddingError, ExtraMissingError, InputError, file_reason
from dpsan.files.atomic_files import Packer
from dpsan.files.source import FileSource, Source, open_regular, opened_input

_ZSTD_WINDOW: Final = 1 << 27
"""Largest window accepted, as the zstd program does: memory that a file may make us allocate."""
_FREE: Final = 32 << 20
"""Decompressed bytes that are never refused."""
_RATIO: Final = 200
"""Most decompressed bytes per compressed byte beyond these; vectors as text reach about 10."""
_BUFFER: Final = 1 << 20


def packer_for(name: str) -> Packer | None:
    """Return the compressor for an output of this name.  Raises ExtraMissingError."""
    if name.lower().endswith(".gz"):
        return zlib.compressobj(6, zlib.DEFLATED, 31)  # one member
    if not name.lower().endswith(".zst"):
        return None
    compressor = _zstandard("writing .zst").ZstdCompressor(write_checksum=True)
    made: Packer = compressor.compressobj()  # one frame
    return made


def _zstandard(feature: str) -> Any:
    """Return the module for a feature.  Raises ExtraMissingError."""
    try:
        import zstandard  # an extra
    except ImportError:
        raise ExtraMissingError(feature, "zst") from None
    return zstandard


# --- streams of text: unpacked piece by piece, so their size needs no bound --------------------


class _Codec(NamedTuple):
    """A kind of compression."""

    name: str
    frame: Callable[[], Any]
    """A decompressor of one member or frame."""
    errors: tuple[type[Exception], ...]
    """Errors that it raises on damaged data."""
    piece: int
    """Bytes of input at once: few, so that the output is not large."""
    padding: bytes
    """Bytes that may follow a frame."""


_GZIP: Final = _Codec("gzip", partial(zlib.decompressobj, wbits=31), (zlib.error,), 1 << 12, b"\0")


def _zstd() -> _Codec:
    zstandard = _zstandard("reading .zst")
    maker = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    # A kilobyte of input gives at most some 30 MB of output.
    errors = zstandard.ZstdError, MemoryError
    return _Codec("zstd", maker.decompressobj, errors, 1 << 10, b"")


class _Decompressed:
    """The decompressed bytes of a source, all members or frames."""

    def __init__(self, inner: Source, codec: _Codec) -> None:
        self.name = inner.name
        self._inner, self._codec = inner, codec
        self._frame: Any = codec.frame()
        self._waiting, self._at, self._started = b"", 0, False

    def descriptor(self) -> None:
        return None

    def read(self) -> bytes:
        kind = self._codec.name
        while True:
            if self._at >= len(self._waiting):
                self._waiting, self._at = self._inner.read(), 0
                if not self._waiting:
                    if not self._started:
                        raise InputError(self.name, f"not {kind} data: empty")
                    if self._frame is not None:
                        raise InputError(self.name, f"{kind} data ends too early")
                    return b""
                self._started = True
            data = self._waiting[self._at : self._at + self._codec.piece]
            self._at += len(data)
            if self._frame is None:
                data = data.lstrip(self._codec.padding)
                if not data:
                    continue
                self._frame = self._codec.frame()
            try:
                out: bytes = self._frame.decompress(data)
            except self._codec.errors:
                hint = "a text of another name is read as it is"
                raise InputError(self.name, f"damaged {kind} data, or none", hint) from None
            if self._frame.eof:
                self._at -= len(self._frame.unused_data)
                self._frame = None
            if out:
                return out

    def idle(self) -> bool:
        return self._at >= len(self._waiting) and self._inner.idle()


def decompressed(source: Source) -> Source:
    """Return the source, decompressed if its name says so.  Raises ExtraMissingError."""
    name = source.name.lower()
    if name.endswith(".gz"):
        return _Decompressed(source, _GZIP)
    return _Decompressed(source, _zstd()) if name.endswith(".zst") else source


@contextmanager
def open_decompressed(path: Path, *, steady: bool = False) -> Iterator[Source]:
    """Open a file whose bytes are decompressed as its name says.

    Args:
        steady: refuse a file that is written to meanwhile.

    Raises:
        InputError: it cannot be read.
    """
    with opened_input(path, hints=False) as source:
        yield decompressed(source)
        if steady:
            source.check_unchanged()


# --- files that are read whole ---------------------------------------------------------------


class _Bounded(io.RawIOBase):
    """Decompressed bytes of ``source``, refused when they outgrow ``packed`` compressed bytes."""

    def __init__(self, source: gzip.GzipFile, path: Path, packed: int) -> None:
        self._source, self._path = source, path
        self._bound = max(_FREE, _RATIO * packed)
        self._seen = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object, /) -> int:
        """Fill ``buffer`` unless the data end."""
        view = memoryview(buffer).cast("B")  # type: ignore[arg-type]
        try:
            data = self._source.read(len(view))
        except EOFError:
            raise EmbeddingError(self._path, "the compressed data end too early") from None
        except (OSError, zlib.error):
            raise EmbeddingError(self._path, "the compressed data are damaged") from None
        self._seen += len(data)
        if self._seen > self._bound:
            what = f"grows more than {_RATIO} times when decompressed"
            raise EmbeddingError(self._path, what, "decompress it yourself if you trust it")
        view[: len(data)] = data
        return len(data)


def unpack(stream: io.BufferedReader, path: Path, packed: int) -> io.BufferedReader:
    """Return the decompressed bytes of a gzip stream of ``packed`` bytes."""
    # gzip.GzipFile reads on through concatenated members and checks each CRC.
    return io.BufferedReader(_Bounded(gzip.GzipFile(fileobj=stream), path, packed), _BUFFER)


# --- public text, piece by piece: neither text nor line is held in memory ---------------------

_LONGEST: Final = 1 << 20
"""Characters of a line; a longer line is cut at a space, if it has one, and counts as several."""
_LINES: Final = 50
"""Largest number of lines of a block: a book is no single document."""


def open_public(path: Path) -> BinaryIO:
    """Open a regular file.  Raises InputError."""
    try:
        return os.fdopen(open_regular(path), "rb")
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
