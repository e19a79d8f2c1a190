"""Records that cannot be read, written to a file of their own while the others go on.

The file is as secret as the input: it holds those records as they were.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, Self

from dpsan.errors import InputError
from dpsan.files.atomic_files import create_private, write_all

_SHOWN: Final = 3
"""Number of problems that are printed one by one; the file has the others."""


class BadRecords:
    """Takes bad records; a context manager.

    Args:
        path: created with mode 0600 under every umask.
        force: replace an existing file.
        complain: called with the first problems.

    Raises:
        OutputError: it exists or cannot be written.
    """

    def __init__(self, path: Path, *, force: bool, complain: Callable[[str], None]) -> None:
        self._descriptor = create_private(path, force=force)
        self._path, self._complain = path, complain
        self.count = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def __call__(self, raw: bytes, problem: InputError | None) -> None:
        """Write a record to the file of bad records.

        Args:
            raw: as it stands in the input, with its ending.
            problem: names file and line; None for another piece of the same record.
        """
        write_all(self._descriptor, raw, self._path)
        if problem is None:
            return
        self.count += 1
        if self.count <= _SHOWN:
            self._complain(f"{problem.on_command_line()}: left out")
