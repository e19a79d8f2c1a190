"""Posterior of an optimal observer who sees one output.

The observer knows the mechanism, the vocabulary and its word frequencies, sees one output u and
nothing else.  The posterior is P(w|u) = prior(w)·P(u|w)/P(u), where P(u) sums over all inputs, ⊥
included.  No such observer guesses better than the likeliest input (Bayes); an attacker who sees a
whole line knows more.

Where distributions are known and n² allows, all inputs take part.  One pass over them gives P(u)
and the likeliest inputs of every output, and is cached.  Otherwise the observer is given more than
is public: that the input is one of a few words near the output.  P(u|w) is then known, or the share
of fresh draws, and intervals hold for all of those words together (Bonferroni).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.outcomes.distributions import Progress, distributions, draw_counts
from dpsan.outcomes.emissions import Likeliest
from dpsan.outcomes.intervals import Estimate, clopper_pearson
from dpsan.outcomes.one_word import Figures, Row
from dpsan.outcomes.word_statistics import prior
from dpsan.privacy import randomness
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import Arrays, MetricSpace

MOST_CELLS: Final = 2.5e9
"""Largest n² for the pass over all inputs: n = 50,000, some minutes."""
_INPUTS: Final = 5
_NEAR: Final = 10
_FEWEST: Final = 50
"""Least number of draws with an output for its posterior to be estimated."""
_BLOCK_BYTES: Final = 8 << 20
"""Block size in bytes.  Small: memory in reuse need not be cleared by the system each time."""


@dataclass(frozen=True, slots=True)
class Posteriors:
    """Posteriors of outputs, by row numbers."""

    rows: tuple[tuple[int, tuple[Row, ...]], ...]
    """Outputs, each with its likeliest inputs."""
    note: str
    """Inputs that took part, or the reason why there is no posterior."""


@dataclass(frozen=True)
class Observer:
    """The optimal observer of one mechanism on one vocabulary."""

    inputs: Ids
    """Likeliest inputs of every output, shape (5, n), n for ⊥; -1 where there is none."""
    joint: Floats
    """prior(w)·P(u|w) of these inputs, shape (5, n), falling."""
    marginal: Floats
    """P(u), shape (n,)."""

    @property
    def success(self) -> float:
        """Probability that the likeliest input is the true one; ⊥ guessed for ⊥ counts as right."""
        return float(self.joint[0].sum())

    @classmethod
    def build(
        cls, mechanism: Mechanism, sampler: Sampler, space: MetricSpace, progress: Progress
    ) -> Observer:
        """Build from the distribution of every input, through the cache.

        Args:
            progress: called with the share of the work done since the last call.
        """
        name = f"observer-1-{mechanism.name}-{mechanism.digest()}"
        held = space.table(name, lambda: _all_inputs(space, sampler, progress), of_mechanism=True)
        return cls(held["inputs"].astype(np.int64), held["joint"], held["marginal"])

    def posteriors(self, outputs: list[int]) -> Posteriors:
        """Return the posteriors of outputs."""

        def points(u: int) -> tuple[Row, ...]:
            pairs = zip(self.inputs[:, u].tolist(), self.joint[:, u].tolist(), strict=True)
            likely = ((w, value / float(self.marginal[u])) for w, value in pairs if value > 0)
            return tuple(Row(w, Estimate.exactly(value)) for w, value in likely if w >= 0)

        rows = tuple((u, points(u)) for u in outputs)
        return Posteriors(rows, "all inputs, by their public frequencies")


def _all_inputs(space: MetricSpace, sampler: Sampler, progress: Progress) -> Arrays:
    """Compute P(u) and the likeliest inputs of every output."""
    n, weights, marginal = space.n, prior(space), np.zeros(space.n)
    best = Likeliest(np.arange(n), min(_INPUTS, n + 1), np.float64)
    step = max(4, min(256, _BLOCK_BYTES // (8 * n)))
    # ⊥ first, then the words, the most frequent ones first: the rest rarely changes anything.
    for ids in np.split(np.append(n, np.arange(n)), range(step, n + 1, step)):
        joint = distributions(sampler, ids) * weights[ids][:, None]
        marginal += joint.sum(axis=0)
        best.add(ids, joint)
        progress(len(ids) / (n + 1))
    inputs, joint = (np.ascontiguousarray(each.T) for each in (best.inputs, best.scores))
    return {"inputs": inputs, "joint": joint, "marginal": marginal}


def near_observer(
    space: MetricSpace,
    sampler: Sampler,
    figures: Figures,
    draws: int,
    key: bytes,
    known: bool,
    progress: Progress,
) -> Posteriors:
    """Return the posterior of an observer who knows that the input is near the likeliest output.

    The inputs that take part are the word itself, the output and its 10 nearest words.  This is
    more than the public prior, so no posterior of the optimal observer is larger.

    Args:
        draws: fresh draws for each input, where the distribution is not known.
        key: public.
        progress: called with the share of the work done since the last call.
    """
    best = figures.outputs[0]
    if not known and best.probability.value * figures.draws < _FEWEST:
        progress(1.0)
        note = f"no output came {_FEWEST} times, and fewer draws do not tell where it points"
        return Posteriors((), note)
    found = space.neighbors(np.array([best.id], dtype=np.int64), min(_NEAR + 1, space.n))[0]
    ids = np.array(list(dict.fromkeys([*found.tolist(), figures.word])), dtype=np.int64)
    weights = prior(space)[ids]
    if known:
        value = low = high = distributions(sampler, ids)[:, best.id]
        progress(1.0)
    else:
        alpha = 0.01 / (2 * len(ids))

        def count(word: int) -> int:
            own = randomness.derive_key(key, "observer", best.id, word)
            drawn = draw_counts(
                sampler, space.n, word, draws, own, lambda done: progress(done / len(ids))
            )
            return int(drawn[best.id])

        hits = [count(word) for word in ids.tolist()]
        value = np.array(hits) / draws
        ends = np.array([clopper_pearson(each, draws, alpha) for each in hits])
        low, high = ends[:, 0], ends[:, 1]
    # The posterior of each input, with its least and largest value within the bounds.
    own_low, own_high = weights * low, weights * high
    fractions = (
        (weights * value, weights @ value),
        (own_low, own_low + (weights @ high - own_high)),
        (own_high, own_high + (weights @ low - own_low)),
    )
    shares = [
        np.divide(own, every, out=np.zeros(len(ids)), where=own > 0).tolist()
        for own, every in fractions
    ]
    rows = [Estimate(*each) for each in zip(*shares, strict=True)]
    order = sorted(range(len(ids)), key=lambda at: (-rows[at].value, at))[:_INPUTS]
    points = tuple(Row(int(ids[at]), rows[at]) for at in order if rows[at].value > 0)
    note = f"if the input is known to be one of {len(ids)} near ones: more than is public"
    return Posteriors(((best.id, points),), note)
