"""Figures of one word, from its output distribution where that is known, else from draws.

N_w is that of [Feyisetan20] and [TGumbel].  Close and distant are the shares of [Curse]
section 7: the output is one of the 100 nearest other words, or farther away.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from dpsan.outcomes.distributions import close_words
from dpsan.outcomes.intervals import Estimate
from dpsan.space.arrays import Floats
from dpsan.space.metric_space import MetricSpace

_ALPHA: Final = 0.01 / 2
"""Error probability of one end of an interval; the two ends together are good for 99 %."""


@dataclass(frozen=True, slots=True)
class Row:
    """Row number of a word, n for ⊥, and its probability."""

    id: int
    probability: Estimate
    distance: float | None = None
    """Distance of an output from the explained word."""


@dataclass(frozen=True, slots=True)
class Figures:
    """What becomes of a word."""

    draws: int
    """0 if the distribution itself is known."""
    unchanged: Estimate
    """N_w: the output is the word itself; never for ⊥."""
    close: Estimate | None
    """The output is one of the 100 nearest other words; None for ⊥."""
    distant: Estimate | None
    rows: tuple[Row, ...]
    """The likeliest outputs."""


def figures_of(space: MetricSpace, word: int, weights: Floats, draws: int, top: int) -> Figures:
    """Return the figures of a word, from draws each with its own 99 % Clopper-Pearson interval.

    Args:
        word: row number, n for ⊥.
        weights: P(u | word) of all outputs, or how often each was drawn, shape (n,).
        draws: 0 for probabilities.
        top: number of outputs to list.
    """

    def share(weight: float) -> Estimate:
        if draws:
            return Estimate.of_draws(int(weight), draws, _ALPHA)
        return Estimate.exactly(float(weight))

    # ⊥ is no output, and has no neighbours.
    unchanged, close, distant, distances = Estimate.exactly(0.0), None, None, None
    if word < space.n:
        ids = np.array([word], dtype=np.int64)
        distances = space.distances(ids)[0]
        kept, near = float(weights[word]), float(weights[close_words(space, ids)[0]].sum())
        unchanged, close = share(kept), share(near)
        distant = share(max(0.0, (draws or 1) - kept - near))
    # Heaviest first, equal ones by distance, then by row.
    rows = np.flatnonzero(weights > 0)
    far = np.zeros(len(rows)) if distances is None else distances[rows]
    rows = rows[np.lexsort((rows, far, -weights[rows]))[:top]]
    outputs = tuple(
        Row(row, share(weights[row]), None if distances is None else float(distances[row]))
        for row in rows.tolist()
    )
    return Figures(draws, unchanged, close, distant, outputs)
