"""``frontier``: privacy against utility, every mechanism at the same certified LDP epsilon.

Close share (rank 1 ... 100), share of unchanged words, mean cosine of output and true word, and
the success of the optimal adversary who sees one output and has a uniform prior:
(1/n)·sum over u of max over w of P(u|w).  These means are uniform over the words.  The mean cosine
is also weighted by public word frequency, as a text has them: no epsilon-LDP mechanism that draws
each word by itself has more of it than ``cosine_bound``, up to the rounding of directions.

Knows mechanisms and their outcomes.  Must not know command lines or how a panel is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from dpsan.analysis.study.base import Asked, Panel, Result, Series
from dpsan.analysis.study.by_frequency import bounds, drawn_cosines, exact_cosines
from dpsan.analysis.study.choice import label, parameters, repeated
from dpsan.analysis.study.equal_losses import Equal, at_equal_losses
from dpsan.analysis.study.sample import (
    at_least,
    lines,
    mean_of_words,
    random_words,
    spread,
    whole_words,
)
from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.knn_response import KnnResponse
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.outcomes.calibrate.target import Draft
from dpsan.outcomes.distributions import Progress, has_distribution
from dpsan.outcomes.intervals import Estimate
from dpsan.outcomes.shares import Draws, from_draws, from_pmfs, in_steps, part_of
from dpsan.privacy import randomness
from dpsan.privacy.guarantee import Status
from dpsan.space.arrays import Ids
from dpsan.space.metric_space import MetricSpace

EPSILONS: Final = (2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 14.0, 16.0)
DRAWS: Final = 2000
_SIZES: Final = (20, 50)
"""K of the rows that are compared with ``auto``."""
_CEILING: Final = (
    "bayes_high is what no mechanism of this LDP epsilon exceeds, "
    "(e^epsilon + (n-1) delta)/(e^epsilon + n - 1)"
)
_LIMIT: Final = "bound of every LDP mechanism"
_BOUNDS, _SEARCH, _LAWS = 0.2, 0.5, 0.85
"""Shares of the work after the bounds, after finding epsilons, and after the distributions."""


def run(space: MetricSpace, asked: Asked) -> Result:
    """The table and figure of utility and attacks at equal certified LDP epsilon.

    Args:
        asked: of it are used
            mechanisms: those to compare; default: every one that has a finite LDP epsilon and
                needs no delta.
            epsilons: LDP epsilons, nats; default 2, 4 ... 16.
            words: over how many random words distributions are averaged; 0: all; default: all
                where n² allows.
            draws: for each row without a known distribution; default 2,000.
            seed: of the choice of words and of the draws.

    Raises:
        UsageError: no mechanism reaches any of the epsilons.
    """
    count = at_least(asked.draws, 2, DRAWS, "--draws")
    key = randomness.seeded_key(f"dpsan study frontier {asked.seed}")
    ids = random_words(space.n, at_least(asked.words, 0, whole_words(space.n), "--words"), key)
    wanted = tuple(asked.epsilons) or EPSILONS
    drafts, notes = (list(asked.mechanisms), []) if asked.mechanisms else _comparable(space)
    limits = bounds(space, wanted, part_of(asked.progress, 0.0, _BOUNDS))
    progress = part_of(asked.progress, _BOUNDS, _SEARCH)
    equals, skipped = at_equal_losses(drafts, space, wanted, progress)
    notes += skipped
    ceilings = [_ceiling(space, each) for _, each in equals]
    samplers = {at: each.mechanism.prepare(space) for at, (_, each) in enumerate(equals)}
    known = {at: each for at, each in samplers.items() if has_distribution(each)}
    others = {at: each for at, each in samplers.items() if at not in known}
    progress = part_of(asked.progress, _SEARCH, _LAWS)
    figures = _by_laws(space, ids, known, ceilings, key, progress)
    if others:
        progress = part_of(asked.progress, _LAWS, 1.0)
        figures |= _by_draws(space, others, ceilings, count, key, progress)
    rows = []
    for at, (draft, equal) in enumerate(equals):
        limit = None if limits is None else limits[equal.wanted]
        words = len(ids) if at in known else None
        rows.append(_row(draft, equal, space, figures[at], limit, words, count))
    if limits is None:
        notes.append(
            f"cosine_bound is left out: it looks at all pairs of {space.n:,} words (--vocab-size)"
        )
    if others:
        notes.append(
            "rows with draws: bayes is the success of guessing the output itself, a lower bound "
            f"of the best attack, not in the last panel; {_CEILING}"
        )
    if known and len(ids) < space.n:
        notes.append(
            f"distributions of {len(ids):,} random words of {space.n:,}: bayes is that of guessing "
            f"the output itself, or of the best attack on those words alone if larger; {_CEILING}"
        )
    return Result(
        rows=rows,
        parameters=repeated(asked, drafts, epsilons=list(wanted), words=len(ids), draws=count),
        panels=_panels(rows, limits),
        caption="Every mechanism at the same certified LDP epsilon (pure unless delta is given): "
        "outputs among the 100 nearest words, mean cosine of output and true word by public word "
        "frequency with its bound for words drawn by themselves under pure LDP, and success of the "
        f"optimal one-word adversary with uniform prior; {space.n:,} words, {space.d} "
        "dimensions"
        + (f"; bands and rows with draws: {count:,} draws, 95 % limits." if others else "."),
        notes=notes,
    )


def _comparable(space: MetricSpace) -> tuple[list[Draft], list[str]]:
    """Every mechanism with a finite proved LDP epsilon and no delta, and a note on the others."""
    out: list[Draft] = []
    notes, with_delta, without = [], [], []
    for kind in MECHANISMS.values():
        if any(about.required for about in kind.parameters().values()):
            with_delta.append(kind.name)
            continue
        if kind.name.endswith("-paper") and kind.status is Status.PROVED:
            continue  # the same guarantee as its namesake, by more noise
        drafts = [Draft(kind)]
        if kind is KnnResponse:
            drafts += [Draft(kind, {"k": size, "outputs": "all"}) for size in _SIZES]
        for draft in drafts:
            if kind.status is not Status.PROVED:
                without.append(kind.name)
                continue
            try:
                mechanism, loss = draft.anywhere(space)
            except UsageError as error:
                notes.append(f"{label(draft)} left out: {error}")
                continue
            if 0 < loss < math.inf and not mechanism.guarantee(space).delta:
                out.append(draft)
            else:
                without.append(kind.name)
    if with_delta:
        notes.append(
            f"left out, they need a delta: {', '.join(with_delta)} (name them: -m NAME -p delta=…)"
        )
    if without:
        notes.append(f"left out, no proved pure LDP epsilon to set: {', '.join(without)}")
    return out, notes


def _ceiling(space: MetricSpace, equal: Equal) -> float:
    """The best success of any attack on any mechanism with this loss: docs/proofs.md 4.2."""
    delta, others = equal.mechanism.guarantee(space).delta, space.n - 1
    # (e^epsilon + (n-1) delta)/(e^epsilon + n - 1), without a power that may overflow.
    small = math.exp(-equal.wanted)
    return float(min(1.0, (1 + others * delta * small) / (1 + others * small)))


def _by_laws(
    space: MetricSpace,
    ids: Ids,
    samplers: Mapping[int, Sampler],
    ceilings: Sequence[float],
    key: bytes,
    progress: Progress,
) -> dict[int, Mapping[str, float]]:
    """Figures of mechanisms whose distribution is known, by place."""
    laws = list(samplers.values())
    found = from_pmfs(space, ids, laws, similar=True, progress=part_of(progress, 0.0, 0.85))
    weighted = exact_cosines(space, ids, laws, found, key, part_of(progress, 0.85, 1.0))
    figures = {}
    for at, out, cosine in zip(samplers, found, weighted, strict=True):
        unchanged = mean_of_words(out.unchanged, space.n)
        bayes = Estimate.exactly(float(out.best.sum()) / space.n)
        if len(ids) < space.n:
            # The adversary against these words, or the one who guesses the output itself.
            value, low = max(bayes.value, unchanged.value), max(bayes.value, unchanged.low)
            bayes = Estimate(value, low, max(value, ceilings[at]))
        figures[at] = spread(
            unchanged=unchanged,
            close=mean_of_words(out.close, space.n),
            cosine=mean_of_words(out.cosine, space.n, (-1.0, 1.0)),
            weighted_cosine=cosine,
            bayes=bayes,
        )
    return figures


def _by_draws(
    space: MetricSpace,
    samplers: Mapping[int, Sampler],
    ceilings: Sequence[float],
    count: int,
    key: bytes,
    progress: Progress,
) -> dict[int, Mapping[str, float]]:
    """Figures of mechanisms whose distribution is not known, by place, all from the same words."""
    words = Draws(space, count, key, similar=True)
    others = list(samplers.values())
    weighted = drawn_cosines(space, others, count, key, part_of(progress, 0.0, 0.5))
    figures = {}
    pairs = list(zip(samplers.items(), weighted, strict=True))
    for ((at, sampler), cosine), step in in_steps(part_of(progress, 0.5, 1.0), pairs):
        drawn, unchanged, close, _ = from_draws(words, sampler, step)
        figures[at] = spread(
            unchanged=unchanged,
            close=close,
            cosine=mean_of_words(words.cosines(drawn), math.inf, (-1.0, 1.0)),
            weighted_cosine=cosine,
            # Guessing the output itself: any attack is a lower bound of the best one.
            bayes=Estimate(unchanged.value, unchanged.low, ceilings[at]),
        )
    return figures


def _row(
    draft: Draft,
    equal: Equal,
    space: MetricSpace,
    figures: Mapping[str, float],
    limit: float | None,
    words: int | None,
    draws: int,
) -> Mapping[str, Any]:
    mechanism = equal.mechanism
    delta = mechanism.guarantee(space).delta
    return {
        "mechanism": label(draft),
        "parameters": parameters(mechanism, space),
        "epsilon_ldp": equal.wanted,
        "certified": equal.certified,
        "certificate": "exact" if equal.exact else "guarantee",
        "delta": delta,
        "epsilon": mechanism.epsilon,
        "epsilon_unit": mechanism.epsilon_unit,
        **figures,
        "cosine_bound": None if delta else limit,  # it is for pure LDP
        "words": words,
        "draws": draws if words is None else None,
    }


def _panels(
    rows: Sequence[Mapping[str, Any]], limits: Mapping[float, float] | None
) -> tuple[Panel, ...]:
    nats, close = "certified LDP epsilon (nats)", "share of outputs of rank 1 to 100"
    bayes = "success of the optimal adversary"
    similar = lines(rows, "epsilon_ldp", "weighted_cosine")
    if limits:
        similar += (Series(_LIMIT, tuple(limits), tuple(limits.values()), style="dashed"),)
    panels = [
        Panel("Close words", nats, close, lines(rows, "epsilon_ldp", "close"), y_limits=(0.0, 1.0)),
        Panel("Similarity", nats, "mean cosine by word frequency", similar),
    ]
    # Of mechanisms without a distribution only bounds of that success are known.
    across = lines([row for row in rows if row["draws"] is None], "bayes", "close")
    if across:
        panels.append(
            Panel("Close words by attack", bayes, close, across, log_x=True, y_limits=(0.0, 1.0))
        )
    return tuple(panels)
