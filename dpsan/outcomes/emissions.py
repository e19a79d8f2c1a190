"""Likelihood of outputs under inputs, and the inputs that explain an output best.

For an output u, no rule that sees one word at a time is right more often than the guess
argmax over w of prior(w)·P(u|w) (Bayes).  Distributions are computed for a block of inputs at a
time, so memory is bounded.  ⊥ is never guessed: it is no string, so guessing it is never right.

Where a mechanism has no distribution in closed form, the density of its noise at the output's own
point stands for P(u|w).  All inputs share the cell of u, so its volume cancels where cells are
small.  That observer is not the best one, so its success is a lower bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.base import Progress, no_progress
from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.mechanisms.tables.sparse import SparseTable
from dpsan.outcomes.distributions import distributions, has_distribution
from dpsan.space.arrays import Floats, Ids, blocks, by_word, side_by_side
from dpsan.space.metric_space import Arrays, MetricSpace

_CELLS: Final = 1 << 23
"""Probabilities that are held at once."""
_PART: Final = 64
"""Inputs of one task of a thread."""
_LEAST: Final = 1e-300


class Likeliest:
    """The c best inputs for each of q outputs, best first; ties go to the earlier input.

    Args:
        outputs: rows, ascending, (q,).
    """

    def __init__(self, outputs: Ids, count: int, dtype: type[np.floating[Any]]) -> None:
        self.outputs = outputs
        self.inputs: NDArray[np.int32] = np.full((len(outputs), count), -1, dtype=np.int32)
        """Shape (q, c); -1 where there were too few inputs."""
        self.scores: NDArray[Any] = np.full((len(outputs), count), -np.inf, dtype=dtype)
        """Scores of these inputs, shape (q, c)."""

    def add(self, ids: Ids, scores: NDArray[Any]) -> None:
        """Merge inputs (b,) with their scores (b, q)."""
        scores = scores.T.astype(self.scores.dtype, copy=False)
        # Only outputs for which some input of this block is better than the last one held.
        better = np.flatnonzero(scores.max(axis=1) > self.scores[:, -1])
        joined = np.concatenate([self.scores[better], scores[better]], axis=1)
        names = np.broadcast_to(ids.astype(np.int32), (len(better), len(ids)))
        names = np.concatenate([self.inputs[better], names], axis=1)
        top = _largest(joined, self.scores.shape[1])
        self.scores[better] = np.take_along_axis(joined, top, axis=1)
        self.inputs[better] = np.take_along_axis(names, top, axis=1)

    def guesses(self) -> Ids:
        """Return the best input for each output, (q,)."""
        return self.inputs[:, 0].astype(np.int64)


def _largest(values: NDArray[Any], count: int) -> Ids:
    """Return the columns of the largest values of each row, largest first, ties by column."""
    if values.shape[1] > 4 * count:  # sort those only that a quicker pass leaves
        edge = np.partition(values, -count, axis=1)[:, -count, None]
        above, ties = values > edge, values == edge
        ties &= np.cumsum(ties, axis=1) <= count - above.sum(axis=1, keepdims=True)
        left = np.nonzero(above | ties)[1].reshape(len(values), count)
        order = np.argsort(-np.take_along_axis(values, left, axis=1), axis=1, kind="stable")
        return np.take_along_axis(left, order, axis=1)
    return np.argsort(-values, axis=1, kind="stable")[:, :count]


@dataclass(frozen=True)
class Observations:
    """The distinct observations of m positions."""

    outputs: Ids
    """Outputs of k noisings, negative where one of them is missing, (k, q)."""
    of: Ids
    """Index of the observation of each position, -1 where all noisings are missing, (m,)."""

    @classmethod
    def combined(cls, noisings: Sequence[Ids]) -> Observations:
        """Combine all noisings of the same m positions.

        Args:
            noisings: outputs, negative where they are missing, (m,) each.
        """
        every = np.maximum(np.stack(noisings), -1)
        shown = (every >= 0).any(axis=0)
        outputs, numbers = np.unique(every[:, shown], axis=1, return_inverse=True)
        of = np.full(every.shape[1], -1, dtype=np.int64)
        of[shown] = numbers.ravel()
        return cls(outputs, of)


class Emissions:
    """P(u|w) of a mechanism, or the density of its noise where that is not known.

    Args:
        mechanism: resolved on the space.
    """

    def __init__(self, mechanism: Mechanism, space: MetricSpace) -> None:
        self.space = space
        self.sampler: Sampler = mechanism.prepare(space)
        self._block = max(1, min(512, _CELLS // space.n))
        self.exact = has_distribution(self.sampler)
        self._density = None if self.exact else mechanism.log_density(space)
        unknown = np.full((1, space.n), 1 / space.n)
        if self.exact:
            unknown = distributions(self.sampler, np.array([space.n]))
        self.unknown: Floats = np.log(np.maximum(unknown[0], _LEAST))
        """ln P(u|⊥), shape (n,); uniform where no distribution is known."""

    @property
    def name(self) -> str:
        """Name of the observer, for reports."""
        if self.exact:
            return "optimal for single words"
        return "by noise density, heuristic: a lower bound"

    def log(self, ids: Ids, outputs: Ids) -> Floats:
        """Return ln P(u|w) of inputs (b,) and outputs (q,), shape (b, q); b is at most a block."""
        return self._logs(ids, (slice(None), outputs))

    def _logs(self, ids: Ids, cells: Any) -> Floats:
        """Return ln P(u|w) in those cells of (b, n) that are needed: logarithms are slow."""
        if self._density is not None:
            return self._density(self.space.distances(ids)[cells])
        return np.asarray(np.log(np.maximum(distributions(self.sampler, ids)[cells], _LEAST)))

    def pairs(self, inputs: Ids, outputs: Ids) -> Floats:
        """Return ln P(u|w) of m pairs, shape (m,); ⊥ is allowed."""
        out = np.empty(len(inputs))
        unknown = inputs == self.space.n
        out[unknown] = self.unknown[outputs[unknown]]
        listed = np.flatnonzero(~unknown)
        for words, at, which in by_word(inputs[listed], self._block):
            rows = listed[at]
            out[rows] = self._logs(words, (which, outputs[rows]))
        return out

    def seen(self, inputs: Ids, outputs: Ids) -> Floats:
        """Return ln P of k noisings (k, m) of m inputs, shape (m,)."""
        out = np.zeros(len(inputs))
        for outputs_of_copy in outputs:
            shown = outputs_of_copy >= 0
            out[shown] += self.pairs(inputs[shown], outputs_of_copy[shown])
        return out

    def candidates(
        self,
        outputs: Ids,
        log_priors: Sequence[Floats],
        count: int,
        progress: Progress = no_progress,
    ) -> list[Likeliest]:
        """Return the inputs that explain each output best; ties go to the smaller row.

        Args:
            outputs: seen outputs, (q,), or those of k noisings (k, q), negative where one is
                missing.
            log_priors: prior of each observer, (n,); one pass serves all observers.

        Returns:
            Inputs of each observer, with scores ln prior(w) + ln P(u|w).
        """
        n, noisings = self.space.n, np.atleast_2d(outputs)
        distinct = np.unique(noisings)
        distinct = distinct[distinct >= 0]
        # The last column stands for missing outputs.
        columns = np.where(noisings >= 0, np.searchsorted(distinct, noisings), len(distinct))
        numbers = np.arange(noisings.shape[1])
        likeliest = [Likeliest(numbers, min(count, n), np.float32) for _ in log_priors]
        block = max(1, min(self._block, _CELLS // max(len(numbers), 1)))
        for ids in blocks(n, block):
            logs = np.zeros((len(ids), len(distinct) + 1))

            def fill(part: slice, ids: Ids = ids, logs: Floats = logs) -> None:
                logs[part, :-1] = self.log(ids[part], distinct)

            side_by_side(fill, [slice(first, first + _PART) for first in range(0, len(ids), _PART)])
            likelihoods = logs[:, columns[0]]
            for item in columns[1:]:
                likelihoods += logs[:, item]
            for item, log_prior in zip(likeliest, log_priors, strict=True):
                item.add(ids, likelihoods + log_prior[ids, None])
            progress((ids[-1] + 1) / n)
        return likeliest


# The inputs that explain each output of a mechanism best.

MOST_INPUTS: Final = 48
"""Inputs considered for each output at most."""
LEAST_POSTERIOR: Final = 0.001
"""Least posterior probability, before any context, of an input that is considered."""
_PROBABLE: Final = -400.0
"""ln of the least probability that ⊥ has an output of the mechanism."""


def likeliest_inputs(mechanism: Mechanism, space: MetricSpace) -> Arrays:
    """Return the outputs of a mechanism, and the inputs that explain each best; cached.

    Args:
        mechanism: resolved; its output distributions are known.

    Returns:
        ``outputs`` (q,); ``inputs`` (q, s), by prior times likelihood, with ⊥ last and -1 where
        others are too unlikely; ``scores`` (q, s), ln P(output|input).
    """
    name = f"likeliest-5-{MOST_INPUTS}-{mechanism.name}-{mechanism.digest()}"
    return space.table(name, lambda: _build(mechanism, space), of_mechanism=True)


def _build(mechanism: Mechanism, space: MetricSpace) -> Arrays:
    emissions = Emissions(mechanism, space)
    outputs = np.flatnonzero(emissions.unknown > _PROBABLE)
    prior = np.log(space.frequencies)
    sampler = emissions.sampler
    if isinstance(sampler, SparseTable):
        inputs, scores = _by_weights(sampler, outputs, prior)
    else:
        with space.watch("finding the likeliest inputs of each output") as progress:
            likeliest = emissions.candidates(outputs, [prior], MOST_INPUTS, progress)[0]
        inputs, scores = likeliest.inputs, likeliest.scores - prior[np.maximum(likeliest.inputs, 0)]
        scores[inputs < 0] = -np.inf
    joint = np.exp(scores + prior[np.maximum(inputs, 0)])
    unlikely = joint < LEAST_POSTERIOR * joint.sum(axis=1, keepdims=True)
    inputs[unlikely], scores[unlikely] = -1, -np.inf
    unknown = np.full((len(outputs), 1), space.n, dtype=np.int32)
    scores = np.concatenate([scores, emissions.unknown[outputs][:, None]], axis=1)
    return {
        "outputs": outputs,
        "inputs": np.concatenate([inputs, unknown], axis=1),
        "scores": scores.astype(np.float32),
    }


def _by_weights(
    table: SparseTable, outputs: Ids, prior: Floats
) -> tuple[NDArray[np.int32], Floats]:
    """Return the best inputs of each output and ln P(output|input), both (q, MOST_INPUTS).

    An input gives most outputs their common weight.  So the best ones have the output in their near
    set, or are among the most frequent words.
    """
    owners, near, masses = table.near.sets(np.arange(len(prior)))
    more = table.increment * masses.astype(np.float64)
    common = table.common.astype(np.float64)
    totals = np.log(common.sum() + np.bincount(owners, more, minlength=len(prior)))
    usual = np.argsort(totals - prior, kind="stable")[:MOST_INPUTS]
    real = np.isin(near, outputs)  # a public word may be an output of itself alone
    owners, near, more = owners[real], near[real], more[real] + common[near[real]]
    with np.errstate(divide="ignore"):
        log = np.log(more) - totals[owners]
        far = np.log(common[outputs])[:, None] - totals[usual]
    u = np.concatenate([near, np.repeat(outputs, len(usual))])
    w = np.concatenate([owners, np.tile(usual, len(outputs))])
    log = np.concatenate([log, far.ravel()])
    # An input of both kinds counts once, with its own weight, which stands first.
    _, first = np.unique(u * len(prior) + w, return_index=True)
    u, w, log = u[first], w[first], log[first]
    order = np.lexsort((w, -(log + prior[w]), u))
    u, w, log = u[order], w[order], log[order]
    rank = np.arange(len(u)) - np.searchsorted(u, u)
    number = np.searchsorted(outputs, u)
    best = (rank < MOST_INPUTS) & (log > -np.inf)
    inputs = np.full((len(outputs), MOST_INPUTS), -1, dtype=np.int32)
    scores = np.full((len(outputs), MOST_INPUTS), -np.inf)
    inputs[number[best], rank[best]], scores[number[best], rank[best]] = w[best], log[best]
    return inputs, scores
