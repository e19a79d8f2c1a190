"""Public statistics of a vocabulary: prior of the inputs, close words, cosines."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.space.arrays import Floats, Floats32, Ids, blocks
from dpsan.space.metric_space import MetricSpace

UNKNOWN_PRIOR: Final = 0.06
"""Prior of ⊥: the share of tokens of AG News and SST-2 that the bundled vocabulary lacks."""
CLOSE: Final = 100
"""Ranks 1 ... 100 from the true word are close ([Curse] §2)."""
_BATCH: Final = 1024
_FLOPS: Final = 4e9
"""Floating-point operations of the search for the median distance to the nearest word."""


def prior(space: MetricSpace) -> Floats:
    """Return the public probabilities of the inputs, shape (n + 1,), ⊥ last; they sum to 1.

    See :func:`dpsan.embeddings.base.word_frequencies`.
    """
    return np.append(space.frequencies * (1 - UNKNOWN_PRIOR), UNKNOWN_PRIOR)


def words_at(space: MetricSpace, quantiles: Floats) -> Ids:
    """Return the words at quantiles 0 ... 1 of the public frequencies, shape (m,).

    Uniform quantiles choose words by frequency; evenly spaced ones stand for the whole vocabulary.
    """
    rows = np.searchsorted(np.cumsum(space.frequencies), quantiles, side="right")
    return np.asarray(np.minimum(rows, space.n - 1), dtype=np.int64)


def cosines(units: Floats32, ids: Ids, outputs: Ids) -> Floats:
    """Return the cosines of words (m,) and their outputs (m,), shape (m,)."""
    out = np.empty(len(ids))
    for part in blocks(len(ids), _BATCH):
        out[part] = np.einsum("md,md->m", units[ids[part]], units[outputs[part]])
    return out


def usual_nearest(space: MetricSpace) -> float:
    """Return the median distance from a word to its nearest other word, by public frequencies."""
    if space.n < 2:
        return 0.0
    words = int(min(max(_FLOPS / (2 * space.n * space.d), 16), 128))
    ids = words_at(space, (np.arange(words) + 0.5) / words)
    return float(np.median(space.search(space.points(ids), 2)[1][:, 1]))


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
