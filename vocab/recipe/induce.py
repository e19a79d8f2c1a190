"""Vectors for new words of a vocabulary whose other vectors stay: from the words around them.

The vector of a word is predicted by a linear map from the mean vectors of the words before and
after it, learnt on the words that have a vector (Khodak, Saunshi, Liang, Ma, Stewart, Arora:
A La Carte Embedding, ACL 2018; here with a mean for each of several places).

Knows the training text and vectors.  Must not know how those were trained or shaped.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

__all__ = ["contexts", "induced"]

_PLACES: Final = ((-1,), (1,), (-2, -3), (2, 3), (-5, -4, 4, 5))
"""Places around a word whose words count alike."""
_MOST: Final = 1_500
"""Occurrences of a word that are looked at, about."""
_LINES: Final = 100_000
_END: Final = -1
_RARE: Final = 1e-4
"""A context word counts a / (a + its share of the text) (Arora, Liang, Ma, ICLR 2017)."""
_RIDGE: Final = 10.0

Floats = NDArray[np.float32]


def contexts(
    text: Path, ids: Mapping[str, int], counts: NDArray[np.int64], vectors: Floats, seed: int
) -> Floats:
    """Mean vectors of the words at the places around each word, shape (words, places × d).

    Args:
        text: one sentence a line.
        ids: row number of each word.
        counts: occurrences of the words in the text.
        vectors: of the words; a row of zeros is a word without.
        seed: of the choice of occurrences of frequent words.
    """
    n, d = vectors.shape
    rng = np.random.default_rng(seed)
    keep = np.minimum(1.0, _MOST / np.maximum(counts, 1)).astype(np.float32)
    weight = (_RARE / (_RARE + counts / counts.sum())).astype(np.float32)
    known = vectors.any(axis=1)
    sums = np.zeros((len(_PLACES), n, d), dtype=np.float32)
    reach = max(abs(at) for places in _PLACES for at in places)
    weighted = vectors * weight[:, None]
    total = np.zeros((len(_PLACES), n), dtype=np.float32)
    with text.open(encoding="utf-8") as file:
        while lines := [line for _, line in zip(range(_LINES), file, strict=False)]:
            words = chain.from_iterable(line.split(" ") for line in lines)
            found = [ids.get(word.rstrip("\n"), _END) for word in words]
            row = np.pad(np.array(found, np.int64), reach, constant_values=_END)
            centres = np.flatnonzero(row >= 0)
            centres = centres[rng.random(len(centres)) < keep[row[centres]]]
            for at, places in enumerate(_PLACES):
                other = np.concatenate([row[centres + place] for place in places])
                word = np.tile(row[centres], len(places))
                seen = (other >= 0) & known[other]
                pairs = csr_matrix(
                    (np.ones(int(seen.sum()), np.float32), (word[seen], other[seen])), (n, n)
                )
                sums[at] += pairs @ weighted
                total[at] += pairs @ weight
    sums /= np.maximum(total, 1e-9)[:, :, None]
    return np.concatenate(sums, axis=1)


def induced(features: Floats, counts: NDArray[np.int64], vectors: Floats) -> Floats:
    """The vectors, those of zeros replaced by predictions at unit length."""
    known = vectors.any(axis=1)
    share = np.log1p(counts[known]).astype(np.float64)
    centre = features[known].mean(axis=0)
    x = features[known].astype(np.float64) - centre
    left = (x * share[:, None]).T @ x + _RIDGE * np.eye(x.shape[1])
    linear = np.linalg.solve(left, (x * share[:, None]).T @ vectors[known])
    found = (features[~known] - centre) @ linear
    out = vectors.copy()
    out[~known] = found / np.linalg.norm(found, axis=1, keepdims=True)
    return out
