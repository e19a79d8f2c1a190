"""The inputs that explain each output of a mechanism best."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.base import Mechanism
from dpsan.outcomes.emissions import Emissions
from dpsan.privacy.integer_weights import CommonWeights, TwoLevelWeights
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
    return space.table(name, lambda: _build(mechanism, space))


def _build(mechanism: Mechanism, space: MetricSpace) -> Arrays:
    emissions = Emissions(mechanism, space)
    outputs = np.flatnonzero(emissions.unknown > _PROBABLE)
    prior = np.log(space.frequencies)
    weights = emissions.sampler.integer_weights()
    if isinstance(weights, CommonWeights | TwoLevelWeights):
        inputs, scores = _by_weights(weights, outputs, prior)
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


class _Alike(NamedTuple):
    """Inputs that give most outputs the same probability."""

    inputs: Ids
    """Rows, (i,)."""
    common: Floats
    """Probability of each output times the total of an input, (n,)."""
    totals: Floats
    """ln of the total of each input, (i,)."""
    owners: Ids
    """Index of an input for each output that it gives more often, (r,)."""
    near: Ids
    """These outputs, (r,)."""
    more: Floats
    """``common`` and what is added to it, (r,)."""


def _alike(weights: CommonWeights, inputs: Ids, outputs: Ids, factor: float = 1.0) -> _Alike:
    """Return the words of common weights.

    Args:
        inputs: row of each word for which there are weights.
        outputs: row of each word that has a common weight.
        factor: probability that any of the outputs comes.
    """
    rows = [*weights.rows()]
    owners = np.repeat(np.arange(len(rows)), [len(each) for each, _ in rows])
    near = np.concatenate([each for each, _ in rows]).astype(np.int64)
    more = weights.increment * np.concatenate([each for _, each in rows]).astype(np.float64)
    common = weights.common.astype(np.float64)
    totals = np.log(common.sum() + np.bincount(owners, more, minlength=len(rows)))
    every = np.zeros(int(outputs.max()) + 1)
    every[outputs] = common
    more += common[near]
    totals -= np.log(factor)
    return _Alike(inputs, every, totals, owners, outputs[near], more)


def _groups(weights: CommonWeights | TwoLevelWeights) -> Iterator[_Alike]:
    plain = weights if isinstance(weights, CommonWeights) else weights.plain
    every = np.arange(len(plain.common))
    others = _alike(plain, every, every)
    if isinstance(weights, CommonWeights):
        yield others
        return
    classes, base = weights.classes, plain.common / weights.total
    of_class = np.isin(every, np.concatenate(classes.rows))
    rest = ~of_class[others.owners]
    yield others._replace(
        inputs=every[~of_class],
        totals=others.totals[~of_class],
        owners=(np.cumsum(~of_class) - 1)[others.owners[rest]],
        near=others.near[rest],
        more=others.more[rest],
    )
    for rows, part in zip(classes.rows, classes.parts, strict=True):
        outside = base.copy()
        outside[rows[part.common > 0]] = 0.0
        own = _alike(part, rows, rows, 1 - float(outside.sum()))
        # All words of a class have one total.
        common = outside * np.exp(own.totals.max())
        common[: len(own.common)] += own.common
        yield own._replace(common=common)


def _by_weights(
    weights: CommonWeights | TwoLevelWeights, outputs: Ids, prior: Floats
) -> tuple[NDArray[np.int32], Floats]:
    """Return the best inputs of each output and ln P(output|input), both (q, FIRST).

    An input gives most outputs the common weight of its group.  So the best ones have the output in
    their near set, or are among the most frequent words of their group.
    """
    near_parts, far_parts, usual_parts = [], [], []
    with np.errstate(divide="ignore"):
        for group in _groups(weights):
            real = np.isin(group.near, outputs)  # a public word may be an output of itself alone
            owners = group.owners[real]
            log = np.log(group.more[real]) - group.totals[owners]
            near_parts.append((group.near[real], group.inputs[owners], log))
            usual = np.argsort(group.totals - prior[group.inputs], kind="stable")[:FIRST]
            usual_parts.append(group.inputs[usual])
            far_parts.append(np.log(group.common[outputs])[:, None] - group.totals[usual])
    usual, far = np.concatenate(usual_parts), np.concatenate(far_parts, axis=1)
    by_row = np.argsort(usual)
    usual, far = usual[by_row], far[:, by_row]
    best = np.argsort(-(far + prior[usual]), axis=1, kind="stable")[:, :FIRST]
    u, w, log = (np.concatenate(each) for each in zip(*near_parts, strict=True))
    u = np.concatenate([u, np.repeat(outputs, best.shape[1])])
    w = np.concatenate([w, usual[best].ravel()])
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
