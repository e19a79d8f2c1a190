"""One entry of the cache on disk: arrays and JSON, written and verified."""

from __future__ import annotations

import hashlib
import json
import math
import re
import struct
from collections.abc import Container
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.cache.faiss_file import HEADER, INDEX, header
from dpsan.files import private_files as files
from dpsan.files.final_name import sync_directory
from dpsan.files.private_files import DamagedError
from dpsan.files.temporaries import stored_bytes

FORMAT_VERSION: Final = 2

_DTYPES: Final = frozenset(("<f2", "<f4", "<f8", "<i4", "<i8", "|u1", "<u4", "<u8", "|b1"))
_KIND: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_MANIFEST: Final = "manifest.json"
_MANIFEST_LIMIT: Final = 16 << 20
_HEAD: Final = b'{"sha256":"'
_MIDDLE: Final = b'","body":'
_TAIL: Final = b"}\n"
_ALIGNED: Final = 64
_BODY_START: Final = len(_HEAD) + 64 + len(_MIDDLE)


@dataclass(frozen=True, eq=False)
class Entry:
    """Arrays and metadata that are stored under one key.

    Raises:
        ValueError: an array cannot be stored as it is, or the meta would come back different.
        TypeError: the meta is no JSON.
    """

    arrays: dict[str, NDArray[Any]]
    """C-contiguous, little-endian: float16/32/64, int32/64, uint8/32/64, bool; any shape.
    The one named ``index.faiss`` is float32 (n, d) and becomes a file that FAISS opens."""
    meta: dict[str, Any]
    """JSON with string keys and lists, no tuples, no NaN."""

    def __post_init__(self) -> None:
        for name, array in self.arrays.items():
            kept = array.dtype.str in _DTYPES and array.flags.c_contiguous
            if not kept or (name == INDEX and not _is_index(array.dtype, array.shape)):
                raise ValueError(f"array '{name}' ({array.dtype}) cannot be stored as it is")
        # Else the run that builds an entry would see another value than the runs that load it.
        if json.loads(json.dumps(self.meta, allow_nan=False)) != self.meta:
            raise ValueError("meta does not survive JSON")


