"""What a reader can conclude from an output: the posterior of an optimal observer.

Knows samplers and public word frequencies.  Must not know strings.

The observer knows the mechanism, the vocabulary and how frequent its words are, sees one output u
and nothing else, and holds P(w|u) = prior(w)·P(u|w)/P(u), P(u) = sum over all inputs, ⊥ included.
Guessing the likeliest input is the best that such an observer can do (Bayes); a reader of a whole
line knows more.

Where the law is known and n² allows, all inputs take part: one pass over the law gives P(u) and
the likeliest inputs of every output, and is kept in the cache.  Otherwise the observer is given
more than is public: that the input is one of a few words near the output.  P(u|w) is then the law,
or the share of fresh draws, and intervals hold for all of those words together (Bonferroni).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.analysis.explain.result import Point, Posteriors
from dpsan.mechanisms.base import Sampler
from dpsan.outcomes.draws import draw_counts
from dpsan.outcomes.intervals import Estimate, clopper_pearson
from dpsan.outcomes.one_word import Figures
from dpsan.privacy import randomness
from dpsan.sanitize.sanitizer import Sanitizer
from dpsan.space.metric_space import MetricSpace

__all__ = ["MOST_CELLS", "UNKNOWN_PRIOR", "Observer", "Point", "near_observer", "prior"]

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]

MOST_CELLS: Final = 2.5e9
"""Largest n² for the pass over the whole law: n = 50,000, some minutes."""
UNKNOWN_PRIOR: Final = 0.06
"""Prior of ⊥: the share of tokens of AG News and SST-2 that the bundled vocabulary lacks."""
_INPUTS: Final = 5
_NEAR: Final = 10
_FEWEST: Final = 50
"""Draws in which an output must have come for its posterior to be estimated."""
_BLOCK_BYTES: Final = 8 << 20
"""Small: memory that is used again need not be cleared by the system each time."""


def prior(space: MetricSpace) -> Floats:
    """Public frequencies of the inputs, shape (n + 1,), ⊥ last; they sum to 1.

    See :func:`dpsan.embeddings.frequencies.word_frequencies`.
    """
    return np.append(space.frequencies * (1 - UNKNOWN_PRIOR), UNKNOWN_PRIOR)


@dataclass(frozen=True)
class Observer:
    """The optimal observer of one mechanism on one vocabulary."""

    inputs: Ids
    """The likeliest inputs of every output, shape (5, n), n for ⊥; -1 where there is none."""
    joint: Floats
    """prior(w)·P(u|w) of those, shape (5, n), falling."""
    marginal: Floats
    """P(u), shape (n,)."""

    @property
    def success(self) -> float:
        """Probability that the likeliest input is the true one; to say ⊥ of ⊥ counts as right."""
        return float(self.joint[0].sum())

    @classmethod
    def build(
        cls, sanitizer: Sanitizer, sampler: Sampler, told: Callable[[float], None]
    ) -> Observer:
        """From the law of every input, through the cache.

        Args:
            sanitizer: names the law.
            sampler: its law must be known.
            told: the share of the work done since the last call.
        """
        space = sanitizer.space
        law = hashlib.sha256(repr(vars(sanitizer.mechanism)).encode()).hexdigest()
        name = f"observer-1-{sanitizer.mechanism.name}-{law}"
        held = space.table(name, lambda: _pass(space, sampler, told))
        return cls(held["inputs"].astype(np.int64), held["joint"], held["marginal"])

    def posteriors(self, outputs: list[int]) -> Posteriors:
        """What these outputs point to."""
        rows = []
        for u in outputs:
            pairs = zip(self.inputs[:, u].tolist(), self.joint[:, u].tolist(), strict=True)
            rows.append(
                (
                    u,
                    tuple(
                        Point(w, Estimate.exactly(value / float(self.marginal[u])))
                        for w, value in pairs
                        if w >= 0 and value > 0
                    ),
                )
            )
        return Posteriors(tuple(rows), "all inputs, by their public frequencies")


def _pass(
    space: MetricSpace, sampler: Sampler, told: Callable[[float], None]
) -> dict[str, NDArray[Any]]:
    """P(u) and the likeliest inputs of every output, over the law of every input."""
    n, weights = space.n, prior(space)
    kept = min(_INPUTS, n + 1)
    joint, inputs = np.full((kept, n), -1.0), np.full((kept, n), -1, dtype=np.int32)
    marginal = np.zeros(n)
    step = max(4, min(256, _BLOCK_BYTES // (8 * n)))
    # ⊥ first, then the words, the most frequent ones first: the rest rarely changes anything.
    order = np.append(n, np.arange(n))
    for at in range(0, n + 1, step):
        ids = order[at : at + step]
        law = sampler.probabilities(ids)
        if law is None:
            raise AssertionError
        law = law * weights[ids][:, None]
        marginal += law.sum(axis=0)
        changed = np.flatnonzero(law.max(axis=0) > joint[-1])
        both = np.concatenate([joint[:, changed], law[:, changed]])
        best = np.argsort(-both, axis=0, kind="stable")[:kept]
        names = np.concatenate([inputs[:, changed], np.repeat(ids[:, None], len(changed), 1)])
        joint[:, changed] = np.take_along_axis(both, best, axis=0)
        inputs[:, changed] = np.take_along_axis(names, best, axis=0)
        told(len(ids) / (n + 1))
    return {"inputs": inputs, "joint": joint, "marginal": marginal}


def near_observer(
    sanitizer: Sanitizer,
    sampler: Sampler,
    figures: Figures,
    draws: int,
    key: bytes,
    known: bool,
    told: Callable[[float], None],
) -> Posteriors:
    """The posterior of an observer who knows that the input is near the likeliest output.

    The inputs that take part are the word itself, the output and its 10 nearest words.  To know
    that is more than the public prior, so no probability of the optimal observer is larger.

    Args:
        sanitizer: vocabulary and mechanism.
        sampler: its sampler.
        figures: of the word.
        draws: for each input, fresh ones, where the law is not known.
        key: public.
        known: whether the law is.
        told: the share of the work done since the last call.
    """
    space = sanitizer.space
    best = figures.outputs[0]
    if not known and best.probability.value * figures.draws < _FEWEST:
        told(1.0)
        return Posteriors(
            (), f"no output came {_FEWEST} times, and fewer draws do not tell where it points"
        )
    found = space.neighbors(np.array([best.id], dtype=np.int64), min(_NEAR + 1, space.n))[0]
    ids = np.array(list(dict.fromkeys([*found.tolist(), figures.word])), dtype=np.int64)
    weights = prior(space)[ids]
    if known:
        law = sampler.probabilities(ids)
        if law is None:
            raise AssertionError
        value = low = high = law[:, best.id]
        told(1.0)
    else:
        alpha = 0.01 / (2 * len(ids))

        def count(word: int) -> int:
            own = randomness.derive_key(key, "observer", best.id, word)
            part = 1 / len(ids)
            drawn = draw_counts(sampler, space.n, word, draws, own, lambda done: told(part * done))
            return int(drawn[best.id])

        hits = [count(word) for word in ids.tolist()]
        value = np.array(hits) / draws
        ends = np.array([clopper_pearson(each, draws, alpha) for each in hits])
        low, high = ends[:, 0], ends[:, 1]
    rows = _bayes(weights, value, low, high)
    order = sorted(range(len(ids)), key=lambda at: (-rows[at].value, at))[:_INPUTS]
    points = tuple(Point(int(ids[at]), rows[at]) for at in order if rows[at].value > 0)
    return Posteriors(
        ((best.id, points),),
        f"if the input is known to be one of {len(ids)} near ones: more than is public",
    )


def _bayes(weights: Floats, value: Floats, low: Floats, high: Floats) -> list[Estimate]:
    """Posterior of each input and what it can be at most and at least within the bounds."""
    total = float(weights @ value)
    out = []
    for at in range(len(weights)):
        own_low, own_high = float(weights[at] * low[at]), float(weights[at] * high[at])
        others_low = float(weights @ low) - own_low
        others_high = float(weights @ high) - own_high
        out.append(
            Estimate(
                float(weights[at] * value[at]) / total if total else 0.0,
                own_low / (own_low + others_high) if own_low else 0.0,
                own_high / (own_high + others_low) if own_high else 0.0,
            )
        )
    return out
