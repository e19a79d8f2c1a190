"""The on-disk store of vectors and tables: entries of arrays and JSON, one file each.

An entry is a file ``<root>/v5/<kind>-<sha256 of version, kind, key>`` (0600 in a directory 0700)::

    entry  = size end head array* sha256
    size   = of the file; end = where the head ends.  8 bytes each, little-endian
    head   = JSON {"kind", "key", "meta", "arrays": {NAME: [TYPE, SHAPE]}}, and spaces
    array  = its bytes in C order, and zeros: each begins at a multiple of 64
    sha256 = of all before it

It is written under a temporary name, synced and renamed, so it is complete or absent.  Readers take
no lock; every load verifies owner, type, size and SHA-256, and anything that does not fit counts as
absent.  The file is read, not mapped: a truncated map kills the process.
"""

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.errors import CacheError, OutputError
from dpsan.files import private_files as files
from dpsan.files.atomic_files import AtomicFile
from dpsan.files.private_files import DamagedError
from dpsan.files.source import remove, sweep

FORMAT_VERSION: Final = 5
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,63}")
_ALIGNED: Final = 64
_SIZES: Final = 16
_TAIL: Final = 32
_LOCK_SUFFIX: Final = ".lock"
_WAIT_BEFORE_NOTE: Final = 2.0  # seconds


@dataclass(frozen=True, eq=False)
class Entry:
    """Arrays and metadata that are stored under one key."""

    arrays: dict[str, NDArray[Any]]
    """Numbers of any type and shape."""
    meta: dict[str, Any]
    """JSON with string keys and lists, no tuples, no NaN."""


def file_name(kind: str, key: str) -> str:
    """Return the name of an entry's file.  Raises ValueError for a bad kind."""
    if not _NAME.fullmatch(kind):
        raise ValueError("kind: up to 64 of a-z, 0-9, _ and -, a letter first")
    # JSON, because plain concatenation has two readings.
    identity = json.dumps([FORMAT_VERSION, kind, key]).encode("ascii")
    return f"{kind}-{hashlib.sha256(identity).hexdigest()}"


def write_entry(sink: AtomicFile, kind: str, key: str, entry: Entry) -> None:
    """Write an entry.  Raises OutputError: it cannot be written."""
    listed = {name: (array.dtype.str, array.shape) for name, array in entry.arrays.items()}
    content = {"kind": kind, "key": key, "meta": entry.meta, "arrays": listed}
    head = json.dumps(content, separators=(",", ":"), allow_nan=False).encode("ascii")
    head += b" " * (-(_SIZES + len(head)) % _ALIGNED)
    pieces: list[Any] = [head]
    for array in entry.arrays.values():
        raw = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        pieces += raw.data, bytes(-len(raw) % _ALIGNED)
    size, end = _SIZES + sum(map(len, pieces)) + _TAIL, _SIZES + len(head)
    sink.write(size.to_bytes(8, "little") + end.to_bytes(8, "little"))
    for piece in pieces:
        sink.write(piece)
    sink.write(bytes.fromhex(sink.sha256))


def read_entry(path: Path) -> Entry:
    """Read and verify an entry.

    Raises:
        DamagedError: the file is not what was written.
        OSError: it cannot be read.
    """
    with files.open_private(path) as (descriptor, size):
        # Before memory is taken: no more than was written.
        if size < _SIZES + _TAIL or int.from_bytes(os.pread(descriptor, 8, 0), "little") != size:
            raise DamagedError(f"{size} bytes")
        space = np.empty(_ALIGNED + size - _TAIL, dtype=np.uint8)
        start = -space.ctypes.data % _ALIGNED
        memory = space[start : start + size - _TAIL]
        if files.read_hashed(descriptor, memory.data) != os.read(descriptor, _TAIL).hex():
            raise DamagedError("its SHA-256 differs")
    try:
        at = int(memory[8:_SIZES].view("<u8")[0])
        content = json.loads(memory[_SIZES:at].tobytes())
        if file_name(content["kind"], content["key"]) != path.name:
            raise DamagedError("of another entry")
        arrays: dict[str, NDArray[Any]] = {}
        for name, (dtype, shape) in content["arrays"].items():
            end = at + math.prod(shape) * np.dtype(dtype).itemsize
            arrays[name] = memory[at:end].view(dtype).reshape(shape)
            at = end + -end % _ALIGNED
        return Entry(arrays, content["meta"])
    except (LookupError, TypeError, ValueError) as error:
        raise DamagedError("its head makes no sense") from error


