"""The on-disk store of vectors and tables: entries of arrays, string lists and JSON.

Knows directories, digests and atomic writing.  Must not know mechanisms or embeddings.

An entry is a directory ``<root>/v1/<kind>-<sha256 of version, kind, key>/`` (0700, files 0600)::

    0.raw 1.raw ...   the bytes of one array each, C order, little-endian; a list of strings is
                      an array too: uint64 count and lengths, then the text as UTF-8
    manifest.json     {"sha256":"<of the body>","body":{format, kind, key, created, meta, files}}:
                      name, role, dtype, shape, size and SHA-256 of every file; written last

It is written under a temporary name, synced and renamed, so it is complete or absent.  Readers take
no lock; every load verifies owner, type, size and SHA-256 of what it hands out, and anything that
does not fit counts as absent.  The files are read, not mapped: a truncated map kills the process.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpsan import cache_files as files
from dpsan.cache_files import DamagedError
from dpsan.errors import CacheError

__all__ = ["FORMAT_VERSION", "Allocate", "Entry", "EntryInfo", "Store"]

FORMAT_VERSION: Final = 1

Allocate: TypeAlias = Callable[[str, "np.dtype[Any]", tuple[int, ...]], NDArray[Any] | None]
"""Gives the memory for an array by name, dtype and shape; None leaves it to the store."""

_DTYPES: Final = frozenset(("<f2", "<f4", "<f8", "<i4", "<i8", "|u1", "<u4", "<u8", "|b1"))
_KIND: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}-[0-9a-f]{64}")
_LOCK_SUFFIX: Final = ".lock"
_MANIFEST: Final = "manifest.json"
_MANIFEST_LIMIT: Final = 16 << 20
_HEAD: Final = b'{"sha256":"'
_MIDDLE: Final = b'","body":'
_TAIL: Final = b"}\n"
_BODY_START: Final = len(_HEAD) + 64 + len(_MIDDLE)
_WAIT_BEFORE_NOTE: Final = 2.0  # seconds


@dataclass(frozen=True, eq=False)
class Entry:
    """What is stored together under one key.

    Raises:
        ValueError: an array cannot be stored as it is, or the meta would come back different.
        TypeError: the meta is no JSON.
    """

    arrays: dict[str, NDArray[Any]]
    """C-contiguous, little-endian: float16/32/64, int32/64, uint8/32/64, bool; any shape."""
    meta: dict[str, Any]
    """JSON with string keys and lists, no tuples, no NaN."""
    strings: dict[str, list[str]] = field(default_factory=dict)
    """Any strings of any length, lone surrogates included."""

    def __post_init__(self) -> None:
        for name, array in self.arrays.items():
            if array.dtype.str not in _DTYPES or not array.flags.c_contiguous:
                raise ValueError(f"array '{name}' ({array.dtype}) cannot be stored as it is")
        # Else the run that builds an entry would see another value than the runs that load it.
        if json.loads(json.dumps(self.meta, allow_nan=False)) != self.meta:
            raise ValueError("meta does not survive JSON")


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
    """Whether the manifest is whole and in its place; says nothing of the other files."""
    name: str
    """The directory's name."""


@dataclass(frozen=True)
class _File:
    """What a manifest says of one file."""

    name: str
    role: str
    """``array`` or ``strings``."""
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    size: int
    sha256: str


@dataclass(frozen=True)
class _Manifest:
    kind: str
    key: str
    created: str
    meta: dict[str, Any]
    files: tuple[_File, ...]


