"""One entry of the cache: arrays and JSON in one file, written and verified.

::

    entry    = array* manifest sha256 length
    array    = its bytes, C order, little-endian
    manifest = {"format", "kind", "key", "meta",
                "arrays": {NAME: [TYPE, SHAPE, SHA-256 (hex) of its bytes]}}
    sha256   = of the manifest, 32 bytes
    length   = of the manifest, 8 bytes, little-endian
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.files import private_files as files
from dpsan.files.atomic_files import AtomicFile
from dpsan.files.private_files import DamagedError

FORMAT_VERSION: Final = 4
_DTYPES: Final = frozenset(("<f2", "<f4", "<f8", "<i4", "<i8", "|u1", "<u4", "<u8", "|b1"))
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_LENGTH: Final = 8
_TAIL: Final = 32 + _LENGTH
_LONGEST: Final = 16 << 20
"""Bytes of a manifest, at most."""
_ALIGNED: Final = 64


@dataclass(frozen=True, eq=False)
class Entry:
    """Arrays and metadata that are stored under one key.

    Raises:
        ValueError: an array cannot be stored as it is, or the meta would come back different.
        TypeError: the meta is no JSON.
    """

    arrays: dict[str, NDArray[Any]]
    """C-contiguous, little-endian: float16/32/64, int32/64, uint8/32/64, bool; any shape."""
    meta: dict[str, Any]
    """JSON with string keys and lists, no tuples, no NaN."""

    def __post_init__(self) -> None:
        for name, array in self.arrays.items():
            if array.dtype.str not in _DTYPES or not array.flags.c_contiguous:
                raise ValueError(f"array '{name}' ({array.dtype}) cannot be stored as it is")
        # Else the run that builds an entry would see another value than the runs that load it.
        if json.loads(json.dumps(self.meta, allow_nan=False)) != self.meta:
            raise ValueError("meta does not survive JSON")


def file_name(kind: str, key: str) -> str:
    """Return the name of an entry's file.  Raises ValueError for a bad kind."""
    if not _NAME.fullmatch(kind):
        raise ValueError("kind: up to 64 of a-z, 0-9, _ and -, a letter first")
    # JSON, because plain concatenation has two readings.
    identity = json.dumps([FORMAT_VERSION, kind, key]).encode("ascii")
    return f"{kind}-{hashlib.sha256(identity).hexdigest()}"


def write_entry(sink: AtomicFile, kind: str, key: str, entry: Entry) -> None:
    """Write an entry, the manifest last.

    Raises:
        OutputError: it cannot be written.
        ValueError: the manifest would be too long.
    """
    listed: dict[str, tuple[str, tuple[int, ...], str]] = {}
    for name, array in entry.arrays.items():
        data: Any = array.reshape(-1).view(np.uint8).data
        sink.write(data)
        listed[name] = array.dtype.str, array.shape, hashlib.sha256(data).hexdigest()
    content = {
        "format": FORMAT_VERSION,
        "kind": kind,
        "key": key,
        "meta": entry.meta,
        "arrays": listed,
    }
    manifest = json.dumps(content, separators=(",", ":"), allow_nan=False).encode("ascii")
    if len(manifest) > _LONGEST:
        raise ValueError(f"meta is too large: the manifest has {len(manifest)} bytes")
    sink.write(manifest + _tail(manifest))


def _tail(manifest: bytes) -> bytes:
    return hashlib.sha256(manifest).digest() + len(manifest).to_bytes(_LENGTH, "little")


def read_entry(path: Path, only: Container[str] | None = None) -> Entry:
    """Read and verify an entry.

    Args:
        only: names of arrays; default all.

    Raises:
        DamagedError: the file or what is read of it is not what was written.
    """
    with files.open_private(path) as (descriptor, size):
        meta, listed = _manifest(descriptor, size, path.name)
        arrays: dict[str, NDArray[Any]] = {}
        end = 0
        for name, (dtype, shape, sha256) in listed.items():
            begin, end = end, end + _size(dtype, shape)
            if only is not None and name not in only:
                continue
            memory, digest = _bytes(descriptor, begin, end - begin)
            if digest != sha256:
                raise DamagedError("SHA-256 of an array differs")
            try:
                arrays[name] = memory.view(dtype).reshape(shape)
            except (ValueError, OverflowError) as error:  # too many or too long dimensions
                raise DamagedError("impossible shape") from error
    return Entry(arrays, meta)


def _size(dtype: str, shape: Sequence[int]) -> int:
    """Return the bytes of an array."""
    return math.prod(shape) * np.dtype(dtype).itemsize


def _manifest(
    descriptor: int, size: int, name: str
) -> tuple[dict[str, Any], dict[str, tuple[str, list[int], str]]]:
    """Return meta and arrays of the manifest of a file, every type and size in it checked."""
    if size < _TAIL:
        raise DamagedError(f"{size} bytes")
    tail = _bytes(descriptor, size - _TAIL, _TAIL)[0].tobytes()
    end = size - _TAIL - int.from_bytes(tail[-_LENGTH:], "little")
    if end < 0 or size - _TAIL - end > _LONGEST:
        raise DamagedError("no manifest")
    body = _bytes(descriptor, end, size - _TAIL - end)[0].tobytes()
    if tail != _tail(body):
        raise DamagedError("SHA-256 of the manifest differs")
    try:
        content = json.loads(body)
        version, kind, key = (content[k] for k in ("format", "kind", "key"))
        if version != FORMAT_VERSION or file_name(kind, key) != name:
            raise DamagedError("of another entry")
        meta, listed = {**content["meta"]}, {**content["arrays"]}
        at = 0
        for dtype, shape, _ in listed.values():
            if dtype not in _DTYPES or any(type(n) is not int or n < 0 for n in shape):
                raise ValueError("dtype or shape")
            at += _size(dtype, shape)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise DamagedError("the manifest makes no sense") from error
    # Before memory is taken: a manifest must not promise more than there is.
    if at != end:
        raise DamagedError(f"{end} bytes of arrays, expected {at}")
    return meta, listed


def _bytes(descriptor: int, begin: int, size: int) -> tuple[NDArray[np.uint8], str]:
    """Return bytes of a file where processors like to read, and their SHA-256."""
    raw = np.empty(_ALIGNED + size, dtype=np.uint8)
    start = -raw.ctypes.data % _ALIGNED
    memory = raw[start : start + size]
    os.lseek(descriptor, begin, os.SEEK_SET)
    return memory, files.read_hashed(descriptor, memory)
