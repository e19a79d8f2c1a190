"""``class-response``: randomized response within the public class of a word, for ``--only``.

Definition
    Each word has one public class, or none.  O_k holds the M_k outputs of class k, and S_w the
    K_k outputs most similar to w.  For a word w of class k, u in O_k:
    P(u|w) = e^epsilon_k/Z_k for u in S_w, 1/Z_k for the others, Z_k = K_k·e^epsilon_k + M_k - K_k.
    A class of fewer than 60 words is drawn uniformly: epsilon_k is 0.  ⊥ belongs to one class and
    gives a uniform output of it.  A word of no class is written unchanged.
Guarantee
    PROVED: for two inputs x, x' of one class, P(u|x) <= e^epsilon_k·P(u|x').  Z_k is the same for
    all words of the class.  Which class a word has is not protected, nor is any word of no class.
Proof
    docs/proofs.md 4.7
Source
    This project; block-structured LDP [Acharya20].
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.base import Embeddings
from dpsan.errors import check_positive
from dpsan.mechanisms.base import IntegerResponse
from dpsan.mechanisms.optimal.sampler import FEW_BITS, BaseResponseSampler
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.mechanisms.tables.near_sets import Base
from dpsan.privacy.certificate import Certificate
from dpsan.privacy.guarantee import ClassLoss, Guarantee
from dpsan.privacy.integer_weights import ClassWeights
from dpsan.privacy.randomness import Streams
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import MetricSpace

SMALL: Final = 60
"""Words below which a class is drawn uniformly."""


class Part(NamedTuple):
    """Words that are drawn among each other."""

    name: str
    """Name of the class."""
    epsilon: float
    """LDP epsilon between two of its words, nats; 0: uniform."""
    rows: tuple[int, ...]
    outputs: tuple[int, ...]
    """Row numbers, all among ``rows``."""


def part(name: str, epsilon: float, rows: tuple[int, ...], outputs: tuple[int, ...]) -> Part:
    """Return the words of a class; uniform if they are few."""
    return Part(name, 0.0 if len(rows) < SMALL else epsilon, rows, outputs)


def near_outputs(outputs: int, epsilon: float) -> int:
    """Return K: with it the mean similarity of input and output is nearly the largest.

    Three fifths of K would raise it by .006, and an output would say a tenth more of its input.
    """
    if not epsilon:
        return outputs
    near = outputs / (1 + math.exp(min(epsilon, 60.0)) / 4.5)
    return max(1, min(outputs, math.floor(near + 0.5)))


@dataclass(frozen=True)
class ClassResponse(IntegerResponse):
    """Randomized response within the class of a word."""

    name: ClassVar[str] = "class-response"
    summary: ClassVar[str] = "randomized response within the public class of a word"
    source: ClassVar[str] = "dpsan §class-response"
    reads_vectors: ClassVar[bool] = True

    parts: tuple[Part, ...] = field(default=(), repr=False)
    unknown: int = 0
    """Index of the part to which ⊥ belongs."""
    strings: tuple[tuple[str, float], ...] = ()
    """Classes of strings, which are drawn by their form and not as words, and their epsilons."""
    euclidean: bool = False
    """Similar means near by the distance of the space, as in ``knn-response``; else by cosine."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for each in self.parts:
            if each.epsilon:
                check_positive(f"the epsilon of the class {each.name}", each.epsilon)

    def rows(self, space: MetricSpace) -> Ids:
        """Return the row numbers of the words that have a class."""
        return np.array([row for each in self.parts for row in each.rows], dtype=np.int64)

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Pure LDP between two words of one class."""
        losses: dict[str, ClassLoss] = {name: ClassLoss(name, x, 0) for name, x in self.strings}
        for each in self.parts:
            known = losses.get(each.name, ClassLoss(each.name, 0.0, 0))
            losses[each.name] = ClassLoss(
                each.name, max(known.epsilon, each.epsilon), known.words + len(each.rows)
            )
        return self.promise(
            epsilon_ldp=max(each.epsilon for each in losses.values()),
            classes=tuple(losses.values()),
            why="within a class the same total for every word",
        )

    def certificate(self, space: MetricSpace) -> Certificate | None:
        return self.prepare(space).certificate()

    def prepare(self, space: MetricSpace) -> ClassSampler:
        """Return a sampler with a sampler for each part."""
        return ClassSampler(space, self.parts, self.unknown, euclidean=self.euclidean)


Parts = list[tuple[int, Ids]]
"""Parts of inputs, and the indices of the inputs of each."""


class ClassSampler(Sampler):
    """Draws within the class of each input.

    Args:
        space: of the whole vocabulary.
        parts: words of each class; no word is in two of them.
        unknown: index of the part to which ⊥ belongs.
        weights: base weights of all words, shape (n,), above 0 for outputs; default: equal.
        euclidean: near by the distance of the space, which needs equal weights.
    """

    batch_words = 1 << 14

    def __init__(
        self,
        space: MetricSpace,
        parts: tuple[Part, ...],
        unknown: int,
        weights: Ids | None = None,
        *,
        euclidean: bool = False,
    ) -> None:
        self._weights, self._euclidean = weights, euclidean
        self.space, self.parts, self.unknown = space, parts, unknown
        self._rows = [np.array(each.rows, dtype=np.int64) for each in parts]
        self._part = np.full(space.n + 1, -1, dtype=np.int16)
        self._local = np.zeros(space.n + 1, dtype=np.int64)
        for at, rows in enumerate(self._rows):
            self._part[rows] = at
            self._local[rows] = np.arange(len(rows))
        self._part[space.n] = unknown
        self._local[space.n] = len(parts[unknown].rows)
        self._samplers: dict[int, BaseResponseSampler] = {}

    def within(self, at: int) -> BaseResponseSampler:
        """Return the sampler of a part, over the words of that part alone."""
        if at not in self._samplers:
            each, rows = self.parts[at], self._rows[at]
            own = Embeddings(
                index_to_key=[""] * len(rows),
                vectors=np.ascontiguousarray(self.space.vectors[rows]),
                source="",
                digest=self.space.digest,
            )
            outputs = np.searchsorted(rows, np.array(each.outputs)).astype(np.int32)
            weights = np.ones(len(outputs), dtype=np.int64)
            if self._weights is not None:
                weights = self._weights[np.array(each.outputs)]
            total = int(weights.sum())
            base = Base(outputs, weights, near_outputs(total, each.epsilon))
            self._samplers[at] = BaseResponseSampler(
                MetricSpace(own),
                base,
                each.epsilon,
                euclidean=self._euclidean,
                on_demand=True,
                room=FEW_BITS,
            )
        return self._samplers[at]

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        parts = self.by_part(ids)
        drawn = streams.integers("response", self.totals(ids, parts)).astype(np.int64)
        return self.outputs(ids, drawn, parts)

    def part_of(self, ids: Ids) -> Ids:
        """Return the index of the part of each input; -1 without a class."""
        return np.asarray(self._part[ids])

    def totals(self, ids: Ids, parts: Parts) -> NDArray[np.uint64]:
        """Return the sum of the integer weights of each input; 1 without a class."""
        totals = np.ones(len(ids), dtype=np.uint64)
        for at, where in parts:
            totals[where] = self.within(at).totals(self._local[ids[where]])
        return totals

    def outputs(self, ids: Ids, drawn: Ids, parts: Parts) -> Ids:
        """Return the output of an integer below the total of each input."""
        out = ids.copy()  # a word of no class is its own output
        for at, where in parts:
            local = self._local[ids[where]]
            out[where] = self._rows[at][self.within(at).outputs(local, drawn[where])]
        return out

    def by_part(self, ids: Ids) -> Parts:
        """Return the parts of inputs, and the indices of the inputs of each, ascending."""
        parts = self._part[ids]
        order = np.argsort(parts, kind="stable")
        ends = np.searchsorted(parts[order], np.arange(-1, len(self.parts)), side="right")
        both = zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)
        return [(at, order[begin:end]) for at, (begin, end) in enumerate(both) if begin < end]

    def probabilities(self, ids: Ids) -> Floats:
        out = np.zeros((len(ids), self.space.n))
        plain = np.flatnonzero(self._part[ids] < 0)
        out[plain, ids[plain]] = 1.0
        for at, where in self.by_part(ids):
            own = self.within(at).probabilities(self._local[ids[where]])
            out[np.ix_(where, self._rows[at])] = own
        return out

    def unchanged(self, ids: Ids) -> Floats:
        out = np.ones(len(ids))
        for at in range(len(self.parts)):
            where = np.flatnonzero(self._part[ids] == at)
            if not len(where):
                continue
            own, local = self.within(at), self._local[ids[where]]
            outputs = np.flatnonzero(np.isin(local, own.base.words))
            out[where] = 0.0
            # The near set of an output begins with the output itself: all its weight is in it.
            weight = own.scale + own.increment
            out[where[outputs]] = weight / own.totals(local[outputs]).astype(np.float64)
        return out

    def integer_weights(self) -> ClassWeights:
        every = [self.within(at) for at in range(len(self.parts))]
        return ClassWeights(
            tuple(self._rows),
            tuple(each.epsilon for each in self.parts),
            tuple(each.integer_weights() for each in every),
            self.unknown,
        )

    def class_losses(self) -> tuple[float, ...]:
        """Return the exact loss between two inputs of each part, from the integers, rounded up."""
        return tuple(self.within(at).certificate().epsilon_ldp for at in range(len(self.parts)))

    def certificate(self) -> Certificate:
        """Return the exact loss over all pairs of one class, from the integers of every set."""
        every = [(self.within(at).certificate(), at) for at in range(len(self.parts))]
        found, at = max(every, key=lambda each: each[0].epsilon_ldp)
        names = np.append(self._rows[at], self.space.n)
        return Certificate(
            method="exact certificate, integers of all words, within each class",
            epsilon_ldp=found.epsilon_ldp,
            pair=(int(names[found.pair[0]]), int(names[found.pair[1]])),
            slack=found.slack,
        )

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_samplers": {}}
