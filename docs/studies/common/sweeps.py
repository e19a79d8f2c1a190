"""Mechanisms over epsilons: labels, where a mechanism is defined, grids that show something."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np

from common.steps import in_steps, part_of
from common.study import Asked
from dpsan.errors import UsageError
from dpsan.mechanisms.mechanism import Mechanism
from dpsan.mechanisms.tables import Sampler
from dpsan.outcomes.calibrate import Draft, per_nat
from dpsan.outcomes.distributions import Progress, draw, has_distribution, words_at
from dpsan.privacy import randomness
from dpsan.space.metric_space import MetricSpace

_NATS: Final = tuple(float(each) for each in range(1, 17))
_FEW: Final = 400
"""Words, or draws, that a grid is laid by."""
_BOTTOM: Final = 0.01
_TOP: Final = 0.95
_DOUBLINGS: Final = 30
_STALL: Final = 0.004
"""Where two doublings of epsilon add less, the share of unchanged words has reached its end."""


def label(draft: Draft) -> str:
    """The name with the parameters that were given."""
    return " ".join([draft.kind.name, *(f"{key}={value}" for key, value in draft.values.items())])


def parameters(mechanism: Mechanism, space: MetricSpace) -> str:
    """All parameters but epsilon, as they can be typed, with what ``auto`` stands for."""
    resolved = mechanism.resolved(space)
    return " ".join(f"{name}={getattr(resolved, name)}" for name in mechanism.parameters())


def about(draft: Draft, mechanism: Mechanism, space: MetricSpace) -> dict[str, Any]:
    """The columns that name a mechanism, its parameters and epsilon."""
    return {
        "mechanism": label(draft),
        "parameters": parameters(mechanism, space),
        "epsilon": mechanism.epsilon,
        "epsilon_unit": mechanism.epsilon_unit,
    }


def repeated(asked: Asked, drafts: Sequence[Draft], **own: Any) -> dict[str, Any]:
    """What is needed to make a study again: mechanisms, its own parameters, the seed."""
    return {"mechanisms": [label(draft) for draft in drafts], **own, "seed": asked.seed}


@dataclass(frozen=True)
class Sweep:
    """One mechanism at the epsilons of a study."""

    draft: Draft
    mechanisms: list[Mechanism]
    samplers: list[Sampler]
    exact: bool
    """Whether the distribution of the outputs is known."""
    notes: list[str]
    progress: Progress


def sweeps(
    asked: Asked, space: MetricSpace, drafts: Sequence[Draft], count: int = 12
) -> Iterator[Sweep]:
    """Each mechanism at the epsilons asked for, or at ``count`` of :func:`telling_epsilons`.

    Raises:
        UsageError: a mechanism that is not defined at any of them.
    """
    for draft, progress in in_steps(asked.progress, drafts):
        grid = asked.epsilons or telling_epsilons(draft, space, count)
        progress(0.05)
        mechanisms, notes = defined(draft, space, grid)
        samplers = [each.prepare(space) for each in mechanisms]
        exact = has_distribution(samplers[0])
        yield Sweep(draft, mechanisms, samplers, exact, notes, part_of(progress, 0.05, 1.0))


def defined(
    draft: Draft, space: MetricSpace, epsilons: Sequence[float]
) -> tuple[list[Mechanism], list[str]]:
    """The mechanism at those epsilons where it exists, and a note for each of the others.

    Raises:
        UsageError: it exists for none of them.
    """
    out: list[Mechanism] = []
    notes: list[str] = []
    for epsilon in epsilons:
        try:
            mechanism = draft.at(epsilon)
            mechanism.guarantee(space)  # finds what does not fit this vocabulary
        except UsageError as error:
            if epsilon == epsilons[-1] and not out:
                raise
            notes.append(f"{label(draft)} at epsilon {epsilon:g}: {error}")
        else:
            out.append(mechanism)
    return out, notes


def telling_epsilons(draft: Draft, space: MetricSpace, count: int = 12) -> tuple[float, ...]:
    """Epsilons over which the outputs go from nearly all changed to nearly all unchanged.

    1 ... 16 nats for tables in nats.  Else ``count`` values, evenly spaced on logarithms, from 1 %
    to 95 % of unchanged words, or to where that share rises no more; from where it first rises if
    it is above 1 % wherever the mechanism is defined.  Found with few words and
    public draws; each value is rounded to 3 digits.

    Raises:
        UsageError: wrong parameters.
    """
    mechanism, _ = draft.anywhere(space)
    if mechanism.family == "table" and mechanism.is_ldp():
        return _NATS
    ids = words_at(space, (np.arange(_FEW) + 0.5) / _FEW)
    key = randomness.seeded_key("dpsan calibrate search")
    start = per_nat(draft, space)  # outputs are nearly uniform there
    found: list[tuple[float, float]] = []
    for step in range(_DOUBLINGS):
        epsilon = start * 2**step
        try:
            sampler = draft.at(epsilon).prepare(space)
            shares = sampler.unchanged(ids)
            share = float(np.mean(draw(sampler, ids, key) == ids if shares is None else shares))
        except UsageError:  # outside the mechanism's domain
            if found:
                break
            continue
        found.append((math.log(epsilon), share))
        last = [each for _, each in found[-3:]]
        risen = share > max(2 * _BOTTOM, found[0][1] + _BOTTOM)
        if share >= _TOP or (risen and len(last) == 3 and last[2] - last[0] < _STALL):
            break
    if not found:
        return (mechanism.epsilon,)
    top = min(_TOP, found[-1][1] * 0.98)
    bottom, first = min(_BOTTOM, top / 2), found[0][1]
    if bottom < first < top:  # flat from its least epsilon on: begin where it rises
        bottom = first + _BOTTOM * (top - first)
    low, high = _reached(found, bottom), _reached(found, top)
    if high - low < math.log(2):
        low = high - math.log(2)
    grid = np.exp(np.linspace(low, high, count)).tolist()
    return tuple(dict.fromkeys(float(f"{each:.3g}") for each in grid))


def _reached(found: Sequence[tuple[float, float]], share: float) -> float:
    """Logarithm of epsilon where the share is first reached, between two of those tried."""
    if found[0][1] >= share:
        return found[0][0]
    for (x, before), (other, after) in pairwise(found):
        if after >= share:
            return x + (other - x) * (share - before) / (after - before)
    return found[-1][0]
