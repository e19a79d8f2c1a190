"""What a reader sees at each place of a text: the outputs of one or several noisings.

Knows row numbers.  Must not know what is concluded from them.  Noisings of one word are drawn
independently, so the logarithms of their likelihoods are added.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dpsan.space.arrays import Ids


@dataclass(frozen=True)
class Observations:
    """The different observations of m places, each once."""

    outputs: Ids
    """Of k noisings, negative where one of them tells nothing, (k, q)."""
    of: Ids
    """The observation of each place, -1 where no noising tells anything, (m,)."""

    @classmethod
    def combined(cls, noisings: Sequence[Ids]) -> Observations:
        """All noisings of the same m places together.

        Args:
            noisings: outputs, negative where they tell nothing, (m,) each.
        """
        every = np.maximum(np.stack(noisings), -1)
        seen = (every >= 0).any(axis=0)
        outputs, numbers = np.unique(every[:, seen], axis=1, return_inverse=True)
        of = np.full(every.shape[1], -1, dtype=np.int64)
        of[seen] = numbers.ravel()
        return cls(outputs, of)
