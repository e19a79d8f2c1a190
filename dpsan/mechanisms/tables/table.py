"""A table: whole numbers for each input and output, of which draws and certificates are read.

``P(u|x) = W[x, u] / sum of the row``.  Inputs are the n words and ⊥, whose number is n; all words
of a group share one row.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.samplers.base import Sampler
from dpsan.privacy.certificate import Certificate
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import MetricSpace

ROWS = 32
"""Rows that are looked at together."""


class Table(Sampler):
    """Rows of whole numbers: what is certified is what is drawn."""

    space: MetricSpace

    @abstractmethod
    def weights(self, ids: Ids) -> NDArray[Any]:
        """Return the whole numbers of inputs (⊥ allowed) for all outputs, shape (m, n)."""

    @abstractmethod
    def certificate(self, key: str) -> Certificate | None:
        """Return the largest loss of any two inputs; None where it takes more than minutes.

        Args:
            key: names the table, for the cache.
        """

    def probabilities(self, ids: Ids) -> Floats:
        weights = self.weights(ids).astype(np.float64)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def unchanged(self, ids: Ids) -> Floats:
        distinct, inverse = np.unique(ids, return_inverse=True)
        found = np.empty(len(distinct))
        for at in range(0, len(distinct), ROWS):
            part = distinct[at : at + ROWS]
            found[at : at + len(part)] = self.probabilities(part)[np.arange(len(part)), part]
        return np.asarray(found[inverse], dtype=np.float64)
