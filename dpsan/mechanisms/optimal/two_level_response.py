"""``two-level-response``: ``optimal-response`` with a smaller loss within classes, for ``--class``.

Definition
    pi is the public base of ``optimal-response`` or ``knn-response`` at epsilon, E = e^epsilon, c
    the mass of its near sets, K = (E - 1)·c, Z = 1 + K.  O_k holds the outputs of class k,
    m_k = pi(O_k).  A word of no class is drawn by that mechanism.  For a word w of class k:
    P(u|w) = pi(u)/Z for u outside O_k, P(u|w) = f_k·pi(u)·(1 + (E_k - 1)·lambda_w(u))/Z in O_k,
    with E_k = e^epsilon_k, sum over O_k of pi·lambda_w = c_k and
    f_k = (K + m_k)/(m_k + (E_k - 1)·c_k).  ⊥ belongs to one class and has lambda = 0.  A class of
    fewer than 60 words has epsilon_k = 0.
Guarantee
    PROVED: for two inputs of one class P(u|x) <= E_k·P(u|x'), and for any two inputs
    P(u|x) <= e^max(epsilon, ln(f_k·E_k))·P(u|x').  Both are computed from the integers.
Proof
    docs/proofs.md 4.8
Source
    This project; block-structured and context-aware LDP [Acharya20].
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Final

import numpy as np

from dpsan.mechanisms.base import BaseResponse, IntegerResponse
from dpsan.mechanisms.optimal.class_response import ClassSampler, Part
from dpsan.mechanisms.optimal.sampler import FEW_BITS, integer_increments
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.privacy.certificate import Certificate, log_ratio
from dpsan.privacy.guarantee import ClassLoss, Guarantee
from dpsan.privacy.integer_weights import CommonWeights, TwoLevelWeights
from dpsan.privacy.randomness import Streams
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import MetricSpace

_LEAST: Final = 500
"""A class has at least one of so many parts of the base: with less, f_k would be too large."""


@dataclass(frozen=True)
class TwoLevelResponse(IntegerResponse):
    """A mechanism with a public base, and a smaller epsilon between two words of one class."""

    name: ClassVar[str] = "two-level-response"
    summary: ClassVar[str] = "a public base, with a smaller loss within public classes"
    source: ClassVar[str] = "dpsan §two-level-response"

    inner: BaseResponse | None = None
    parts: tuple[Part, ...] = field(default=(), repr=False)
    unknown: int = 0
    """Index of the part to which ⊥ belongs."""
    strings: tuple[tuple[str, float], ...] = ()
    """Classes of strings, which are drawn by their form and not as words, and their epsilons."""

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Pure LDP between any two words, and a smaller one within classes."""
        losses: dict[str, ClassLoss] = {name: ClassLoss(name, x, 0) for name, x in self.strings}
        for each in self.parts:
            known = losses.get(each.name, ClassLoss(each.name, 0.0, 0))
            losses[each.name] = replace(
                known,
                epsilon=max(known.epsilon, each.epsilon),
                words=known.words + len(each.rows),
            )
        return self.promise(
            epsilon_ldp=max(self.epsilon, self.prepare(space).between()),
            within=tuple(losses.values()),
            why="the base of optimal-response, and within a class the same total for every word",
        )

    def prepare(self, space: MetricSpace) -> TwoLevelSampler:
        """A sampler of the base, and one for each class."""
        assert self.inner is not None  # noqa: S101 - the request gives it
        return TwoLevelSampler(space, self.inner, self.parts, self.unknown)


