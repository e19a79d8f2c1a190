"""Shares of the work that the parts of a study report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from dpsan.outcomes.distributions import Progress

_Item = TypeVar("_Item")


def part_of(progress: Progress | None, first: float, last: float) -> Progress:
    """Return the progress callback of a part of the work, which reports its own share."""

    def tell(share: float) -> None:
        if progress:
            progress(min(first + (last - first) * share, 1.0))

    return tell


def in_steps(progress: Progress | None, items: Sequence[_Item]) -> Iterator[tuple[_Item, Progress]]:
    """Yield each item with the progress callback of its part; all parts are equally large.

    The end of each part is reported here.
    """
    for at, item in enumerate(items):
        tell = part_of(progress, at / len(items), (at + 1) / len(items))
        yield item, tell
        tell(1.0)