class Store:
    """A directory of entries, each under a kind and a key.

    Args:
        root: the directory, created 0700 when first needed; default ``DPSAN_CACHE_DIR``, else the
            user's cache directory.
        note: told in one line what went wrong with the cache and did not stop the run.
    """

    def __init__(self, root: Path | None = None, note: Callable[[str], None] | None = None) -> None:
        self.root: Final = (root or _default_root()).absolute()
        self._path: Final = self.root / f"v{FORMAT_VERSION}"
        self._note: Final = note or (lambda _line: None)

    def load(self, kind: str, key: str, *, allocate: Allocate | None = None) -> Entry | None:
        """The entry, verified, or None if there is none; a damaged one is noted and counts as none.

        Args:
            kind: a short lower-case name, part of the directory's name.
            key: all that the entry depends on; it is stored, so no input text.
            allocate: gives the memory of an array.  It may be called again for the same array, and
                its memory holds garbage unless an entry is returned.

        Raises:
            ValueError: a bad kind, or ``allocate`` gave memory that does not fit.
        """
        try:
            entry, problem = self._look(kind, key, allocate)
        except CacheError as error:
            self._note(f"{error}; going on without it")
            return None
        if problem:
            self._note(problem)
        return entry

    def save(self, kind: str, key: str, entry: Entry) -> None:
        """Write an entry, complete or not at all, in place of one with the same kind and key.

        Raises:
            CacheError: it cannot be written.
            ValueError: a bad kind, or more meta than a manifest holds.
        """
        name = _directory_name(kind, key)
        with self._shelf("written", create=True) as shelf:
            files.sweep(shelf)
            with files.temporary_directory(shelf) as (temporary, fd):
                _write_entry(fd, kind, key, entry)
                files.move_into_place(shelf, temporary, name)
            files.sync_directory(shelf)

    def get(
        self,
        kind: str,
        key: str,
        build: Callable[[], Entry],
        *,
        allocate: Allocate | None = None,
    ) -> Entry:
        """The stored entry, else the built one, which is stored; concurrent callers build once.

        A cache that cannot be read or written is noted in one line and never fails the run.

        Args:
            kind: as for :meth:`load`.
            key: as for :meth:`load`.
            build: called at most once; what it raises is passed on.
            allocate: as for :meth:`load`; not used for an entry that is built.

        Raises:
            ValueError: as for :meth:`load` and :meth:`save`.
        """
        try:
            entry, _ = self._look(kind, key, allocate)
            if entry is not None:
                return entry
            with self._shelf("written", create=True):
                pass  # the lock lives in it
        except CacheError as error:
            self._note(f"{error}; going on without it")
            return build()
        with self._turn(kind, key):
            # Whoever had the lock before us has stored the entry by now.
            entry = self.load(kind, key, allocate=allocate)
            if entry is None:
                entry = build()
                try:
                    self.save(kind, key, entry)
                except CacheError as error:
                    self._note(f"{error}; going on without it")
            return entry

    def entries(self) -> list[EntryInfo]:
        """All entries by name; reads manifests only.

        Raises:
            CacheError: the directory is there but cannot be used.
        """
        return [info for info, _ in self._survey(thorough=False)]

    def check(self) -> list[tuple[EntryInfo, str | None]]:
        """All entries by name, each read and verified as a load would, with its problem or None.

        Raises:
            CacheError: the directory is there but cannot be used.
        """
        return self._survey(thorough=True)

    def clear(self, prefix: str = "", *, kind: str | None = None) -> tuple[int, int]:
        """Remove entries, and all that is of no use: damaged entries, temporaries, free locks.

        Args:
            prefix: only entries whose key begins with it.
            kind: only entries of this kind.

        Returns:
            Number of entries removed, and bytes freed in all.

        Raises:
            CacheError: the directory is there but cannot be used.
        """
        count = freed = 0
        chosen = [
            info
            for info in self.entries()
            if not info.ok or (info.key.startswith(prefix) and kind in (None, info.kind))
        ]
        if not os.path.lexists(self._path):
            return count, freed
        with self._shelf("cleared") as shelf:
            for info in chosen:
                with suppress(FileNotFoundError):  # someone else clears too
                    files.discard(shelf, info.name)
                    count += 1
                    freed += info.bytes
            freed += files.sweep(shelf, young_too=True)
            for name in files.names(shelf):
                if name.endswith(_LOCK_SUFFIX):
                    _remove_lock(self._path / name)
        return count, freed

    @contextmanager
    def _shelf(self, what_for: str, *, create: bool = False) -> Iterator[int]:
        """Descriptor of the directory of this format version; turns the body's errors into ours.

        Raises:
            CacheError: the directory, or something done in it, failed.
        """
        try:
            if create:
                files.make_private(self._path)
            with files.open_directory(self._path) as fd:
                yield fd
        except (OSError, DamagedError, MemoryError) as error:
            why = files.reason(error)
            raise CacheError(f"cache {self._path} cannot be {what_for}: {why}") from error

    @contextmanager
    def _turn(self, kind: str, key: str) -> Iterator[None]:
        """Wait until nobody else builds this entry; where locks do not work, do not wait."""
        from filelock import FileLock, Timeout

        name = _directory_name(kind, key)
        lock = FileLock(self._path / f"{name}{_LOCK_SUFFIX}", mode=0o600)
        # Without the lock two processes may both build: double work, the same result.
        with suppress(OSError, NotImplementedError):
            try:
                lock.acquire(timeout=_WAIT_BEFORE_NOTE)
            except Timeout:
                self._note(f"waiting for another process that builds cache entry {_short(name)}")
                lock.acquire()
        try:
            yield
        finally:
            with suppress(OSError):
                lock.release()

    def _look(self, kind: str, key: str, allocate: Allocate | None) -> tuple[Entry | None, str]:
        """The entry if there is a good one, and a line about it if there is a bad one.

        Raises:
            CacheError: the directory is there but cannot be used.
            ValueError: as for :meth:`load`.
        """
        name = _directory_name(kind, key)
        if not os.path.lexists(self._path):
            return None, ""
        problem = ""
        with self._shelf("read") as shelf:
            for _ in range(4):
                before = files.identity(shelf, name)
                if before is None:
                    return None, ""
                try:
                    with files.open_directory(name, shelf) as fd:
                        manifest = _read_manifest(fd, name)
                        return _read_entry(fd, manifest, allocate), ""
                except (OSError, DamagedError) as error:
                    problem = files.reason(error)
                # If it was replaced or cleared meanwhile, we saw half of each: look again.
                if files.identity(shelf, name) == before:
                    break
        return None, f"cache entry {_short(name)} damaged ({problem}), rebuilding"

    def _survey(self, *, thorough: bool) -> list[tuple[EntryInfo, str | None]]:
        if not os.path.lexists(self._path):
            return []
        with self._shelf("read") as shelf:
            return [
                _inspect(shelf, name, thorough=thorough)
                for name in files.names(shelf)
                if _NAME.fullmatch(name)
            ]


