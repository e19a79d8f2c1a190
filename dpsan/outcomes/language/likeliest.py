"""The inputs that explain each output of a mechanism best."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.base import Mechanism
from dpsan.outcomes.emissions import Emissions
from dpsan.privacy.integer_weights import CommonWeights
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import Arrays, MetricSpace

FIRST: Final = 24
"""Inputs considered for each output."""
_PROBABLE: Final = -400.0
"""ln of the least probability that ⊥ has an output of the mechanism."""


def likeliest_inputs(mechanism: Mechanism, space: MetricSpace) -> Arrays:
    """Return the outputs of a mechanism, and the inputs that explain each best; cached.

    Args:
        mechanism: resolved; its output distributions are known.

    Returns:
        ``outputs`` (q,); ``inputs`` (q, s), by prior times likelihood, with ⊥ last and -1 where
        there are too few; ``scores`` (q, s), ln P(output|input).
    """
    name = f"likeliest-3-{FIRST}-{mechanism.name}-{mechanism.digest()}"
    return space.table(name, lambda: _build(mechanism, space))


def _build(mechanism: Mechanism, space: MetricSpace) -> Arrays:
    emissions = Emissions(mechanism, space)
    outputs = np.flatnonzero(emissions.unknown > _PROBABLE)
    prior = np.log(space.frequencies)
    weights = emissions.sampler.integer_weights()
    if isinstance(weights, CommonWeights):
        inputs, scores = _by_weights(weights, outputs, prior)
    else:
        with space.watch("finding the likeliest inputs of each output") as progress:
            found = emissions.candidates(outputs, [prior], FIRST, progress)[0]
        inputs, scores = found.inputs, found.scores - prior[np.maximum(found.inputs, 0)]
        scores[inputs < 0] = -np.inf
    unknown = np.full((len(outputs), 1), space.n, dtype=np.int32)
    return {
        "outputs": outputs,
        "inputs": np.concatenate([inputs, unknown], axis=1),
        "scores": np.concatenate([scores, emissions.unknown[outputs][:, None]], axis=1).astype(
            np.float32
        ),
    }


def _by_weights(
    weights: CommonWeights, outputs: Ids, prior: Floats
) -> tuple[NDArray[np.int32], Floats]:
    """Return the best inputs of each output and ln P(output|input), both (q, FIRST).

    An input gives most outputs their common weight.  So the best ones have the output in their
    near set, or are among the most frequent words.
    """
    rows = [*weights.rows()]
    sizes = [len(each) for each, _ in rows]
    owner = np.repeat(np.arange(len(rows)), sizes)
    held = np.concatenate([each for each, _ in rows]).astype(np.int64)
    mass = np.concatenate([each for _, each in rows]).astype(np.float64)
    common = weights.common.astype(np.float64)
    more = weights.increment * mass
    totals = np.log(common.sum() + np.bincount(owner, more, minlength=len(rows)))
    real = np.isin(held, outputs)  # a public word may be an output of itself alone
    owner, held, more = owner[real], held[real], more[real]
    usual = np.argsort(totals - prior, kind="stable")[:FIRST]
    near = np.log(common[held] + more) - totals[owner]
    with np.errstate(divide="ignore"):
        far = np.log(common[outputs])[:, None] - totals[usual]
    u = np.concatenate([held, np.repeat(outputs, len(usual))])
    w = np.concatenate([owner, np.tile(usual, len(outputs))])
    log = np.concatenate([near, far.ravel()])
    # An input of both kinds counts once, with its own weight, which stands first.
    _, first = np.unique(u * len(rows) + w, return_index=True)
    u, w, log = u[first], w[first], log[first]
    order = np.lexsort((w, -(log + prior[w]), u))
    u, w, log = u[order], w[order], log[order]
    rank = np.arange(len(u)) - np.searchsorted(u, u)
    number = np.searchsorted(outputs, u)
    best = (rank < FIRST) & (log > -np.inf)
    inputs = np.full((len(outputs), FIRST), -1, dtype=np.int32)
    scores = np.full((len(outputs), FIRST), -np.inf)
    inputs[number[best], rank[best]], scores[number[best], rank[best]] = w[best], log[best]
    return inputs, scores
