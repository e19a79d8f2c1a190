"""Mean cosine of word and output by public word frequency, and what none under LDP can pass.

Knows samplers, public frequencies and the bound of :mod:`dpsan.mechanisms.optimal_response`.  Must
not know how epsilon was found or how a table is shown.

Over a whole vocabulary the mean is exact.  Else the most frequent words are all looked at, and of
the others some that are drawn by frequency: limits come from those.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np

from dpsan.analysis.study.sample import mean_of_words
from dpsan.mechanisms.optimal_response import OptimalResponse
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.outcomes.distributions import Progress, draw
from dpsan.outcomes.intervals import Estimate
from dpsan.outcomes.shares import Outcomes, from_pmfs, in_steps
from dpsan.outcomes.word_statistics import cosines, unit_vectors
from dpsan.privacy import randomness
from dpsan.space.arrays import Ids
from dpsan.space.metric_space import MetricSpace

_RANGE: Final = (-1.0, 1.0)
_LARGEST: Final = 50_000
"""Words up to which the bound is computed: it looks at every pair, a minute for 30,000."""


def bounds(
    space: MetricSpace, epsilons: Sequence[float], progress: Progress
) -> dict[float, float] | None:
    """For each epsilon a mean cosine that no epsilon-LDP mechanism passes: docs/proofs.md 2.9.4.

    It is for cosines of directions rounded to integers, off by at most sqrt(d)/2850.

    Args:
        epsilons: LDP epsilons, nats.

    Returns:
        The bounds, at most 1; None where the vocabulary is too large for them.
    """
    if space.n > _LARGEST:
        return None
    out = {}
    for epsilon, step in in_steps(progress, epsilons):
        best = OptimalResponse(epsilon).optimum(space)
        out[epsilon] = 1.0 if best is None else best.bound
        step(1.0)
    return out


def exact_cosines(
    space: MetricSpace,
    ids: Ids,
    samplers: Sequence[Sampler],
    found: Sequence[Outcomes],
    key: bytes,
    progress: Progress,
) -> list[Estimate]:
    """The mean cosine of each sampler whose distribution is known.

    Args:
        ids: words that were looked at, (m,).
        key: of the choice of other words, where these are not all.
    """
    if len(ids) == space.n:
        return [Estimate.exactly(float(space.frequencies @ each.cosine)) for each in found]
    head, tail = _by_frequency(space, len(ids) // 2, len(ids) - len(ids) // 2, key)
    both = np.concatenate([head, tail])
    share = float(space.frequencies[head].sum())
    out = []
    for each in from_pmfs(space, both, samplers, near=False, similar=True, progress=progress):
        known = float(space.frequencies[head] @ each.cosine[: len(head)])
        rest = mean_of_words(each.cosine[len(head) :], math.inf, _RANGE)
        parts = (known + (1 - share) * part for part in (rest.value, rest.low, rest.high))
        out.append(Estimate(*parts))
    return out


def drawn_cosines(
    space: MetricSpace, samplers: Sequence[Sampler], count: int, key: bytes, progress: Progress
) -> list[Estimate]:
    """The mean cosine of samplers whose distribution is not known, all from the same words.

    Args:
        count: how many words, each drawn by frequency.
        key: public.
    """
    own = randomness.derive_key(key, "outputs by frequency")
    _, ids = _by_frequency(space, 0, count, key)
    units = unit_vectors(space)
    return [
        mean_of_words(cosines(units, ids, draw(sampler, ids, own, step)), math.inf, _RANGE)
        for sampler, step in in_steps(progress, samplers)
    ]


def _by_frequency(space: MetricSpace, most: int, others: int, key: bytes) -> tuple[Ids, Ids]:
    """The most frequent words, and some of the others by frequency, with replacement."""
    order = np.argsort(-space.frequencies, kind="stable")
    head, rest = order[:most], order[most:]
    edges = np.cumsum(space.frequencies[rest])
    streams = randomness.streams_for(randomness.derive_key(key, "by frequency"), [0], [others])
    places = streams.bits("words")[:, 0].astype(np.float64) * 2.0**-64 * edges[-1]
    return head, rest[np.minimum(np.searchsorted(edges, places, side="right"), len(rest) - 1)]
