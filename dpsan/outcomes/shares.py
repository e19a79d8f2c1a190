"""What comes out for many words under many mechanisms: one pass, a block of words at a time.

The output distributions of a block of words are a matrix (words, n), which exists for that block
only; all mechanisms share the neighbours, cosines and orders of the block.  Threads take mechanisms
side by side; each is summed by itself, so the result does not depend on the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.samplers.base import Sampler
from dpsan.outcomes.distributions import Progress, distributions
from dpsan.outcomes.word_statistics import close_words, unit_vectors
from dpsan.space.arrays import Ids
from dpsan.space.metric_space import MetricSpace

_CELLS: Final = 2e6
"""Probabilities of a block of words."""
THREADS: Final = min(4, os.cpu_count() or 1)
"""Distributions, or certificates, that are worked on side by side."""
_BATCH: Final = 1024
_Item = TypeVar("_Item")


def part_of(progress: Progress | None, first: float, last: float) -> Progress:
    """Progress of a part of the work, which reports its own share."""

    def tell(share: float) -> None:
        if progress:
            progress(min(first + (last - first) * share, 1.0))

    return tell


def in_steps(progress: Progress | None, items: Sequence[_Item]) -> Iterator[tuple[_Item, Progress]]:
    """Each item with the progress of its part of the work, which is as large as the others'."""
    for at, item in enumerate(items):
        yield item, part_of(progress, at / len(items), (at + 1) / len(items))


@dataclass(frozen=True)
class _Block:
    """A block of words, and what all mechanisms need of them."""

    ids: Ids
    place: slice
    near: NDArray[np.int32] | None
    cosines: NDArray[np.float32] | None
    order: NDArray[np.int32] | None


class Outcomes:
    """Figures of one mechanism, each (m,) for the m words that are asked for, block by block."""

    def __init__(self, m: int, n: int, near: bool, similar: bool) -> None:
        self.unchanged = np.empty(m)
        """N_w = P(w -> w)."""
        self.close = np.empty(m if near else 0)
        """Probability of ranks 1 ... 100; empty unless asked for."""
        self.cosine = np.empty(m if similar else 0)
        """Mean cosine of output and word; empty unless asked for."""
        self.best = np.zeros(n if similar else 0)
        """For each output u the largest P(u|w) of the words asked for, (n,); with the cosines."""

    def add(self, block: _Block, sampler: Sampler) -> None:
        """Take in a block of the words."""
        place = block.place
        if block.order is not None and sampler.by_rank is not None:
            pmf = np.empty(block.order.shape)
            np.put_along_axis(pmf, block.order, sampler.by_rank.pmf[None], axis=1)
        else:
            pmf = distributions(sampler, block.ids)
        self.unchanged[place] = pmf[np.arange(len(pmf)), block.ids]
        if block.near is not None:
            self.close[place] = np.take_along_axis(pmf, block.near, axis=1).sum(axis=1)
        if block.cosines is not None:
            self.cosine[place] = np.einsum("mn,mn->m", pmf, block.cosines)
            np.maximum(self.best, pmf.max(axis=0), out=self.best)


def from_pmfs(
    space: MetricSpace,
    ids: Ids,
    samplers: Sequence[Sampler],
    *,
    near: bool = True,
    similar: bool = False,
    progress: Progress | None = None,
) -> list[Outcomes]:
    """The figures of words under known distributions, exactly.

    Args:
        ids: words (m,), not ⊥.
        samplers: of known distributions, all different objects.
        progress: called with the share done after every block.
    """
    n = space.n
    tallies = [Outcomes(len(ids), n, near, similar) for _ in samplers]
    ranked = next((each.by_rank for each in samplers if each.by_rank is not None), None)
    units = unit_vectors(space) if similar else None
    close = close_words(space, ids) if near else None
    size = max(32, int(_CELLS / n) // 32 * 32)
    with ThreadPoolExecutor(THREADS) as pool:
        for at in range(0, len(ids) if tallies else 0, size):
            part, order = ids[at : at + size], None
            if ranked is not None:  # sorting is the slow part, and the same for all of these
                pieces = np.array_split(part, THREADS)
                order = np.concatenate(list(pool.map(ranked.order, pieces)))
            block = _Block(
                part,
                slice(at, at + len(part)),
                None if close is None else close[at : at + size],
                None if units is None else units[part] @ units.T,
                order,
            )
            for _ in pool.map(Outcomes.add, tallies, repeat(block), samplers):
                pass
            if progress:
                progress(min((at + size) / len(ids), 1.0))
    return tallies
