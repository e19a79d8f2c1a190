"""Several public texts one after the other, with the share that was read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from dpsan.files.compression import blocks_of


def blocks_of_all(
    texts: Sequence[Path], progress: Callable[[float], None] | None
) -> Iterator[list[str]]:
    """Yield the blocks of lines of all texts; see :func:`dpsan.files.compression.blocks_of`.

    Args:
        progress: called with the share that was read.

    Raises:
        InputError: a file cannot be read.
    """
    total, done = max(1, sum(path.stat().st_size for path in texts)), 0

    def advance(size: int) -> None:
        nonlocal done
        before, done = done, done + size
        # About once a megabyte: lines are many.
        if progress is not None and before >> 20 < done >> 20:
            progress(min(1.0, done / total))

    for path in texts:
        yield from blocks_of(path, advance)