def _default_root() -> Path:
    if chosen := os.environ.get("DPSAN_CACHE_DIR"):
        return Path(chosen)
    import platformdirs

    return platformdirs.user_cache_path("dpsan")


def _directory_name(kind: str, key: str) -> str:
    if not _KIND.fullmatch(kind):
        raise ValueError("kind: up to 64 of a-z, 0-9, _ and -, a letter first")
    # JSON, because plain concatenation has two readings.
    identity = json.dumps([FORMAT_VERSION, kind, key]).encode("ascii")
    return f"{kind}-{hashlib.sha256(identity).hexdigest()}"


def _short(name: str) -> str:
    """A directory name for messages."""
    return name[: name.rindex("-") + 13]


def _remove_lock(path: Path) -> None:
    from filelock import FileLock

    # Timeout is an OSError: somebody holds it and builds.
    with suppress(OSError, NotImplementedError), FileLock(path, timeout=0):
        path.unlink()


# --- one entry on disk -----------------------------------------------------------------------


def _frame(body: bytes) -> bytes:
    """The manifest file: one JSON document that holds the SHA-256 of its own body's bytes."""
    return b"".join((_HEAD, hashlib.sha256(body).hexdigest().encode(), _MIDDLE, body, _TAIL))


def _write_entry(fd: int, kind: str, key: str, entry: Entry) -> None:
    """Write all files of an entry, the manifest last.

    Raises:
        OSError: one of them cannot be written.
        ValueError: the manifest would be too long.
    """
    written: list[dict[str, Any]] = []

    def write(name: str, role: str, data: NDArray[Any]) -> None:
        sha256 = files.write_hashed(fd, _raw(len(written)), data)
        about = {"dtype": data.dtype.str, "shape": data.shape, "size": data.nbytes}
        written.append({"name": name, "role": role, **about, "sha256": sha256})

    for name, array in entry.arrays.items():
        write(name, "array", array)
    for name, strings in entry.strings.items():
        write(name, "strings", files.encode_strings(strings))
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
    files.write_hashed(fd, _MANIFEST, np.frombuffer(frame, dtype=np.uint8))
    files.sync_directory(fd)


def _inspect(shelf: int, name: str, *, thorough: bool) -> tuple[EntryInfo, str | None]:
    """What is known of an entry, and its problem; without ``thorough``, of its manifest only."""
    manifest = problem = None
    try:
        with files.open_directory(name, shelf) as fd:
            manifest = _read_manifest(fd, name)
            if thorough:
                _read_entry(fd, manifest, None)
    except (OSError, DamagedError) as error:
        problem = files.reason(error)
    size = files.file_bytes(shelf, name)
    if manifest is None:
        return EntryInfo(name[: name.rindex("-")], "", size, "", {}, False, name), problem
    m = manifest
    return EntryInfo(m.kind, m.key, size, m.created, m.meta, True, name), problem