def _is_index(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bool:
    return dtype.str == "<f4" and len(shape) == 2


@dataclass(frozen=True)
class EntryInfo:
    """One line of the list of entries."""

    kind: str
    key: str
    """Empty if the manifest cannot be read."""
    bytes: int
    created: str
    """ISO 8601, UTC; empty if the manifest cannot be read."""
    meta: dict[str, Any]
    ok: bool
    """True if the manifest is complete; this says nothing about the other files."""
    name: str
    """The directory's name."""


@dataclass(frozen=True)
class _File:
    """Manifest of one file."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    size: int
    """Size of the array in bytes; the file of an index has a header too."""
    sha256: str


@dataclass(frozen=True)
class _Manifest:
    kind: str
    key: str
    created: str
    meta: dict[str, Any]
    files: tuple[_File, ...]


def directory_name(kind: str, key: str) -> str:
    """Return the name of an entry's directory.  Raises ValueError for a bad kind."""
    if not _KIND.fullmatch(kind):
        raise ValueError("kind: up to 64 of a-z, 0-9, _ and -, a letter first")
    # JSON, because plain concatenation has two readings.
    identity = json.dumps([FORMAT_VERSION, kind, key]).encode("ascii")
    return f"{kind}-{hashlib.sha256(identity).hexdigest()}"


def _frame(body: bytes) -> bytes:
    """Return the manifest file: one JSON document that holds the SHA-256 of its own body's
    bytes.
    """
    return b"".join((_HEAD, hashlib.sha256(body).hexdigest().encode(), _MIDDLE, body, _TAIL))


def write_entry(folder: Path, kind: str, key: str, entry: Entry) -> None:
    """Write all files of an entry, the manifest last.

    Raises:
        OSError: one of them cannot be written.
        ValueError: the manifest would be too long.
    """
    written: list[dict[str, Any]] = []

    for name, array in entry.arrays.items():
        head = header(*array.shape) if name == INDEX else b""
        sha256 = files.write_hashed(folder / _file_name(len(written), name), head, array)
        about = {"dtype": array.dtype.str, "shape": array.shape, "size": array.nbytes}
        written.append({"name": name, **about, "sha256": sha256})
    content = {
        "format": FORMAT_VERSION,
        "kind": kind,
        "key": key,
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "meta": entry.meta,
        "files": written,
    }
    frame = _frame(json.dumps(content, separators=(",", ":"), allow_nan=False).encode("ascii"))
    if len(frame) > _MANIFEST_LIMIT:
        raise ValueError(f"meta is too large: the manifest has {len(frame)} bytes")
    files.write_hashed(folder / _MANIFEST, frame)
    sync_directory(folder)


def inspect(folder: Path, *, thorough: bool) -> tuple[EntryInfo, str | None]:
    """Return a description of an entry, and its problem; read only its manifest if not thorough."""
    m = problem = None
    name = folder.name
    try:
        m = read_manifest(folder)
        if thorough:
            read_entry(folder, m)
    except (OSError, DamagedError) as error:
        problem = files.reason(error)
    size = stored_bytes(folder)
    if m is None:
        return EntryInfo(name[: name.rindex("-")], "", size, "", {}, False, name), problem
    return EntryInfo(m.kind, m.key, size, m.created, m.meta, True, name), problem


def read_manifest(folder: Path) -> _Manifest:
    """Return the manifest of the entry in a directory.

    Raises:
        DamagedError: it is absent, altered, of another format version or of another entry.
        OSError: there is no such directory.
    """
    files.check_directory(folder)
    with files.open_private(folder / _MANIFEST) as (manifest_fd, size):
        if not _BODY_START + len(_TAIL) <= size <= _MANIFEST_LIMIT:
            raise DamagedError(f"{_MANIFEST}: {size} bytes")
        memory = np.empty(size, dtype=np.uint8)
        files.read_hashed(manifest_fd, memory)
    frame = memory.tobytes()
    body = frame[_BODY_START : -len(_TAIL)]
    if frame != _frame(body):
        raise DamagedError(f"{_MANIFEST}: SHA-256 differs")
    manifest = _parse_manifest(body)
    if directory_name(manifest.kind, manifest.key) != folder.name:
        raise DamagedError(f"{_MANIFEST}: of another entry")
    return manifest


def _parse_manifest(body: bytes) -> _Manifest:
    """Return the manifest, every type and size in it checked.

    Raises:
        DamagedError: it is of another format version, or contradicts itself.
    """
    try:
        content = json.loads(body)
        if _typed(content["format"], int) != FORMAT_VERSION:
            raise DamagedError(f"{_MANIFEST}: another format version")
        listed = tuple(_parse_file(about) for about in _typed(content["files"], list))
        if len({file.name for file in listed}) != len(listed):
            raise ValueError("a name twice")
        kind, key = _typed(content["kind"], str), _typed(content["key"], str)
        directory_name(kind, key)  # refuses what is no kind
        created, meta = _typed(content["created"], str), _typed(content["meta"], dict)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise DamagedError(f"{_MANIFEST}: makes no sense") from error
    return _Manifest(kind, key, created, meta, listed)


def _parse_file(about: dict[str, Any]) -> _File:
    name, dtype, sha256 = (_typed(about[k], str) for k in ("name", "dtype", "sha256"))
    shape = tuple(_typed(length, int) for length in _typed(about["shape"], list))
    size = _typed(about["size"], int)
    if dtype not in _DTYPES or min(shape, default=0) < 0:
        raise ValueError("dtype or shape")
    if name == INDEX and not _is_index(np.dtype(dtype), shape):
        raise ValueError("no index")
    if math.prod(shape) * np.dtype(dtype).itemsize != size:
        raise ValueError("size")
    return _File(name, np.dtype(dtype), shape, size, sha256)


_T = TypeVar("_T")


def _typed(value: Any, expected: type[_T]) -> _T:
    if type(value) is not expected:  # not isinstance: True is an int
        raise TypeError(expected.__name__)
    return value


def _file_name(position: int, name: str) -> str:
    """Return a file's name on disk: one of ours, whatever a manifest says."""
    return INDEX if name == INDEX else f"{position}.raw"


def read_entry(folder: Path, manifest: _Manifest, only: Container[str] | None = None) -> Entry:
    """Read and verify the files of an entry.

    Args:
        only: names of arrays; default all.

    Raises:
        DamagedError: one of them is not what the manifest says.
    """
    arrays: dict[str, NDArray[Any]] = {}
    for position, file in enumerate(manifest.files):
        if only is None or file.name in only:
            arrays[file.name] = _read_file(folder / _file_name(position, file.name), file)
    return Entry(arrays, manifest.meta)


def _read_file(path: Path, file: _File) -> NDArray[Any]:
    head = HEADER if file.name == INDEX else 0
    with files.open_private(path) as (file_fd, size):
        # Before memory is taken: a manifest must not promise more than there is.
        expected = head + file.size
        if size != expected:
            raise DamagedError(f"{path.name}: {size} bytes, expected {expected}")
        raw = np.empty(_ALIGNED + expected, dtype=np.uint8)
        # The vectors, not the header before them, stand where processors like to read.
        begin = -(raw.__array_interface__["data"][0] + head) % _ALIGNED
        memory = raw[begin : begin + expected]
        if files.read_hashed(file_fd, memory) != file.sha256:
            raise DamagedError(f"{path.name}: SHA-256 differs")
    try:
        if head and memory[:head].tobytes() != header(*file.shape):
            raise DamagedError(f"{path.name}: another shape")
        return memory[head:].view(file.dtype).reshape(file.shape)
    except (ValueError, OverflowError, struct.error) as error:  # too many or too long dimensions
        raise DamagedError(f"{_MANIFEST}: impossible shape") from error
