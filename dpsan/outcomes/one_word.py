"""Figures of one word, from its output distribution where that is known, else from draws.

N_w is that of [Feyisetan20] and [TGumbel].  Close and distant are the shares of [Curse]
section 7: the output is one of the 100 nearest other words, or farther away.

The **observer** knows the mechanism, the vocabulary and its word frequencies, sees one output u and
nothing else.  The posterior is P(w|u) = prior(w)·P(u|w)/P(u), where P(u) sums over all inputs, ⊥
included.  No such observer guesses better than the likeliest input (Bayes); an attacker who sees a
whole line knows more.  Where distributions are known, one pass over all inputs gives P(u) and the
likeliest inputs of every output, and is cached.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from dpsan.embeddings.base import shown
from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.outcomes.distributions import close_words, distributions, prior
from dpsan.outcomes.emissions import Likeliest
from dpsan.outcomes.intervals import Estimate
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import Arrays, MetricSpace

_ALPHA: Final = 0.01 / 2
"""Error probability of one end of an interval; the two ends together are good for 99 %."""
_INPUTS: Final = 5
_BLOCK_BYTES: Final = 8 << 20
"""Block size in bytes.  Small: memory in reuse need not be cleared by the system each time."""


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


@dataclass(frozen=True)
class Observer:
    """The optimal observer of one mechanism on one vocabulary."""

    inputs: Ids
    """Likeliest inputs of every output, shape (5, n), n for ⊥; -1 where there is none."""
    joint: Floats
    """prior(w)·P(u|w) of these inputs, shape (5, n), falling."""
    marginal: Floats
    """P(u), shape (n,)."""

    @property
    def success(self) -> float:
        """Probability that the likeliest input is the true one; ⊥ guessed for ⊥ counts as right."""
        return float(self.joint[0].sum())

    @classmethod
    def build(cls, mechanism: Mechanism, sampler: Sampler, space: MetricSpace) -> Observer:
        """Build from the distribution of every input, through the cache."""
        name = f"observer-1-{mechanism.name}-{mechanism.digest()}"
        table = space.table(name, lambda: _all_inputs(space, sampler), of_mechanism=True)
        return cls(table["inputs"].astype(np.int64), table["joint"], table["marginal"])

    def inputs_of(self, u: int) -> list[Row]:
        """Return the likeliest inputs of an output, with their posteriors."""
        pairs = zip(self.inputs[:, u].tolist(), self.joint[:, u].tolist(), strict=True)
        likely = ((w, value / float(self.marginal[u])) for w, value in pairs if value > 0)
        return [Row(w, Estimate.exactly(value)) for w, value in likely if w >= 0]


def _all_inputs(space: MetricSpace, sampler: Sampler) -> Arrays:
    """Compute P(u) and the likeliest inputs of every output."""
    n, weights, marginal = space.n, prior(space), np.zeros(space.n)
    best = Likeliest(np.arange(n), min(_INPUTS, n + 1), np.float64)
    step = max(4, min(256, _BLOCK_BYTES // (8 * n)))
    # ⊥ first, then the words, the most frequent ones first: the rest rarely changes anything.
    parts = np.split(np.append(n, np.arange(n)), range(step, n + 1, step))
    for ids in shown(space.watch, "what each output points to", parts):
        joint = distributions(sampler, ids) * weights[ids][:, None]
        marginal += joint.sum(axis=0)
        best.add(ids, joint)
    inputs, joint = (np.ascontiguousarray(array.T) for array in (best.inputs, best.scores))
    return {"inputs": inputs, "joint": joint, "marginal": marginal}
