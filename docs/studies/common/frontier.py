"""Utility and attacks of many mechanisms, and bounds that no LDP mechanism can pass.

The mean cosine of word and output is weighted by public word frequency.
Over a whole vocabulary the mean is exact.  Else the most frequent words are all looked at, and of
the others some that are drawn by frequency: limits come from those.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from common.cosine_bound import certified
from common.draws import Draws, from_draws
from common.equal_losses import Equal
from common.outcomes import Outcomes, from_pmfs
from common.steps import in_steps, part_of
from common.sweeps import label
from common.words import mean_of_words, spread
from dpsan.embeddings.words import Progress
from dpsan.errors import UsageError
from dpsan.mechanisms import MECHANISMS
from dpsan.mechanisms.randomized_response import KnnResponse
from dpsan.mechanisms.tables import Sampler
from dpsan.outcomes.calibrate import Draft
from dpsan.outcomes.distributions import cosines, draw
from dpsan.outcomes.intervals import Estimate
from dpsan.privacy import randomness
from dpsan.privacy.guarantee import Status
from dpsan.space.arrays import Ids, unit_rows
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
        out[epsilon] = certified(space, epsilon)
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
    units = unit_rows(space.vectors)
    return [
        mean_of_words(cosines(units, ids, draw(sampler, ids, own)), math.inf, _RANGE)
        for sampler, _ in in_steps(progress, samplers)
    ]


def _by_frequency(space: MetricSpace, most: int, others: int, key: bytes) -> tuple[Ids, Ids]:
    """The most frequent words, and some of the others by frequency, with replacement."""
    order = np.argsort(-space.frequencies, kind="stable")
    head, rest = order[:most], order[most:]
    edges = np.cumsum(space.frequencies[rest])
    streams = randomness.streams_for(randomness.derive_key(key, "by frequency"), [0], [others])
    places = streams.bits("words")[:, 0].astype(np.float64) * 2.0**-64 * edges[-1]
    return head, rest[np.minimum(np.searchsorted(edges, places, side="right"), len(rest) - 1)]


def comparable(space: MetricSpace) -> tuple[list[Draft], list[str]]:
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
            drafts += [Draft(kind, {"k": size, "outputs": "all"}) for size in (20, 50)]
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


def ceiling(space: MetricSpace, equal: Equal) -> float:
    """The best success of any attack on any mechanism with this loss: docs/proofs.md 4.2."""
    delta, others = equal.mechanism.guarantee(space).delta, space.n - 1
    # (e^epsilon + (n-1) delta)/(e^epsilon + n - 1), without a power that may overflow.
    small = math.exp(-equal.wanted)
    return float(min(1.0, (1 + others * delta * small) / (1 + others * small)))


def by_laws(
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


def by_draws(
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
    for ((at, sampler), cosine), _ in in_steps(part_of(progress, 0.5, 1.0), pairs):
        drawn, unchanged, close, _ = from_draws(words, sampler)
        figures[at] = spread(
            unchanged=unchanged,
            close=close,
            cosine=mean_of_words(words.cosines(drawn), math.inf, (-1.0, 1.0)),
            weighted_cosine=cosine,
            # Guessing the output itself: any attack is a lower bound of the best one.
            bayes=Estimate(unchanged.value, unchanged.low, ceilings[at]),
        )
    return figures
