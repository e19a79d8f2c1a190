"""``deniability``: how often a word stays (N_w) and how many words can stand for it (S_w).

N_w is the probability that the output is the word itself, S_w the number of distinct outputs in
1,000 draws.  A mechanism is deniable where N_w is small and S_w large.  Where the distribution is
known, N_w is exact and S_w is its expectation, sum over u of 1 - (1 - P(u|w))^1000.

Knows mechanisms and words as numbers.  Must not know command lines or how a panel is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.analysis.study.base import Asked, Panel, Result
from dpsan.analysis.study.choice import about, label, repeated, sweeps
from dpsan.analysis.study.sample import (
    at_least,
    lines,
    mean_of_words,
    random_words,
    share_of_draws,
    spread,
)
from dpsan.mechanisms.exponential import Exponential
from dpsan.mechanisms.knn_response import KnnResponse
from dpsan.mechanisms.laplace import Laplace
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.outcomes.calibrate.target import Draft
from dpsan.outcomes.distributions import Progress, draw
from dpsan.outcomes.shares import from_pmfs, in_steps
from dpsan.privacy import randomness
from dpsan.space.arrays import Floats
from dpsan.space.metric_space import MetricSpace

DRAWS: Final = 1000
_KINDS: Final = (Laplace, Exponential, KnnResponse)
_WORDS: Final = 1000
_DRAWN_WORDS: Final = 50
"""Words of a mechanism without a distribution: each costs 1,000 draws for each epsilon."""
_STEPS: Final = 8
_QUANTILES: Final = {"p5": 0.05, "p50": 0.5, "p95": 0.95}


def run(space: MetricSpace, asked: Asked) -> Result:
    """N_w and S_w, their means and quantiles over words, against epsilon and each other.

    Args:
        asked: of it are used
            mechanisms: any.
            epsilons: in the unit of each mechanism; default: a grid for each, from nearly all
                words changed to nearly all unchanged.
            words: how many random words; 0: all; default 1,000 where the distribution is
                known, else 50.
            draws: that S_w counts distinct outputs in; default 1,000.
            seed: of the choice of words and of the draws.

    Raises:
        UsageError: a mechanism that is not defined at any epsilon.
    """
    count = at_least(asked.draws, 2, DRAWS, "--draws")
    at_least(asked.words, 0, 0, "--words")
    key = randomness.seeded_key(f"dpsan study deniability {asked.seed}")
    drafts = list(asked.mechanisms) or [Draft(kind) for kind in _KINDS]
    rows: list[Mapping[str, Any]] = []
    notes: list[str] = []
    for each in sweeps(asked, space, drafts, _STEPS):
        notes += each.notes
        many = (_WORDS if each.exact else _DRAWN_WORDS) if asked.words is None else asked.words
        ids = random_words(space.n, many, key)
        if each.exact:
            pairs = [
                (out.unchanged, out.distinct)
                for out in from_pmfs(space, ids, each.samplers, draws=count, progress=each.progress)
            ]
        else:
            own = randomness.derive_key(key, "outputs")
            pairs = [
                _drawn(sampler, ids, count, own, progress)
                for sampler, progress in in_steps(each.progress, each.samplers)
            ]
        rows += [
            {**about(each.draft, mechanism, space), **_row(space, *pair, each.exact, count)}
            for mechanism, pair in zip(each.mechanisms, pairs, strict=True)
        ]
    return Result(
        rows=rows,
        parameters=repeated(
            asked,
            drafts,
            epsilons=list(asked.epsilons) or "a grid for each mechanism",
            words="default" if asked.words is None else asked.words,
            draws=count,
        ),
        panels=_panels(drafts, rows, count),
        caption=f"N_w: probability that a word stays; S_w: distinct outputs in {count:,} draws; "
        f"means over random words of {space.n:,} ({space.d} dimensions), bands: 95 % limits of "
        "the mean. Known distributions: N_w exact for each word, S_w its expectation.",
        notes=notes,
    )


def _drawn(
    sampler: Sampler, ids: NDArray[np.int64], count: int, key: bytes, progress: Progress
) -> tuple[Floats, Floats]:
    """N_w and S_w counted in ``count`` draws of each word, (m,) each."""
    drawn = draw(sampler, np.repeat(ids, count), key, progress).reshape(len(ids), count)
    drawn.sort(axis=1)
    distinct = 1.0 + (np.diff(drawn, axis=1) > 0).sum(axis=1)
    return (drawn == ids[:, None]).mean(axis=1), distinct


def _row(
    space: MetricSpace, unchanged: Floats, distinct: Floats, exact: bool, draws: int
) -> Mapping[str, Any]:
    # Draws have a spread of their own, which is left over when all words are taken.
    population = space.n if exact else math.inf
    stays = mean_of_words(unchanged, population)
    if not exact:  # where hardly a draw stays, words look more alike than they are
        pooled = share_of_draws(round(float(unchanged.sum()) * draws), len(unchanged) * draws)
        stays = replace(stays, low=min(stays.low, pooled.low), high=max(stays.high, pooled.high))
    outputs = mean_of_words(distinct, population, (1.0, float(min(draws, space.n))))
    quantiles = {
        f"{name}_{end}": float(np.quantile(values, share))
        for name, values in (("unchanged", unchanged), ("distinct", distinct))
        for end, share in _QUANTILES.items()
    }
    means = spread(unchanged=stays, distinct=outputs)
    return {**means, **quantiles, "words": len(unchanged), "draws": draws, "exact": exact}


def _panels(
    drafts: Sequence[Draft], rows: Sequence[Mapping[str, Any]], draws: int
) -> tuple[Panel, ...]:
    """N_w and S_w against epsilon for each unit of epsilon, and S_w against N_w for all."""
    stays, differ = "N_w: probability unchanged", f"S_w: distinct outputs in {draws:,} draws"
    panels = []
    for ldp in dict.fromkeys(each.kind.is_ldp() for each in drafts):
        kinds = {label(each): each.kind for each in drafts if each.kind.is_ldp() == ldp}
        own = [row for row in rows if row["mechanism"] in kinds]
        across = f"epsilon ({next(iter(kinds.values())).unit_label()})"
        share, distinct = (lines(own, "epsilon", name) for name in ("unchanged", "distinct"))
        panels += [
            Panel("N_w against epsilon", across, stays, share, log_x=not ldp, y_limits=(0.0, 1.0)),
            Panel("S_w against epsilon", across, differ, distinct, log_x=not ldp),
        ]
    both = lines(rows, "unchanged", "distinct")
    return *panels, Panel("S_w against N_w", stays, differ, both)
