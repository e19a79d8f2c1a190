"""Output distributions of many words under many mechanisms, in one pass over blocks of words.

The output distributions of a block of words are a matrix (words, n), which exists for that block
only.  All mechanisms share the neighbours, cosines and orders of the block.  Threads take
mechanisms side by side; each is summed by itself, so the result does not depend on the number of
threads.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import repeat
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.words import Progress
from dpsan.mechanisms.mechanism import Mechanism
from dpsan.mechanisms.tables import Sampler
from dpsan.outcomes.distributions import distributions
from dpsan.space.arrays import Ids, blocks, unit_rows
from dpsan.space.metric_space import MetricSpace

THREADS: Final = min(4, os.cpu_count() or 1)
"""Distributions that are computed side by side."""
_CELLS: Final = 2e6
"""Probabilities of a block of words."""
CLOSE: Final = 100
"""Ranks 1 ... 100 from the true word are close ([Curse] §2)."""
_BATCH: Final = 1024


def close_words(space: MetricSpace, ids: Ids) -> NDArray[np.int32]:
    """Return the words of rank 1 ... 100 from each word, (m, 100), or all others if fewer.

    The table is cached with the space where ``ids`` are at least half of the vocabulary.
    """
    width = min(CLOSE, space.n - 1)

    def search(wanted: Ids) -> NDArray[np.int32]:
        out = np.empty((len(wanted), width), dtype=np.int32)
        for part in blocks(len(wanted), _BATCH):
            out[part] = space.neighbors(wanted[part], width + 1)[:, 1:]
        return out

    if 2 * len(ids) < space.n or not space.eager(space.n):
        return search(ids)
    table = space.table(f"close-{width}", lambda: {"words": search(np.arange(space.n))})
    return np.asarray(table["words"][ids])


def unit_label(kind: type[Mechanism]) -> str:
    """Return the unit of epsilon in words."""
    return "nats" if kind.is_ldp() else "per unit of distance"


@dataclass(frozen=True)
class _Block:
    """A block of words, with data that all mechanisms share."""

    ids: Ids
    part: slice
    near: NDArray[np.int32] | None
    cosines: NDArray[np.float32] | None


class Outcomes:
    """Figures of one mechanism for m words, each (m,), filled block by block."""

    def __init__(self, m: int, n: int, near: bool, similar: bool) -> None:
        self.unchanged = np.empty(m)
        """N_w = P(w -> w)."""
        self.close = np.empty(m if near else 0)
        """Probability of ranks 1 ... 100; empty without ``near``."""
        self.cosine = np.empty(m if similar else 0)
        """Mean cosine of output and word; empty without ``similar``."""
        self.best = np.zeros(n if similar else 0)
        """Largest P(u|w) over these words for each output u, (n,); with ``similar``."""

    def add(self, block: _Block, sampler: Sampler) -> None:
        """Fill the figures of a block."""
        part = block.part
        pmf = distributions(sampler, block.ids)
        self.unchanged[part] = pmf[np.arange(len(pmf)), block.ids]
        if block.near is not None:
            self.close[part] = np.take_along_axis(pmf, block.near, axis=1).sum(axis=1)
        if block.cosines is not None:
            self.cosine[part] = np.einsum("mn,mn->m", pmf, block.cosines)
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
    """Return exact figures of words under known distributions.

    Args:
        ids: words (m,), not ⊥.
        samplers: samplers with known distributions, all different objects.
        progress: called with the share done after every block.
    """
    n = space.n
    tallies = [Outcomes(len(ids), n, near, similar) for _ in samplers]
    units = unit_rows(space.vectors) if similar else None
    close = close_words(space, ids) if near else None
    size = max(32, int(_CELLS / n) // 32 * 32)
    with ThreadPoolExecutor(THREADS) as pool:
        for at in range(0, len(ids) if tallies else 0, size):
            part = ids[at : at + size]
            block = _Block(
                part,
                slice(at, at + len(part)),
                None if close is None else close[at : at + size],
                None if units is None else units[part] @ units.T,
            )
            for _ in pool.map(Outcomes.add, tallies, repeat(block), samplers):
                pass
            if progress:
                progress(min((at + size) / len(ids), 1.0))
    return tallies
