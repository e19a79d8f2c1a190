"""Choose the output of each input."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path


def plan_outputs(
    paths: Sequence[Path], directory: Path, roots: Sequence[Path] = ()
) -> Iterator[Path]:
    """Yield the output of each input below ``directory``, keeping the tree.

    An input outside the working directory keeps its path from the directory in ``roots`` that it
    was found in, whose name comes first; one that was named itself keeps its name alone.

    Args:
        paths: inputs.
        directory: of the outputs.
        roots: directories that were searched for inputs.
    """
    tops = [Path(os.path.normpath(root)) for root in roots]
    for path in paths:
        clean = Path(os.path.normpath(path))
        if clean.is_absolute() or clean.parts[:1] == ("..",):
            top = next((top for top in tops if clean.is_relative_to(top)), clean)
            name = top.resolve().name if top.name == ".." else top.name
            clean = Path(name, clean.relative_to(top))
        yield directory / clean


def is_finished(path: Path, target: Path) -> bool:
    """Return whether ``--resume`` may take the file at ``target`` for the output of ``path``.

    Other programs leave empty files, so an empty file is the output of an empty input alone.
    """
    try:
        made = target.stat()
        return stat.S_ISREG(made.st_mode) and (made.st_size > 0 or not path.stat().st_size)
    except OSError:
        return False
