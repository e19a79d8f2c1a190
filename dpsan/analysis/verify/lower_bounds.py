"""Lower bounds of the privacy loss from draws, which can refute a claim.

Phase 1 draws from many inputs and chooses pairs and events that look worst.  Phase 2 draws afresh
from those and bounds the loss from below:

    epsilon_lower = ln((p_low - delta) / q_high),

with one-sided Clopper-Pearson bounds p_low and q_high for the probability of the event under the
two inputs.  All of phase 2 together errs with probability at most 1 - confidence (Bonferroni over
pairs and both bounds).  Sampling can disprove a guarantee, never prove it.

A bound sees what an attacker sees: outputs, by the code of ``rewrite``.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import permutations
from typing import Any, Final

import numpy as np

from dpsan.analysis.pages import by_name
from dpsan.outcomes.intervals import clopper_pearson
from dpsan.space.arrays import Floats, Ids

Draw = Callable[[str, int, int], Sequence[str]]
"""(input string, number of draws, phase) -> outputs, independent and fresh in every call."""

_TELLING: Final = 8
"""Number of inputs that are drawn again in phase 1."""
_FINALISTS: Final = 3
"""Pairs and events that go from phase 1 to phase 2."""
_FEWEST: Final = 50
"""Least number of draws of an input."""
_CAUTION: Final = 2.5
"""Standard errors that are subtracted from the estimates of phase 1."""


def epsilon_lower(p: tuple[int, int], q: tuple[int, int], delta: float, alpha: float) -> float:
    """Return a lower bound of the loss from (hits, draws) under two inputs.

    Args:
        delta: delta of the claim.  The bound is -inf where the event is no more likely than delta.
        alpha: error probability of the bound.
    """
    low = clopper_pearson(*p, alpha / 2)[0]
    high = clopper_pearson(*q, alpha / 2)[1]
    return math.log((low - delta) / high) if low > delta else -math.inf


@dataclass(frozen=True)
class Question:
    """Inputs and the claim that may be refuted.

    Args:
        inputs: strings whose outputs are compared in pairs.
        allowed: (x, x') positions -> the largest loss that the claim permits.
        delta: delta of the claim.
    """

    inputs: Sequence[str]
    allowed: Callable[[int, int], float]
    delta: float = 0.0
    positions: Callable[[Sequence[str]], Floats] | None = None
    """Maps k outputs to components in the direction of each input, (k, inputs), for mechanisms that
    add noise to points.  Few draws show little about single outputs of a large vocabulary; the half
    space between two inputs shows more."""
    same: Callable[[int, int], bool] = lambda x, y: False
    """True if two positions stand for one input, as a word and its capitalized form do.  One such
    pair is tried.  It is never called the tightest, since its true loss is zero."""


@dataclass(frozen=True)
class Finding:
    """Pair and event of phase 2 with the largest share of the allowed loss."""

    epsilon_lower: float
    allowed: float
    confidence: float
    draws: int
    """Number of draws in both phases."""
    pair: tuple[str, str]
    event: tuple[str, ...] = field(repr=False, metadata={"shown": True})
    ceiling: float = math.inf
    """Largest ``epsilon_lower`` that so many draws can show of any mechanism."""
    event_other: int = 0
    """Outputs of the event that are left out: OOV words or capitals left unchanged."""

    @property
    def seen(self) -> float:
        """Share of the allowed loss that the draws have shown."""
        shown = max(self.epsilon_lower, 0.0)
        return shown / self.allowed if self.allowed else math.inf if shown else 0.0

    @property
    def violated(self) -> bool:
        """True if the claim is refuted."""
        return self.epsilon_lower > self.allowed

    def as_json(self) -> dict[str, Any]:
        """Return JSON values."""
        return {**by_name(self), "seen": self.seen}


def search(draw: Draw, question: Question, *, draws: int, confidence: float) -> Finding:
    """Look for a violation; else return the pair with the largest share of its allowed loss.

    At most one pair of equal inputs goes on to phase 2.

    Args:
        draw: the program under test.
        question: inputs and claim.
        draws: budget of both phases together.
        confidence: probability that no valid claim is called violated.
    """
    spent = 0

    def sample(positions: Sequence[int], budget: int, phase: int) -> dict[int, list[str]]:
        nonlocal spent
        out = {}
        count = max(_FEWEST, budget // len(positions))
        for place in positions:
            out[place] = list(draw(question.inputs[place], count, phase))
            spent += count
        return out

    # Phase 1: all inputs with few draws, then the telling ones with many.
    wide = _halves(sample(range(len(question.inputs)), int(0.3 * draws), 1))
    telling = _inputs_of(_rank(*wide, question))
    deep = _halves(sample(telling, int(0.3 * draws), 1))
    earlier = {place: wide[0][place] + wide[1][place] + deep[0][place] for place in telling}
    ranked = _rank(earlier, deep[1], question)
    equal = [event for event in ranked if question.same(event[1], event[2])][:1]
    apart = [event for event in ranked if not question.same(event[1], event[2])]
    finalists = apart[: _FINALISTS - len(equal)] + equal
    # Phase 2: fresh draws for those alone.
    alpha = (1 - confidence) / len(finalists)
    budget = (draws - spent) // len(finalists)
    findings: list[tuple[bool, Finding]] = []
    for _, x, y, chosen in finalists:
        fresh, event = sample((x, y), budget, 2), chosen()
        p, q = ((sum(place in event for place in fresh[at]), len(fresh[at])) for at in (x, y))
        shown = epsilon_lower(p, q, question.delta, alpha)
        ceiling = epsilon_lower((p[1], p[1]), (0, q[1]), question.delta, alpha)
        allowed, pair = question.allowed(x, y), (question.inputs[x], question.inputs[y])
        finding = Finding(shown, allowed, confidence, 0, pair, tuple(sorted(event)), ceiling)
        findings.append((question.same(x, y), finding))
    every = [finding for _, finding in findings]
    if violated := [finding for finding in every if finding.violated]:
        worst = max(violated, key=lambda finding: finding.epsilon_lower - finding.allowed)
    else:
        unlike = [finding for same, finding in findings if not same]
        worst = max(unlike or every, key=lambda finding: finding.seen)
    return replace(worst, draws=spent)


Samples = dict[int, list[str]]
Candidate = tuple[float, int, int, Callable[[], frozenset[str]]]
"""Score, x, x' and event.  The event is a function: only finalists need theirs."""


def _halves(samples: Samples) -> tuple[Samples, Samples]:
    """Split each sample in two."""
    first = {at: sample[: len(sample) // 2] for at, sample in samples.items()}
    return first, {at: sample[len(sample) // 2 :] for at, sample in samples.items()}


def _inputs_of(candidates: list[Candidate]) -> list[int]:
    """Return the inputs of the best candidates, at most ``_TELLING``."""
    out: dict[int, None] = {}
    for _, x, y, _ in candidates:
        if len(out | {x: None, y: None}) > _TELLING:
            break
        out |= {x: None, y: None}
    return list(out)


def _rank(ordering: Samples, judging: Samples, question: Question) -> list[Candidate]:
    """Rank the worst-looking events of all pairs of inputs by what phase 2 could show of them.

    One sample orders the outputs, another judges the events.  An event chosen by the draws that
    judge it would look worse than it is.
    """
    drawn = [*ordering.values(), *judging.values()]
    outputs = sorted({output for sample in drawn for output in sample})
    number = {output: at for at, output in enumerate(outputs)}

    def count(samples: Samples) -> dict[int, Floats]:
        rows = {at: [number[entry] for entry in sample] for at, sample in samples.items()}
        many = len(outputs)
        return {at: np.bincount(row, minlength=many).astype(float) for at, row in rows.items()}

    first, second = count(ordering), count(judging)
    components = None if question.positions is None else question.positions(outputs)

    def worst(x: int, y: int) -> tuple[float, Ids]:
        shown = np.flatnonzero(first[x])
        scale = len(ordering[x]) / len(ordering[y])
        ratio = (first[x][shown] + 0.25) / (scale * first[y][shown] + 0.5)
        orders = [shown[np.argsort(-ratio, kind="stable")]]
        if components is not None:
            orders.append(np.argsort(components[:, y] - components[:, x], kind="stable"))
        draws = len(judging[x]), len(judging[y])
        events = [
            (*_worst_prefix(second[x][order], second[y][order], draws, question.delta), order)
            for order in orders
        ]
        score, size, order = max(events, key=lambda entry: entry[0])
        return score, order[:size]

    def event(x: int, y: int) -> frozenset[str]:
        return frozenset(outputs[at] for at in worst(x, y)[1].tolist())

    out: list[Candidate] = [
        (worst(x, y)[0] - question.allowed(x, y), x, y, partial(event, x, y))
        for x, y in permutations(ordering, 2)
    ]
    return sorted(out, key=lambda entry: -entry[0])


def _worst_prefix(p: Floats, q: Floats, draws: tuple[int, int], delta: float) -> tuple[float, int]:
    """Return the prefix of ordered outputs with the largest cautious estimate of the loss.

    Every event that a likelihood-ratio test would use is a prefix in the order of that ratio
    (Neyman-Pearson).  Some standard errors and counts are subtracted, so that noise is not taken
    for loss.

    Args:
        p: counts of the first input, in order.
        q: counts of the second.
        draws: number of draws of each input.
        delta: delta of the claim.
    """
    hits_p, hits_q = np.cumsum(p), np.cumsum(q)
    # The spread of a count is that of a binomial: none left where nearly all draws are hits.
    spread_p = _CAUTION * np.sqrt(np.maximum(hits_p * (1 - hits_p / draws[0]), 0))
    spread_q = _CAUTION * np.sqrt(np.maximum(hits_q * (1 - hits_q / draws[1]), 0))
    cautious_p = np.maximum(hits_p - spread_p, 0.01) / draws[0] - delta
    cautious_q = (hits_q + spread_q + 2) / draws[1]
    scores = np.log(np.maximum(cautious_p, 1e-300) / cautious_q)
    best = int(np.argmax(scores))
    return float(scores[best]), best + 1