class TwoLevelSampler(Sampler):
    """Draws from the base, then within the class of the input.

    The first integer decides as in ``optimal-response``.  For a word of class k it leaves O_k or
    stays in it; in O_k a second integer chooses the output.

    Args:
        space: of the whole vocabulary.
        inner: its base and near sets are those of words of no class.
        parts: words of each class; no word is in two of them.
        unknown: index of the part to which ⊥ belongs.
    """

    batch_words = 1 << 16

    def __init__(
        self, space: MetricSpace, inner: BaseResponse, parts: tuple[Part, ...], unknown: int
    ) -> None:
        self.space = space
        self.plain = inner.base_sampler(space)
        base = self.plain.base
        weights = np.zeros(space.n, dtype=np.int64)
        weights[base.words] = base.weights
        for each in parts:  # public, so any weights give the guarantee
            outputs = np.array(each.outputs)
            lacking = base.total // _LEAST + 1 - int(weights[outputs].sum())
            weights[outputs] += max(0, -(-lacking // len(outputs)))
            weights[outputs] = np.maximum(weights[outputs], 1)
        self.weights_of = weights
        self.increment, self.scale = integer_increments(
            inner.epsilon, int(weights.sum()), base.mass, FEW_BITS
        )
        self.mass = base.mass
        self.total = self.scale * int(weights.sum()) + self.increment * base.mass
        self.classes = ClassSampler(space, parts, unknown, weights)
        self._draws = np.repeat(np.arange(space.n, dtype=np.int32), weights)

    @cached_property
    def _outside(self) -> list[Ids]:
        """Sums of the weights of all words that are no outputs of each class, (n,) each."""
        out = []
        for each in self.classes.parts:
            weights = self.weights_of.copy()
            weights[np.array(each.outputs)] = 0
            out.append(np.cumsum(weights))
        return out

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        drawn = streams.integers("response", self.total).astype(np.int64)
        out = np.empty(len(ids), dtype=np.int64)
        plain = self.classes.part_of(ids) < 0
        out[plain] = self._plain(ids[plain], drawn[plain])
        inside = np.zeros(len(ids), dtype=np.bool_)
        for at, where in self.classes.by_part(ids):
            number = drawn[where] // self.scale
            outside = self._outside[at]
            leaves = number < outside[-1]
            out[where[leaves]] = np.searchsorted(outside, number[leaves], side="right")
            inside[where[~leaves]] = True
        stay = np.flatnonzero(inside)
        own = self.classes.by_part(ids[stay])
        totals = self.classes.totals(ids[stay], own)
        second = streams.integers("class", totals, stay).astype(np.int64)
        out[stay] = self.classes.outputs(ids[stay], second, own)
        return out

    def _plain(self, ids: Ids, drawn: Ids) -> Ids:
        """Return the outputs of words of no class, as BaseResponseSampler does."""
        self.plain.near.make(ids)
        more = self.increment * self.mass
        near = drawn < more
        number = np.where(near, drawn // max(self.increment, 1), (drawn - more) // self.scale)
        out = self._draws[np.where(near, 0, number)].astype(np.int64)
        out[near] = self.plain.near.find(ids[near], number[near])
        return out

    def probabilities(self, ids: Ids) -> Floats:
        out = np.zeros((len(ids), self.space.n))
        parts = self.classes.part_of(ids)
        base = self.scale * self.weights_of / self.total
        out[:] = base
        for row in np.flatnonzero(parts < 0).tolist():
            words, masses = self.plain.near.row(int(ids[row]))
            out[row, words] += self.increment * masses / self.total
        for at in np.unique(parts[parts >= 0]).tolist():
            where = np.flatnonzero(parts == at)
            outputs = np.array(self.classes.parts[at].outputs)
            stays = 1 - float(base.sum() - base[outputs].sum())
            own = self.classes.probabilities(ids[where])[:, outputs]
            out[np.ix_(where, outputs)] = stays * own
        return out

    def class_losses(self) -> tuple[float, ...]:
        """Return the exact loss between two inputs of each part, from the integers, rounded up."""
        return self.classes.class_losses()

    def between(self) -> float:
        """Return the largest loss between any two inputs, from the integers, rounded up."""
        return self._worst()[0]

    def _worst(self) -> tuple[float, int, int]:
        """Return the largest loss, and the indices of the parts of its two inputs; -1: no class."""
        worst = log_ratio(self.scale + self.increment, self.scale), -1, -1
        for at, each in enumerate(self.classes.parts):
            own = self.classes.within(at)
            mass = self.scale * int(self.weights_of[list(each.outputs)].sum())
            stays = mass + self.increment * self.mass
            total = own.scale * own.base.total + own.increment * own.base.mass
            # Weight of an output of the class, in units of its base weight over all totals.
            most, least = (own.scale + own.increment) * stays, own.scale * stays
            worst = max(
                worst,
                (log_ratio(most, self.scale * total), at, -1),
                (log_ratio((self.scale + self.increment) * total, least), -1, at),
            )
        return worst

    def _pair(self, first: int, second: int) -> tuple[int, int]:
        """Return words of two parts: the near set of the first one has an output, the other's not.

        It is an output of the class, if one of them is a class, with all of its weight if possible.
        """
        parts, best = self.classes.part_of(np.arange(self.space.n)), 0.0
        one, two = (np.flatnonzero(parts == at).tolist() for at in (first, second))
        if not one or not two:  # every word has a class
            return self.classes.certificate().pair
        of_class, pair = max(first, second), (one[0], two[-1])
        allowed = set(self.classes.parts[of_class].outputs) if of_class >= 0 else None
        for word in one:
            for output, share in self._near(word, first).items():
                if share > best and (allowed is None or output in allowed):
                    other = (w for w in two if output not in self._near(w, second))
                    if (found := next(other, word)) != word:
                        best, pair = share, (word, found)
                        if share == 1:
                            return pair
        return pair

    def _near(self, word: int, at: int) -> dict[int, float]:
        """Return the outputs in the near set of a word of a part, and how much of their weight."""
        if at < 0:
            words, masses = self.plain.near.row(word)
        else:
            rows = np.array(self.classes.parts[at].rows)
            local, masses = self.classes.within(at).near.row(int(np.searchsorted(rows, word)))
            words = rows[local]
        return dict(zip(words.tolist(), (masses / self.weights_of[words]).tolist(), strict=True))

    def integer_weights(self) -> TwoLevelWeights:
        """Return the integers of the first draw, and those within classes."""
        plain = CommonWeights(
            self.scale * self.weights_of, self.increment, self.plain.integer_weights().rows
        )
        return TwoLevelWeights(plain, self.total, self.classes.integer_weights())

    def certificate(self) -> Certificate:
        """The exact loss between any two inputs; that within each class is smaller or equal."""
        within = self.classes.certificate()
        loss, first, second = self._worst()
        return Certificate(
            method="exact certificate, integers of all words, between and within classes",
            epsilon_ldp=max(loss, within.epsilon_ldp),
            pair=self._pair(first, second) if loss >= within.epsilon_ldp else within.pair,
            slack=within.slack,
        )
