"""``.dpsan-request``: with which options the outputs below a directory were made.

Each run with ``-O`` appends one line of JSON: epsilon, and a keyed digest of all options that
decide the outputs.  ``--resume`` goes on only where all lines have its own digest.  The key lies in
the user's cache, so nobody else can find a word list or a seed by trying digests.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import orjson

from dpsan.errors import CacheError, OutputError, UsageError, reason
from dpsan.files.atomic_files import AtomicFile, append_synced
from dpsan.files.final_name import sync_directory
from dpsan.files.private_files import make_private
from dpsan.files.source import open_regular
from dpsan.privacy.randomness import KEY_BYTES, new_key

NAME: Final = ".dpsan-request"
_KEY: Final = "request.key"
_MOST: Final = 1 << 20
"""Bytes of a file that is read: some 8,000 runs."""
_ELSEWHERE: Final = "-O another directory begins anew"


class RequestFile:
    """The requests of the runs that wrote below a directory.

    Args:
        directory: of the outputs.
        cache: directory that holds the key, which is made if need be.
        epsilon: of this run.
        values: all that decides the bytes of an output, by option.

    Raises:
        CacheError: the key cannot be read or made.
    """

    def __init__(
        self, directory: Path, cache: Path, epsilon: float, values: Mapping[str, object]
    ) -> None:
        self._path, self._epsilon = directory / NAME, epsilon
        key = _key(cache)
        payload = orjson.dumps({name: repr(value) for name, value in sorted(values.items())})
        self._digest = hmac.new(key, payload, hashlib.sha256).hexdigest()
        self._key_id = hashlib.sha256(key).hexdigest()[:16]

    def check(self, outputs: Iterable[Path]) -> None:
        """Refuse to go on with the outputs of another request.

        Args:
            outputs: files that this run would write.

        Raises:
            UsageError: some are there, and were or may have been made with other options.
        """
        if not any(map(os.path.lexists, outputs)):
            return
        directory = self._path.parent
        rows = self._rows()
        if not rows:
            what = f"--resume: {directory} holds outputs but no {NAME} that says how they were made"
            raise UsageError(what, _ELSEWHERE)
        for row in rows:
            held = f"--resume: {directory} holds outputs of epsilon {row['epsilon']:g}"
            if row["epsilon"] != self._epsilon:
                what = f"{held}, this run has epsilon {self._epsilon:g}"
                raise UsageError(what, f"go on with the first epsilon, or {_ELSEWHERE}")
            if row.get("key") != self._key_id:
                what = f"--resume: {self._path} was written with the key of another cache"
                raise UsageError(what, f"DPSAN_CACHE_DIR names that cache, or {_ELSEWHERE}")
            if not hmac.compare_digest(str(row.get("request")), self._digest):
                run = f"as of this run (epsilon {self._epsilon:g})"
                what = f"{held}, {run}, that were made with other options"
                raise UsageError(what, f"go on with the first run's options, or {_ELSEWHERE}")

    def append(self) -> None:
        """Add the line of this run, on disk.  Raises OutputError."""
        row = {"epsilon": self._epsilon, "key": self._key_id, "request": self._digest}
        line = orjson.dumps(row) + b"\n"
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if not _create(self._path, line):
                append_synced(self._path, line)
        except OSError as error:
            raise OutputError(f"{self._path}: cannot write: {reason(error)}") from None

    def _rows(self) -> list[dict[str, object]]:
        """The lines of all runs.  Raises UsageError: the file cannot be read, or is damaged."""
        try:
            data = _read(self._path, _MOST)
        except FileNotFoundError:
            return []
        except OSError as error:
            what = f"--resume: {self._path}: cannot read: {reason(error)}"
            raise UsageError(what, _ELSEWHERE) from None
        rows = []
        for line, raw in enumerate(data.splitlines(), start=1):
            row = None
            with suppress(orjson.JSONDecodeError):
                row = orjson.loads(raw)
            if type(row) is not dict or type(row.get("epsilon")) is not float:
                raise UsageError(f"--resume: {self._path}:{line}: damaged", _ELSEWHERE)
            rows.append(row)
        return rows


def _create(path: Path, data: bytes) -> bool:
    """Make a private file, complete or not at all; return False if there is one.

    Raises:
        OSError, OutputError: it cannot be made, or its name cannot be made durable.
    """
    if os.path.lexists(path):
        return False
    sink = AtomicFile(path, private=True)
    try:
        sink.write(data)
        sink.seal()
        sink.sync()
        try:
            sink.publish()
        except OutputError:
            if os.path.lexists(path):  # another process was faster
                return False
            raise
        sync_directory(path.parent)
    finally:
        sink.discard()
    return True


def _read(path: Path, most: int) -> bytes:
    """Return the first bytes of a regular file.  Raises OSError."""
    with os.fdopen(open_regular(path, follow=False), "rb") as file:
        return file.read(most)


def _key(cache: Path) -> bytes:
    """Return the key of a cache, made by whoever needs it first.  Raises CacheError."""
    path = cache / _KEY
    try:
        with suppress(FileNotFoundError):
            return _checked(path)
        make_private(cache)
        _create(path, new_key())  # or another process was faster
        return _checked(path)
    except OutputError as error:
        raise CacheError(str(error)) from None
    except OSError as error:
        raise CacheError(f"{path}: cannot use: {reason(error)}") from None


def _checked(path: Path) -> bytes:
    """Return the key in a file.  Raises OSError, CacheError: it is no such file."""
    key = _read(path, KEY_BYTES + 1)
    status = os.lstat(path)
    if status.st_uid != os.geteuid() or status.st_mode & 0o077 or len(key) != KEY_BYTES:
        raise CacheError(f"{path}: not a key that only you can read", "remove it")
    return key
