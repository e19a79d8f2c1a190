"""The words whose pairs lose most, and the loss among them: a guess of what a certificate gives.

A certificate compares every pair of a vocabulary, which takes minutes.  Which words are extreme
hardly depends on epsilon: they are found once and stored, and their loss takes a moment at every
epsilon.  It is a lower bound; what holds is certified afterwards.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from dpsan.errors import UsageError
from dpsan.mechanisms.base import Mechanism
from dpsan.outcomes.calibrate.target import Draft
from dpsan.outcomes.distributions import distributions
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import Arrays, MetricSpace

_FIRST: Final = 256
"""Words to begin with, spread over the vocabulary."""
_KEPT: Final = 24
"""Words of the largest losses whose neighbours are tried next, and that are kept."""
_NEIGHBORS: Final = 16
_ROUNDS: Final = 8
_CELLS: Final = 1 << 22
"""Probabilities that are held at once."""


class ExtremeWords:
    """The largest loss of a mechanism among few words, as a function of epsilon.

    Args:
        start: the epsilon at which the words are looked for.

    Raises:
        UsageError: the output distribution is not known.
    """

    def __init__(self, draft: Draft, space: MetricSpace, start: float) -> None:
        self.draft, self.space = draft, space
        name = f"extremes-1-{draft.kind.name}-{draft.anywhere(space)[0].digest()}"
        self.ids: Ids = space.table(name, lambda: self._find(draft.at(start)))["ids"]

    def __call__(self, epsilon: float) -> float:
        """Lower bound of the LDP loss.  Raises UsageError outside the mechanism's domain."""
        return float(self._losses(self.draft.at(epsilon), self.ids).max())

    def _losses(self, mechanism: Mechanism, ids: Ids) -> Floats:
        """Ln P(w|w) - ln P(w|v) for words w (rows) and words v, then ⊥ (columns)."""
        sampler = mechanism.prepare(self.space)
        inputs = np.append(ids, self.space.n)
        columns = []
        for part in np.array_split(inputs, math.ceil(len(inputs) * self.space.n / _CELLS)):
            pmf = sampler.probabilities(part)
            if pmf is None:
                raise UsageError("the output distribution is not known")
            columns.append(pmf[:, ids])
        with np.errstate(divide="ignore"):
            logs = np.log(np.concatenate(columns))
        # The output of the largest loss is the word itself, where likelihood falls with distance.
        return np.asarray(np.diag(logs)[:, None] - logs.T)

    def _find(self, mechanism: Mechanism) -> Arrays:
        """Climb from words to their neighbours while the loss grows."""
        ids = np.unique(np.linspace(0, self.space.n - 1, _FIRST).astype(np.int64))
        best = -math.inf
        for _ in range(_ROUNDS):
            losses = self._losses(mechanism, ids)
            words = losses[:, :-1]
            order = np.argsort(-words, axis=None)
            firsts, seconds = np.unravel_index(order[: 8 * _KEPT], words.shape)
            chosen = _distinct(firsts, _KEPT), _distinct(seconds, _KEPT)
            top = ids[np.unique(np.concatenate(chosen))]
            found = float(losses.max())
            if found <= best * (1 + 1e-4):
                break
            best = found
            pmf = distributions(mechanism.prepare(self.space), top)
            edge = min(_NEIGHBORS, self.space.n // 2)
            order = np.argpartition(pmf, (edge, self.space.n - edge - 1), axis=1)
            # The likeliest outputs, which are near, and the least likely, which are far.
            ids = np.unique(
                np.concatenate([top, order[:, -edge:].ravel(), order[:, :edge].ravel()])
            )
        return {"ids": top}


def _distinct(values: Ids, count: int) -> Ids:
    """The first values, each once."""
    return np.array(list(dict.fromkeys(values.tolist()))[:count], dtype=np.int64)
