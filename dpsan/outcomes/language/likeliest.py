"""The inputs that explain each output of a mechanism best."""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.tables.sparse import SparseTable
from dpsan.outcomes.emissions import Emissions
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import Arrays, MetricSpace

FIRST: Final = 48
"""Inputs considered for each output at most."""
LEAST: Final = 0.001
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
    name = f"likeliest-5-{FIRST}-{mechanism.name}-{mechanism.digest()}"
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
            found = emissions.candidates(outputs, [prior], FIRST, progress)[0]
        inputs, scores = found.inputs, found.scores - prior[np.maximum(found.inputs, 0)]
        scores[inputs < 0] = -np.inf
    joint = np.exp(scores + prior[np.maximum(inputs, 0)])
    unlikely = joint < LEAST * joint.sum(axis=1, keepdims=True)
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
    """Return the best inputs of each output and ln P(output|input), both (q, FIRST).

    An input gives most outputs their common weight.  So the best ones have the output in their near
    set, or are among the most frequent words.
    """
    owners, near, masses = table.near.sets(np.arange(len(prior)))
    more = table.increment * masses.astype(np.float64)
    common = table.common.astype(np.float64)
    totals = np.log(common.sum() + np.bincount(owners, more, minlength=len(prior)))
    usual = np.argsort(totals - prior, kind="stable")[:FIRST]
    real = np.isin(near, outputs)  # a public word may be an output of itself alone
    owners, near, more = owners[real], near[real], more[real] + common[near[real]]
    with np.errstate(divide="ignore"):
        log = np.log(more) - totals[owners]
        far = np.log(common[outputs])[:, None] - totals[usual]
    by_row = np.argsort(usual)
    usual, far = usual[by_row], far[:, by_row]
    best = np.argsort(-(far + prior[usual]), axis=1, kind="stable")[:, :FIRST]
    u = np.concatenate([near, np.repeat(outputs, best.shape[1])])
    w = np.concatenate([owners, usual[best].ravel()])
    log = np.concatenate([log, np.take_along_axis(far, best, axis=1).ravel()])
    # An input of both kinds counts once, with its own weight, which stands first.
    _, first = np.unique(u * len(prior) + w, return_index=True)
    u, w, log = u[first], w[first], log[first]
    order = np.lexsort((w, -(log + prior[w]), u))
    u, w, log = u[order], w[order], log[order]
    rank = np.arange(len(u)) - np.searchsorted(u, u)
    number = np.searchsorted(outputs, u)
    held = (rank < FIRST) & (log > -np.inf)
    inputs = np.full((len(outputs), FIRST), -1, dtype=np.int32)
    scores = np.full((len(outputs), FIRST), -np.inf)
    inputs[number[held], rank[held]], scores[number[held], rank[held]] = w[held], log[held]
    return inputs, scores
