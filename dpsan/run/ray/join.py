"""Rewritten pieces become outputs, complete or not at all.

Knows files of parts.  Must not know who made them.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from dpsan.errors import OutputError
from dpsan.errors import reason as os_reason
from dpsan.files.atomic_files import AtomicFile
from dpsan.formats.base import ReadOptions
from dpsan.run.paths import opened_input
from dpsan.run.ray.pieces import remove

_CHUNK: Final = 1 << 20


class Joining:
    """One output in the making: parts are added in order.

    Args:
        path: the input.
        target: the output.
        groups: how the input was read, if parts are row groups of a Parquet file and not bytes.

    Raises:
        OutputError: the output exists or cannot be made.
    """

    def __init__(
        self, path: Path, target: Path, *, force: bool, groups: ReadOptions | None
    ) -> None:
        self._path, self._groups = path, groups
        self._parts: list[Path] = []
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"{target}: cannot create: {os_reason(error)}") from None
        self._sink = AtomicFile(target, force=force)

    def add(self, part: Path) -> None:
        """Take a part; its file is removed.  Raises OutputError."""
        if self._groups is not None:
            self._parts.append(part)  # encoded together, behind the last one
            return
        take(part, self._sink.write)

    def commit(self) -> str:
        """Put the output in place; returns its SHA-256.  Raises InputError, OutputError."""
        if self._groups is not None:
            from dpsan.formats.parquet_groups import join_groups  # pyarrow is an extra

            with opened_input(self._path) as source:
                for data in join_groups(source, self._groups, self._parts):
                    self._sink.write(data)
            for part in self._parts:
                remove(part)
        self._sink.commit()
        return self._sink.sha256

    def discard(self) -> None:
        """Remove what there is of the output; nothing after a commit."""
        self._sink.discard()


def take(part: Path, write: Callable[[bytes], None]) -> None:
    """Copy a part, and remove it.  Raises OutputError."""
    try:
        with part.open("rb") as file:
            while data := file.read(_CHUNK):
                write(data)
    except OSError as error:
        raise OutputError(f"{part}: cannot read: {os_reason(error)}") from None
    remove(part)
