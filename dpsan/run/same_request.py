"""``.dpsan-request``: with which options, and from which inputs, outputs of ``-O`` were made.

Each run appends one line of JSON: epsilon, and a keyed digest of all options that decide the
outputs.  ``--resume`` goes on only where all these lines have its own digest.  Before an output
gets its name, a line with keyed digests of that name and of its input is on disk, so ``--resume``
notices an input that has changed.  The key lies in the user's cache, so nobody else can find a word
list, a seed or a text by trying digests.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

import orjson

from dpsan.errors import CacheError, InputError, OutputError, UsageError, file_reason, reason
from dpsan.files.atomic_files import append_synced, made_once
from dpsan.files.private_files import make_private
from dpsan.files.source import open_regular
from dpsan.privacy.randomness import KEY_BYTES, new_key

NAME: Final = ".dpsan-request"
_KEY: Final = "request.key"
_LONGEST: Final = 1 << 10
"""Bytes of a line."""
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
        self._key = _key(cache)
        payload = orjson.dumps({name: repr(value) for name, value in sorted(values.items())})
        self._digest = hmac.new(self._key, payload, hashlib.sha256).hexdigest()
        self._key_id = hashlib.sha256(self._key).hexdigest()[:16]
        self._inputs: dict[int, int] = {}
        """Short keyed digests of the outputs of earlier runs, and of their inputs."""

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
        runs = 0
        for row in self._rows():
            runs += 1
            earlier = f"--resume: {directory} holds outputs of epsilon {row['epsilon']:g}"
            if row["epsilon"] != self._epsilon:
                what = f"{earlier}, this run has epsilon {self._epsilon:g}"
                raise UsageError(what, f"go on with the first epsilon, or {_ELSEWHERE}")
            if row.get("key") != self._key_id:
                what = f"--resume: {self._path} was written with the key of another cache"
                raise UsageError(what, f"DPSAN_CACHE_DIR names that cache, or {_ELSEWHERE}")
            if not hmac.compare_digest(str(row.get("request")), self._digest):
                what = f"--resume: {directory} holds outputs that were made with other options"
                raise UsageError(what, f"go on with the first run's options, or {_ELSEWHERE}")
        if not runs:
            what = f"--resume: {directory} holds outputs but no {NAME} that says how they were made"
            raise UsageError(what, _ELSEWHERE)

    def append(self) -> None:
        """Add the line of this run, on disk.  Raises OutputError."""
        row = {"epsilon": self._epsilon, "key": self._key_id, "request": self._digest}
        self._write(orjson.dumps(row) + b"\n")

    def add_outputs(self, made: Iterable[tuple[Path, str]]) -> None:
        """Add lines of outputs that are about to get their names, on disk.

        Args:
            made: name of each output, and the SHA-256 (hex) of its input.

        Raises:
            OutputError: they cannot be written.
        """
        lines = []
        for target, sha256 in made:
            output, input_ = self._digests(target, sha256)
            lines.append(b'{"output":%d,"input":%d}\n' % (output, input_))
        self._write(b"".join(lines))

    def check_input(self, path: Path, target: Path) -> None:
        """Raise InputError unless the finished output ``target`` was made from the input as it is.

        To know that, the input is read.
        """
        try:
            with os.fdopen(open_regular(path), "rb") as file:
                sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise InputError(path, file_reason(error)) from None
        output, input_ = self._digests(target, sha256)
        if self._inputs.get(output) != input_:
            what = f"has changed since {target} was made, which stays as it is"
            hint = "remove that output to rewrite it again: two outputs tell more than one"
            raise InputError(path, what, hint)

    def _digests(self, target: Path, sha256: str) -> tuple[int, int]:
        """Return keyed digests of an output's name, and of that and its input."""
        name = os.fsencode(target.relative_to(self._path.parent))
        both = b"output\0" + name, b"input\0" + name + b"\0" + sha256.encode()
        output, input_ = (hmac.digest(self._key, text, "sha256")[:7] for text in both)
        return int.from_bytes(output), int.from_bytes(input_)

    def _write(self, lines: bytes) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if not made_once(self._path, lambda sink: sink.write(lines)):
                append_synced(self._path, lines)
        except OSError as error:
            raise OutputError(f"{self._path}: cannot write: {reason(error)}") from None

    def _rows(self) -> Iterator[dict[str, object]]:
        """Yield the lines of runs, and take in those of outputs.

        Raises:
            UsageError: the file cannot be read, or is damaged.
        """
        line = 0
        try:
            with os.fdopen(open_regular(self._path, follow=False), "rb") as file:
                while raw := file.readline(_LONGEST):
                    line += 1
                    row = orjson.loads(raw)
                    if type(row) is dict and type(row.get("epsilon")) is float:
                        yield row
                    else:
                        self._inputs[int(row["output"])] = int(row["input"])
        except FileNotFoundError:
            return
        except OSError as error:
            what = f"--resume: {self._path}: cannot read: {reason(error)}"
            raise UsageError(what, _ELSEWHERE) from None
        except (ValueError, TypeError, KeyError):
            raise UsageError(f"--resume: {self._path}:{line}: damaged", _ELSEWHERE) from None


def _key(cache: Path) -> bytes:
    """Return the key of a cache, made by whoever needs it first.  Raises CacheError."""
    path = cache / _KEY
    try:
        with suppress(FileNotFoundError):
            return _checked(path)
        make_private(cache)
        made_once(path, lambda sink: sink.write(new_key()))  # or another process was faster
        return _checked(path)
    except OutputError as error:
        raise CacheError(str(error)) from None
    except OSError as error:
        raise CacheError(f"{path}: cannot use: {reason(error)}") from None


def _checked(path: Path) -> bytes:
    """Return the key in a file.  Raises OSError, CacheError: it is no such file."""
    with os.fdopen(open_regular(path, follow=False), "rb") as file:
        key, status = file.read(KEY_BYTES + 1), os.fstat(file.fileno())
    if status.st_uid != os.geteuid() or status.st_mode & 0o077 or len(key) != KEY_BYTES:
        raise CacheError(f"{path}: not a key that only you can read", "remove it")
    return key
