"""Outputs of uniform random words, for mechanisms whose distribution is not known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from common.outcomes import close_words
from dpsan.mechanisms.tables import Sampler
from dpsan.outcomes.distributions import cosines, draw
from dpsan.outcomes.intervals import CONFIDENCE, Estimate
from dpsan.privacy import randomness
from dpsan.space.arrays import Floats, Ids, unit_rows
from dpsan.space.metric_space import MetricSpace

_BATCH = 8192


class Draws:
    """Uniform random words, the same for every mechanism, with what is known of them.

    Args:
        key: public.
    """

    def __init__(self, space: MetricSpace, count: int, key: bytes, similar: bool = False) -> None:
        self.space, self.count = space, count
        uniform = randomness.streams_for(randomness.derive_key(key, "inputs"), [0], [count])
        self.ids = uniform.integers("words", space.n).astype(np.int64)
        self.key = randomness.derive_key(key, "outputs")
        distinct, self._place = np.unique(self.ids, return_inverse=True)
        self._near = close_words(space, distinct)
        self._units = unit_rows(space.vectors) if similar else np.empty((0, space.d), np.float32)

    def close(self, drawn: Ids) -> NDArray[np.bool_]:
        """Which outputs have rank 1 ... 100, (count,)."""
        out = np.empty(self.count, dtype=np.bool_)
        for at in range(0, self.count, _BATCH):
            part = slice(at, at + _BATCH)
            out[part] = (self._near[self._place[part]] == drawn[part, None]).any(axis=1)
        return out

    def cosines(self, drawn: Ids) -> Floats:
        """Cosines of outputs and words, (count,)."""
        return cosines(self._units, self.ids, drawn)


def from_draws(words: Draws, sampler: Sampler) -> tuple[Ids, Estimate, Estimate, Estimate]:
    """One output for each word, with the shares of unchanged, close and distant ones."""
    drawn = draw(sampler, words.ids, words.key)
    same, close = drawn == words.ids, words.close(drawn)
    counts = (int(same.sum()), int(close.sum()), int((~same & ~close).sum()))
    unchanged, near, distant = (
        Estimate.of_draws(each, words.count, (1 - CONFIDENCE) / 2) for each in counts
    )
    return drawn, unchanged, near, distant
