"""[TeDA]: mechanisms compared where the outputs of two words are told apart equally well.

python docs/studies/teda.py equal -m krr -m exponential -e 8
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from common.command import main
from common.equal_losses import at_equal_losses
from common.outcomes import from_pmfs
from common.study import Asked, Result, Studies
from common.sweeps import label, parameters, repeated
from common.values import at_least, positive
from common.words import random_words

from dpsan.analysis.figures.panels import Panel, Series
from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.outcomes.calibrate.root import solve
from dpsan.outcomes.calibrate.target import Draft, per_nat
from dpsan.outcomes.distributions import distributions, has_distribution
from dpsan.outcomes.shares import in_steps, part_of
from dpsan.privacy import randomness
from dpsan.privacy.certificate import certify
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import MetricSpace

STUDIES: Final = Studies()
_RANK: Final = 10
"""The default distance is the median one to the neighbour of this rank."""
_BLOCK: Final = 32
_TOLERANCE: Final = 2e-3
_JUMP: Final = 0.02
_VARIATION, _LOSS = "indistinguishability", "certified epsilon"


@STUDIES.add(
    "[TeDA]",
    least_words=12,
    uses=frozenset({"mechanisms", "epsilons", "words"}),
    parameters={
        "target": "mean divergence of the two outputs, between 0 and 1; default 0.5",
        "distance": "length between the two words; default: the median one to the tenth neighbour",
        "loss": "nats of the hockey-stick divergence; default 0: total variation",
    },
)
def equal(space: MetricSpace, asked: Asked) -> Result:
    """Mechanisms where two words are told apart equally well, and at equal certified epsilon.

    Epsilon bounds the worst case, and two mechanisms of one epsilon may be told apart very
    differently.  Here each is set so that two words at a given distance have outputs at the same
    total variation, computed exactly, and beside it so that the certified LDP epsilon is the same.
    """
    target = positive(asked.parameters.get("target", 0.5), "--target")
    if target >= 1:
        raise UsageError(f"--target must be < 1 (got {target:g})")
    loss = float(asked.parameters.get("loss", 0.0) or 0.0)
    if not 0 <= loss < math.inf:
        raise UsageError(f"--loss must be >= 0 (got {loss:g})")
    count = at_least(asked.words, 2, 100, "--words")
    key = randomness.seeded_key(f"dpsan study equal {asked.seed}")
    first = random_words(space.n, count, key)
    given = asked.parameters.get("distance")
    second, distance = pairs_at(
        space, first, None if given is None else positive(given, "--distance")
    )
    drafts, notes = _known(space, asked.mechanisms)
    found: list[tuple[str, Draft, Mechanism]] = []
    for draft, progress in in_steps(part_of(asked.progress, 0.0, 0.5), drafts):
        try:
            mechanism = _at_target(draft, space, (first, second), loss, target)
        except UsageError as error:
            notes.append(f"{label(draft)} left out at equal indistinguishability: {error}")
        else:
            found.append((_VARIATION, draft, mechanism))
        progress(1.0)
    wanted = tuple(asked.epsilons) or (8.0,)
    finite = [each for each in drafts if math.isfinite(each.anywhere(space)[1])]
    notes += [
        f"{label(each)} left out at an equal certified epsilon: it has none"
        for each in drafts
        if each not in finite
    ]
    try:
        equals, skipped = at_equal_losses(finite, space, wanted, part_of(asked.progress, 0.5, 0.8))
        notes += skipped
        found += [(_LOSS, draft, each.mechanism) for draft, each in equals]
    except UsageError as error:
        notes.append(f"none at an equal certified epsilon: {error}")
    if not found:
        raise UsageError("no mechanism to compare", "; ".join(notes))
    samplers = [mechanism.prepare(space) for _, _, mechanism in found]
    outcomes = from_pmfs(
        space, first, samplers, similar=True, progress=part_of(asked.progress, 0.8, 1.0)
    )
    rows = []
    for (compared, draft, mechanism), sampler, out in zip(found, samplers, outcomes, strict=True):
        values = apart(sampler, first, second, loss)
        rows.append(
            {
                "equal": compared,
                "mechanism": label(draft),
                "parameters": parameters(mechanism, space),
                "status": str(mechanism.status),
                "epsilon": mechanism.epsilon,
                "epsilon_unit": mechanism.epsilon_unit,
                "certified": _certified(mechanism, space),
                "divergence": float(values.mean()),
                "divergence_most": float(values.max()),
                "unchanged": float(out.unchanged.mean()),
                "close": float(out.close.mean()),
                "cosine": float(out.cosine.mean()),
            }
        )
    what = "total variation" if not loss else f"hockey-stick divergence at {loss:g} nats"
    return Result(
        rows=rows,
        summary={"distance": distance, "divergence": what},
        parameters=repeated(
            asked,
            drafts,
            epsilons=list(wanted),
            target=target,
            distance=distance,
            loss=loss,
            words=len(first),
        ),
        panels=_panels(rows, what),
        caption=f"Mechanisms at an equal mean {what} ({target:g}) of the outputs of two words at "
        f"distance {distance:.4g}, and at an equal certified LDP epsilon; {len(first)} pairs of "
        f"{space.n:,} words, exact distributions. certified: LDP epsilon, nats, over all pairs of "
        "inputs.",
        notes=notes,
    )


def pairs_at(space: MetricSpace, ids: Ids, distance: float | None) -> tuple[Ids, float]:
    """For each word (m,) the other word whose distance is closest to the one given, and that.

    Args:
        distance: None: the median one to the tenth neighbour.
    """
    if distance is None:
        near = np.concatenate(
            [
                np.partition(space.distances(ids[at : at + _BLOCK]), _RANK, axis=1)[:, _RANK]
                for at in range(0, len(ids), _BLOCK)
            ]
        )
        distance = float(np.median(near))
    others = np.empty_like(ids)
    for at in range(0, len(ids), _BLOCK):
        part = ids[at : at + _BLOCK]
        gaps = np.abs(space.distances(part) - distance)
        gaps[np.arange(len(part)), part] = math.inf
        others[at : at + _BLOCK] = np.argmin(gaps, axis=1)
    return others, distance


def apart(sampler: Sampler, first: Ids, second: Ids, loss: float = 0.0) -> Floats:
    """Hockey-stick divergence of the outputs of pairs of inputs, the larger direction, (m,).

    Args:
        first: inputs (m,).
        second: inputs (m,).
        loss: nats; 0: total variation.
    """
    out, growth = np.empty(len(first)), math.exp(loss)
    for at in range(0, len(first), _BLOCK):
        one = distributions(sampler, first[at : at + _BLOCK])
        other = distributions(sampler, second[at : at + _BLOCK])
        out[at : at + _BLOCK] = np.maximum(
            np.maximum(one - growth * other, 0).sum(axis=1),
            np.maximum(other - growth * one, 0).sum(axis=1),
        )
    return out


def _at_target(
    draft: Draft, space: MetricSpace, pairs: tuple[Ids, Ids], loss: float, target: float
) -> Mechanism:
    """The mechanism whose mean divergence is the target, or up to 0.2 % below."""

    def divergence(epsilon: float) -> float:
        mechanism = draft.at(epsilon)
        mechanism.guarantee(space)  # finds what does not fit this vocabulary
        return float(apart(mechanism.prepare(space), *pairs, loss).mean())

    # Two words are told apart once epsilon times their distance is about 1.
    start = 1.0 if draft.kind.is_ldp() else 8 * per_nat(draft, space)
    what = f"mean divergence {target:g}"
    epsilon, reached = solve(
        divergence, target, start, what=what, tolerance=_TOLERANCE, step=math.log(2)
    )
    if reached < target * (1 - _JUMP):
        raise UsageError(f"{what} is jumped over: {reached:.3g} at epsilon {epsilon:g}, then more")
    return draft.at(epsilon)


def _certified(mechanism: Mechanism, space: MetricSpace) -> float:
    """LDP epsilon of all pairs: by the certificate, else by the guarantee; inf where none holds."""
    promised = mechanism.guarantee(space).epsilon_ldp
    found = certify(mechanism, space) if math.isfinite(promised) else None
    return promised if found is None else min(found.epsilon_ldp, promised)


def _known(space: MetricSpace, asked: Sequence[Draft]) -> tuple[list[Draft], list[str]]:
    """Mechanisms whose distributions are known here, and a note on the others.

    Of those that nobody asked for, only the ones that take no integral.
    """
    out, without = [], []
    for draft in asked or [Draft(kind) for kind in MECHANISMS.values()]:
        try:
            mechanism, loss = draft.anywhere(space)
            sampler = mechanism.prepare(space)
            fits = (
                loss > 0 and has_distribution(sampler) and (bool(asked) or not sampler.integrates)
            )
        except UsageError:  # needs a delta, or is not defined on this vocabulary
            fits = False
        if fits:
            out.append(draft)
        else:
            without.append(label(draft))
    note = f"left out, no quick exact distribution or no epsilon to set: {', '.join(without)}"
    return out, [note] if without else []


def _panels(rows: Sequence[Mapping[str, Any]], what: str) -> tuple[Panel, ...]:
    """Similarity against what was not made equal."""
    panels = []
    for compared, x, name in (
        (_VARIATION, "certified", "certified LDP epsilon (nats)"),
        (_LOSS, "divergence", f"mean {what}"),
    ):
        points = [row for row in rows if row["equal"] == compared and math.isfinite(row[x])]
        series = tuple(
            Series(row["mechanism"], (row[x],), (row["cosine"],), style="points") for row in points
        )
        if series:
            title = f"At equal {compared}"
            panels.append(
                Panel(title, name, "mean cosine of word and output", series, log_x=x == "certified")
            )
    return tuple(panels)


if __name__ == "__main__":
    main(STUDIES, __doc__)
