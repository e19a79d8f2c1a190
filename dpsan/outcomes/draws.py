"""Outputs drawn for words under public keys: the same code as ``rewrite``, repeatable figures.

Knows samplers.  Must not know what is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from dpsan.mechanisms.samplers.base import Sampler
from dpsan.privacy import randomness
from dpsan.space.arrays import Ids

Progress = Callable[[float], None]
"""Called with a share of the work, 0 ... 1; may raise to interrupt."""


_BATCH: Final = 4096
_COUNTED: Final = 500
"""Draws between two reports of progress: a fraction of a second for a large vocabulary."""


def draw(sampler: Sampler, ids: Ids, key: bytes, progress: Progress | None = None) -> Ids:
    """One output for each word, each a record of its own.

    Args:
        ids: words (m,).
        key: public.
        progress: called with the share done, after every batch.
    """
    out, at = np.empty_like(ids), 0
    for part in randomness.streams_for(key, range(len(ids)), [1] * len(ids)).chunks(_BATCH):
        out[at : at + len(part)] = sampler.sample(ids[at : at + len(part)], part)
        at += len(part)
        if progress:
            progress(at / len(ids))
    return out


def draw_counts(
    sampler: Sampler,
    n: int,
    word: int,
    draws: int,
    key: bytes,
    progress: Progress | None = None,
) -> Ids:
    """How often each output came, shape (n,), in independent draws for one word.

    Every draw is a record of its own, so that mechanisms for whole lines see one word.

    Args:
        word: row number, n for ⊥.
        key: public.
        progress: called with the share of the draws made since the last call.
    """
    counts = np.zeros(n, dtype=np.int64)
    for at in range(0, draws, _COUNTED):
        size = min(_COUNTED, draws - at)
        streams = randomness.streams_for(key, range(at, at + size), [1] * size)
        drawn = sampler.sample(np.full(size, word, dtype=np.int64), streams)
        counts += np.bincount(drawn, minlength=n)
        if progress:
            progress(size / draws)
    return counts
