"""Which of all words look as if their outputs were fixed: a screen that proves nothing.

Knows sanitizers and distances.  Must not know distributions: to compute that of every word of a
large vocabulary takes longer than to draw from it.

Every word is drawn a few times.  An output that comes more than once is near the word, or one that
comes to many words, if anything is as it should be; a word whose draws agree on something far away,
or on something that no other word gives, is worth a closer look.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from dpsan.analysis.verify.inputs import drawn_rows
from dpsan.privacy.randomness import derive_key
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.arrays import Ids

DRAWS: Final = 3
"""Of each word."""
_BATCH: Final = 4096
"""Words at once."""


class Repeats(NamedTuple):
    """Words, the output that came to each more than once, and how often it came again."""

    words: Ids
    outputs: Ids
    again: Ids


def far_repeats(sanitizer: Sanitizer, words: Ids, most: int, key: bytes) -> Repeats:
    """So many words at most: whose repeated output is farthest away, and is that of fewest others.

    Args:
        sanitizer: the program under test; each text is a unit of its own.
        words: rows of those that are drawn.
        most: how many are wanted.
        key: fresh.
    """
    keys, space = sanitizer.embeddings.index_to_key, sanitizer.space
    parts = []
    for at in range(0, len(words), _BATCH):
        texts = [keys[w] for w in words[at : at + _BATCH].tolist() for _ in range(DRAWS)]
        parts.append(drawn_rows(sanitizer, texts, derive_key(key, at)).reshape(-1, DRAWS))
    came = np.concatenate(parts) if parts else np.empty((0, DRAWS), dtype=np.int64)
    first, second, third = came.T
    again = (first == second).astype(np.int64) + (first == third)
    late = (again == 0) & (second == third)
    output, again = np.where(late, second, first), again + late
    # What is no word of the vocabulary is as far away as anything can be.
    away = np.linalg.norm(space.points(words) - space.points(np.maximum(output, 0)), axis=1)
    away[output < 0] = np.inf
    own = (came == output[:, None]).sum(axis=1)
    others = np.bincount(came.ravel() + 1, minlength=space.n + 1)[output + 1] - own
    repeated = np.flatnonzero((again > 0) & (away > 0))
    far = repeated[np.argsort(-(again * away)[repeated], kind="stable")]
    alone = repeated[np.lexsort((-away[repeated], others[repeated]))]
    chosen = np.unique(np.concatenate([far[: most // 2], alone[: most // 2]]))
    return Repeats(words[chosen], output[chosen], again[chosen])
