"""Progress of parts of the work, and figures of the output distributions of many words.

The distributions of a block of words are a matrix (words, n), which exists for that block only.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

import numpy as np

from dpsan.mechanisms.samplers.base import Sampler
from dpsan.outcomes.distributions import Progress, distributions
from dpsan.space.arrays import Floats, Ids

_CELLS: Final = 2e6
"""Probabilities of a block of words."""
THREADS: Final = min(4, os.cpu_count() or 1)
"""Distributions, or certificates, that are computed side by side."""
_BATCH: Final = 1024
_Item = TypeVar("_Item")


def part_of(progress: Progress | None, first: float, last: float) -> Progress:
    """Return the progress callback of a part of the work, which reports its own share."""

    def tell(share: float) -> None:
        if progress:
            progress(min(first + (last - first) * share, 1.0))

    return tell


def in_steps(progress: Progress | None, items: Sequence[_Item]) -> Iterator[tuple[_Item, Progress]]:
    """Yield each item with the progress callback of its part; all parts are equally large."""
    for at, item in enumerate(items):
        yield item, part_of(progress, at / len(items), (at + 1) / len(items))


def for_each_word(
    sampler: Sampler, n: int, ids: Ids, figure: Callable[[Floats, slice], Floats]
) -> Floats:
    """Return a figure of the output distribution of each word, shape (m,).

    Args:
        sampler: sampler with a known distribution; threads call it side by side.
        n: size of the vocabulary.
        ids: words (m,), not ⊥.
        figure: maps the distributions (b, n) of a slice of ``ids`` to figures (b,).
    """
    out = np.empty(len(ids))
    size = max(32, int(_CELLS / n) // 32 * 32)

    def fill(part: slice) -> None:
        out[part] = figure(distributions(sampler, ids[part]), part)

    with ThreadPoolExecutor(THREADS) as pool:
        for _ in pool.map(fill, [slice(at, at + size) for at in range(0, len(ids), size)]):
            pass
    return out