def _read_manifest(fd: int, name: str) -> _Manifest:
    """The manifest in the directory of this name.

    Raises:
        DamagedError: it is absent, altered, of another format version or of another entry.
    """
    with files.open_file(_MANIFEST, fd) as (manifest_fd, size):
        if not _BODY_START + len(_TAIL) <= size <= _MANIFEST_LIMIT:
            raise DamagedError(f"{_MANIFEST}: {size} bytes")
        memory = np.empty(size, dtype=np.uint8)
        files.read_hashed(manifest_fd, memory)
    frame = memory.tobytes()
    body = frame[_BODY_START : -len(_TAIL)]
    if frame != _frame(body):
        raise DamagedError(f"{_MANIFEST}: SHA-256 differs")
    manifest = _parse_manifest(body)
    if _directory_name(manifest.kind, manifest.key) != name:
        raise DamagedError(f"{_MANIFEST}: of another entry")
    return manifest


def _parse_manifest(body: bytes) -> _Manifest:
    """The manifest, every type and size in it checked.

    Raises:
        DamagedError: it is of another format version, or contradicts itself.
    """
    try:
        content = json.loads(body)
        if _typed(content["format"], int) != FORMAT_VERSION:
            raise DamagedError(f"{_MANIFEST}: another format version")
        listed = tuple(_parse_file(about) for about in _typed(content["files"], list))
        if len({(file.role, file.name) for file in listed}) != len(listed):
            raise ValueError("a name twice")
        kind, key = _typed(content["kind"], str), _typed(content["key"], str)
        _directory_name(kind, key)  # refuses what is no kind
        created, meta = _typed(content["created"], str), _typed(content["meta"], dict)
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise DamagedError(f"{_MANIFEST}: makes no sense") from error
    return _Manifest(kind, key, created, meta, listed)


def _parse_file(about: dict[str, Any]) -> _File:
    name, role, dtype, sha256 = (_typed(about[k], str) for k in ("name", "role", "dtype", "sha256"))
    shape = tuple(_typed(length, int) for length in _typed(about["shape"], list))
    size = _typed(about["size"], int)
    if role not in ("array", "strings") or dtype not in _DTYPES or min(shape, default=0) < 0:
        raise ValueError("role, dtype or shape")
    if role == "strings" and (dtype != "|u1" or len(shape) != 1):
        raise ValueError("strings are bytes")
    if math.prod(shape) * np.dtype(dtype).itemsize != size:
        raise ValueError("size")
    return _File(name, role, np.dtype(dtype), shape, size, sha256)


_T = TypeVar("_T")


def _typed(value: Any, expected: type[_T]) -> _T:
    if type(value) is not expected:  # not isinstance: True is an int
        raise TypeError(expected.__name__)
    return value


def _raw(position: int) -> str:
    """A file's name on disk: never taken from a manifest."""
    return f"{position}.raw"


def _read_entry(fd: int, manifest: _Manifest, allocate: Allocate | None) -> Entry:
    """Read and verify all files of an entry.

    Raises:
        DamagedError: one of them is not what the manifest says.
        ValueError: ``allocate`` gave memory that does not fit.
    """
    arrays: dict[str, NDArray[Any]] = {}
    strings: dict[str, list[str]] = {}
    for position, file in enumerate(manifest.files):
        raw = _raw(position)
        with files.open_file(raw, fd) as (file_fd, size):
            # Before memory is taken: a manifest must not promise more than there is.
            if size != file.size:
                raise DamagedError(f"{raw}: {size} bytes, expected {file.size}")
            memory = _memory(file, allocate)
            if files.read_hashed(file_fd, memory.reshape(-1).view(np.uint8)) != file.sha256:
                raise DamagedError(f"{raw}: SHA-256 differs")
        if file.role == "array":
            arrays[file.name] = memory
        else:
            strings[file.name] = files.decode_strings(memory)
    return Entry(arrays, manifest.meta, strings)


def _memory(file: _File, allocate: Allocate | None) -> NDArray[Any]:
    """Memory for a file: the caller's if the file is an array and the caller gives some."""
    given = None
    if allocate is not None and file.role == "array":
        given = allocate(file.name, file.dtype, file.shape)
    if given is None:
        try:
            return np.empty(file.shape, dtype=file.dtype)
        except (ValueError, OverflowError) as error:  # too many or too long dimensions
            raise DamagedError(f"{_MANIFEST}: impossible shape") from error
    like = (given.dtype, given.shape, given.flags.c_contiguous, given.flags.writeable)
    if like != (file.dtype, file.shape, True, True):
        raise ValueError(f"the memory given for array '{file.name}' does not fit it")
    return given