class Store:
    """A directory of entries, each under a kind and a key.

    Args:
        root: the directory, created 0700 when first needed; default ``DPSAN_CACHE_DIR``, else the
            user's cache directory.
        note: told in one line what went wrong with the cache and did not stop the run.
    """

    def __init__(self, root: Path | None = None, note: Callable[[str], None] | None = None) -> None:
        if root is None:
            import platformdirs

            root = Path(os.environ.get("DPSAN_CACHE_DIR") or platformdirs.user_cache_path("dpsan"))
        self.root: Final = root.absolute()
        self._path: Final = self.root / f"v{FORMAT_VERSION}"
        self._note: Final = note or (lambda _line: None)

    def load(self, kind: str, key: str) -> Entry | None:
        """Return the entry, verified, or None if there is none; a damaged one is noted and counts
        as none.

        Args:
            kind: a short lower-case name, part of the file's name.
            key: all that the entry depends on; it is stored, so no input text.

        Raises:
            ValueError: a bad kind.
        """
        try:
            entry, problem = self._look(kind, key)
        except CacheError as error:
            entry, problem = None, f"{error}; going on without it"
        if problem:
            self._note(problem)
        return entry

    def save(self, kind: str, key: str, entry: Entry) -> None:
        """Write an entry, complete or not at all, in place of one with the same kind and key.

        Raises:
            CacheError: it cannot be written.
            ValueError: a bad kind.
        """
        path = self._path / file_name(kind, key)
        with self._shelf("written", create=True):
            sweep(path, again=True)
            if not path.is_file():
                remove(path)  # whatever has the name
            sink = AtomicFile(path, force=True, private=True)
            try:
                write_entry(sink, kind, key, entry)
                sink.commit()
            finally:
                sink.discard()

    def get(self, kind: str, key: str, build: Callable[[], Entry]) -> Entry:
        """Return the stored entry, else the built one, which is stored; concurrent callers build
        once.

        A cache that cannot be read or written is noted in one line and never fails the run.

        Args:
            build: called at most once; what it raises is passed on.

        Raises:
            ValueError: as for :meth:`load` and :meth:`save`.
        """
        try:
            entry, _ = self._look(kind, key)
            if entry is not None:
                return entry
            with self._shelf("written", create=True):
                pass  # the lock lives in it
        except CacheError as error:
            self._note(f"{error}; going on without it")
            return build()
        with self._turn(kind, key):
            # Whoever had the lock before us has stored the entry by now.
            entry = self.load(kind, key)
            if entry is None:
                entry = build()
                try:
                    self.save(kind, key, entry)
                except CacheError as error:
                    self._note(f"{error}; going on without it")
            return entry

    @contextmanager
    def _shelf(self, what_for: str, *, create: bool = False) -> Iterator[Path]:
        """Yield the directory of this format version; turn the body's errors into ours.

        Raises:
            CacheError: the directory, or something done in it, failed.
        """
        try:
            if create:
                files.make_private(self._path)
            files.check_directory(self._path)
            yield self._path
        except (OSError, OutputError, DamagedError, MemoryError) as error:
            # An output's error names the file; the directory is named here.
            if isinstance(error, OutputError):
                why = str(error).rpartition(": ")[2]
            else:
                why = files.reason(error)
            raise CacheError(f"cache {self._path} cannot be {what_for}: {why}") from error

    @contextmanager
    def _turn(self, kind: str, key: str) -> Iterator[None]:
        """Wait until nobody else builds this entry; where locks do not work, do not wait."""
        from filelock import FileLock, Timeout

        name = file_name(kind, key)
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

    def _look(self, kind: str, key: str) -> tuple[Entry | None, str]:
        """Return the entry if there is a good one, and a line about it if there is a bad one.

        Raises:
            CacheError: the directory is there but cannot be used.
            ValueError: as for :meth:`load`.
        """
        path = self._path / file_name(kind, key)
        if not os.path.lexists(self._path):
            return None, ""
        with self._shelf("read"):
            try:
                return read_entry(path), ""
            except (OSError, DamagedError) as error:
                if not os.path.lexists(path):
                    return None, ""
                problem = files.reason(error)
        return None, f"cache entry {_short(path.name)} damaged ({problem}), rebuilding"


def _short(name: str) -> str:
    """Return a file's name for messages."""
    return name[: name.rindex("-") + 13]
