"""Dense tables: a row of whole numbers for one word at a time.

A row is computed once for all tokens of its word in a batch.  Sums of parts of it tell the part
that a draw falls in, and only that part is summed up further.
"""

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import ClassVar, Final

import numpy as np

from dpsan.mechanisms.mechanism import IntegerResponse, Mechanism
from dpsan.mechanisms.tables import ROWS, Table
from dpsan.privacy import certificate as certificates
from dpsan.privacy.certificate import WEIGHT_ERROR, WORK, Certificate, Metric
from dpsan.privacy.guarantee import Claim, Guarantee, Status
from dpsan.privacy.randomness import Streams
from dpsan.space.arrays import Array, Floats, Ids, Integers, Mask, blocks, by_word, side_by_side
from dpsan.space.metric_space import MetricSpace

# Integers of up to 96 bits as high · 2^32 + low, so that cumulative sums cannot overflow.
#
# Both parts are uint64, low is below 2^32.  Weights are at most 2^62; the sum of n of them needs
# log2(n) bits more.

WideIntegers = tuple[Integers, Array]
"""High and low parts, of the same shape; low may have a shorter type."""

LOW: Final = np.uint64(0xFFFFFFFF)
SHIFT: Final = np.uint64(32)


def less(a: WideIntegers, b: WideIntegers) -> Mask:
    """Return a mask of a < b."""
    return np.asarray((a[0] < b[0]) | ((a[0] == b[0]) & (a[1] < b[1])))


def cumulative(weights: Integers) -> WideIntegers:
    """Return the cumulative sums of rows (m, n)."""
    high, low = np.empty_like(weights), np.empty(weights.shape, dtype=np.uint32)
    for at, row in enumerate(weights):  # what a row needs stays in the processor's cache
        sums = np.cumsum(row & LOW)
        np.cumsum(row >> SHIFT, out=high[at])
        low[at] = sums & LOW
        high[at] += sums >> SHIFT
    return high, low


def number_below(high: Integers, low: Array, bits: Integers) -> tuple[Mask, WideIntegers]:
    """Uniform numbers below totals (m,), or rejected: accepted?, the numbers.

    Args:
        bits: uniform, shape (m, 2).
    """
    bound = high + np.uint64(1)
    excess = (np.uint64(0) - bound) % bound  # 2^64 modulo bound
    number = bits[:, 0] % bound, bits[:, 1] >> SHIFT
    good = bits[:, 0] <= np.uint64(2**64 - 1) - excess
    return good & less(number, (high, low)), number


def first_above(sums: WideIntegers, rows: Ids, wanted: WideIntegers) -> Ids:
    """Return the first column of each row whose cumulative value exceeds a number; the last if
    none.
    """
    high, low = sums
    begin = np.zeros(len(rows), dtype=np.int64)
    end = np.full(len(rows), high.shape[1] - 1, dtype=np.int64)
    for _ in range((high.shape[1] - 1).bit_length()):
        middle = (begin + end) >> 1
        above = less(wanted, (high[rows, middle], low[rows, middle]))
        end = np.where(above, middle, end)
        begin = np.where(above, begin, middle + 1)
    return end


SCORE_CAP: Final = 30.0
"""Scores are capped here: e^-30 of the top weight.  min(S, cap) of a metric S is a metric, and at
2^62·e^-30 integer weights still resolve ratios to WEIGHT_ERROR, which guarantees account for."""
TOP: Final = 1 << 62
"""The largest weight."""
_ROWS: Final = 128
"""Rows that are computed together, and bytes of them; fewer are taken where n is large.  Arrays of
more than 32 MB are given back to the system each time."""
_BLOCK_BYTES: Final = 16 << 20
_TOKENS: Final = 4096
"""Tokens that are drawn together."""
_ERROR: Final = 1e-9
"""Bound on the rounding of a difference of two logarithms of sums of at most 2^24 terms."""


def rows_at_once(n: int) -> int:
    """Return the number of rows of n words that are computed together."""
    return max(4, min(_ROWS, _BLOCK_BYTES // (8 * n) // 4 * 4))


def weights_of(scores: Floats, cap: float = SCORE_CAP) -> Integers:
    """Return floor(2^62·exp(-min(score, cap))) for scores >= 0, which are overwritten."""
    np.minimum(scores, cap, out=scores)
    np.exp(np.negative(scores, out=scores), out=scores)
    scores *= float(TOP)
    # The cast rounds down; processors cast to int64 faster than to uint64.
    return scores.astype(np.int64).view(np.uint64)


def distance_rows(space: MetricSpace, factor: float, cap: float, words: Ids) -> Integers:
    """Return floor(2^62·exp(-min(factor·d, cap))) for words (m,) and all outputs, shape (m, n).

    Distances are exact, so a row is the same in every batch.
    """
    scores = np.empty((len(words), space.n))
    space.lattice.squares(words, scores)
    np.sqrt(scores, out=scores)
    scores *= factor * space.lattice.unit  # exact: the unit is a power of two
    return weights_of(scores, cap)


def level_rows(levels: Callable[[Ids], Floats], factor: float, words: Ids) -> Integers:
    """Return floor(2^62·exp(-factor·level)) for levels that are whole numbers, shape (m, n)."""
    values = levels(words).astype(np.int64)  # so few values that each is weighed once
    return weights_of(np.arange(values.max() + 1) * factor)[values]


def _scored(scores: Callable[[Ids], Floats], block: int, words: Ids) -> Integers:
    # Matrix products may differ in their last bit with the number of rows, so it is always the
    # same: a row is a function of its word alone, whatever the batch.
    parts = [words[at : at + block] for at in range(0, len(words), block)]
    rows = [weights_of(scores(np.resize(part, block)))[: len(part)] for part in parts]
    return np.concatenate(rows)


class DenseTable(Table):
    """Weights of all outputs for each word, at most 2^62.

    Args:
        rows: words (m,) -> weights (m, n); each row is a function of its word alone.
        unknown: weights of ⊥, shape (n,); None: all are the same.
    """

    batch_words = 1 << 16
    """Many, because a row is computed once for all tokens of its word in a batch."""
    makes_rows = True

    def __init__(
        self, space: MetricSpace, rows: Callable[[Ids], Integers], unknown: Integers | None = None
    ) -> None:
        self.space, self.rows, self.unknown = space, rows, unknown
        self.block = rows_at_once(space.n)

    @classmethod
    def of_scores(cls, space: MetricSpace, scores: Callable[[Ids], Floats]) -> "DenseTable":
        """Return the table of weights floor(2^62·exp(-score)), of scores >= 0 up to a cap.

        Args:
            scores: words (m,) -> scores (m, n), a deterministic function of each word.
        """
        return cls(space, partial(_scored, scores, min(ROWS, rows_at_once(space.n))))

    def weights(self, ids: Ids) -> Integers:
        if len(ids) <= self.block and (ids < self.space.n).all():
            return self.rows(ids)
        out = np.empty((len(ids), self.space.n), dtype=np.uint64)
        out[ids == self.space.n] = TOP if self.unknown is None else self.unknown
        listed = np.flatnonzero(ids < self.space.n)
        for at in range(0, len(listed), self.block):
            rows = listed[at : at + self.block]
            out[rows] = self.rows(ids[rows])
        return out

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        out, pending, attempt = np.empty(len(ids), dtype=np.int64), np.arange(len(ids)), 0
        while len(pending):  # a second round has a chance of about 2^-13 per word
            bits = streams.bits(f"row/{attempt}", 2)[pending]
            good, drawn = np.zeros(len(pending), dtype=np.bool_), np.empty_like(pending)
            work = partial(self._draw, bits, good, drawn)
            side_by_side(work, list(by_word(ids[pending], self.block)))
            out[pending] = drawn
            pending, attempt = pending[~good], attempt + 1
        return out

    def _draw(self, bits: Integers, good: Mask, drawn: Ids, group: tuple[Ids, Ids, Ids]) -> None:
        """Draw the tokens of some words, and note which draws are accepted."""
        words, tokens, rows = group
        sums = cumulative(self.weights(words))
        for at in range(0, len(tokens), _TOKENS):
            part, which = tokens[at : at + _TOKENS], rows[at : at + _TOKENS]
            good[part], number = number_below(sums[0][which, -1], sums[1][which, -1], bits[part])
            drawn[part] = first_above(sums, which, number)

    def certificate(self, key: str) -> Certificate | None:
        """Return the largest loss of any two inputs, from the columns of the table.

        The loss of x against y at an output is ln P(u|x) - ln P(u|y).  For each output the largest
        such difference is that of the largest and the smallest value of a column, so every input
        is looked at once.
        """
        if 2.0 * self.space.n**2 * (self.space.d + 32) > WORK:
            return None
        return certificates.kept_certificate(self.space, f"columns-{key}", self._certificate)

    def _certificate(self) -> Certificate:
        n = self.space.n
        high, low = np.full(n, -math.inf), np.full(n, math.inf)
        most, least = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        for ids in blocks(n + 1, ROWS):
            with np.errstate(divide="ignore"):
                rows = np.log(self.probabilities(ids))
            for best, who, indices in (
                (high, most, rows.argmax(axis=0)),
                (low, least, rows.argmin(axis=0)),
            ):
                values = rows[indices, np.arange(n)]
                better = values > best if best is high else values < best
                best[better], who[better] = values[better], ids[indices[better]]
        possible = high > -math.inf
        spread = np.where(possible, high - np.where(possible, low, 0.0), 0.0)
        worst = int(np.argmax(spread))
        return Certificate(
            method="exact certificate, largest and smallest probability of every output",
            epsilon_ldp=float(spread[worst] + _ERROR),
            pair=(int(most[worst]), int(least[worst])),
            slack=_ERROR,
        )


class DisjointSupports(Mechanism):
    """A published table in which some outputs of an input are impossible for another one."""

    family: ClassVar[str] = "table"
    status: ClassVar[Status] = Status.NONE

    @abstractmethod
    def excluded(self, space: MetricSpace) -> float:
        """Return the largest probability of outputs that another input never gives."""

    @abstractmethod
    def excluding(self, space: MetricSpace) -> tuple[int, int]:
        """Return the input with these outputs, and the other one."""

    def loss_of_one_support(self, space: MetricSpace) -> float:
        """Return the LDP epsilon where all inputs have the same outputs."""
        return 0.0

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Infinite loss wherever an input excludes outputs of another one."""
        mass = self.excluded(space)
        loss = math.inf if mass else self.loss_of_one_support(space)
        return self.promise(loss, delta=mass, infinite_loss_mass=mass)

    def certificate(self, space: MetricSpace) -> Certificate | None:
        """Return the closed form, whose delta is a lower bound of that of the claim."""
        if not (mass := self.excluded(space)):
            return None
        return Certificate(
            method="supports differ, closed form",
            epsilon_ldp=math.inf,
            delta=mass,
            infinite_loss_mass=mass,
            pair=self.excluding(space),
        )


# Weights that fall with the distance: what they guarantee, and their certificate.

COARSE: Final = 0.01
"""Nats: where the rounding of distances costs more, an epsilon per unit would mean little."""


def distance_guarantee(
    metric: Metric, epsilon: float, cap: float = SCORE_CAP
) -> tuple[float, float | None, float]:
    """LDP epsilon, epsilon per unit and slack of integer weights by exp(-min(epsilon·d/2, cap)).

    Euclidean distances are rounded to the lattice of the vocabulary, whose step grows with its
    farthest word.  Where that costs more than :data:`COARSE` nats, no epsilon per unit is promised
    (None).
    """
    # A weight and a sum, for each of two inputs: four times the error of one log-weight.
    slack = 4 * (WEIGHT_ERROR + 0.5 * epsilon * metric.error)
    # Capped scores change by at most the cap, in the weight and in the sum, whatever the distances.
    ldp = min(epsilon * metric.diameter + slack, 2 * min(cap, SCORE_CAP) + 4 * WEIGHT_ERROR)
    return (ldp, epsilon, slack) if slack <= COARSE else (ldp, None, 0.0)


class DistanceWeights(IntegerResponse):
    """Weights exp(-epsilon·min(d, gamma)/2) of all words for a metric d, ⊥ uniform."""

    epsilon_unit = "1/distance"
    levels: ClassVar[bool] = False
    """True if distances are whole numbers, and few."""

    def metric(self, space: MetricSpace) -> Metric:
        """Return the metric d."""
        return certificates.euclidean(space)

    def cut(self, n: int) -> float:
        """Largest score epsilon·gamma/2 for n words, nats."""
        return SCORE_CAP

    def table(self, space: MetricSpace) -> DenseTable:
        """Return the table of the scores min(epsilon·d/2, cap): metrics, as d is one."""
        if self.levels:
            given = self.metric(space).distances, 0.5 * self.epsilon
            return DenseTable(space, partial(level_rows, *given))
        cap = min(self.cut(space.n), SCORE_CAP)
        return DenseTable(space, partial(distance_rows, space, 0.5 * self.epsilon, cap))

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """epsilon·d and LDP by the largest score, with the integer rounding bounded."""
        metric = self.metric(space)
        loss, per_unit, slack = distance_guarantee(metric, self.epsilon, self.cut(space.n))
        return self.promise(
            loss,
            metric=None if per_unit is None else metric.name,
            epsilon_metric=per_unit,
            slack=slack,
            claimed=Claim(self.epsilon, metric=metric.name),
            why=self.why + (_coarse(metric) if per_unit is None else ""),
        )

    def certificate(self, space: MetricSpace) -> Certificate | None:
        """Return the exact loss of the integer weights; LDP alone where the guarantee is."""
        metric, cap = self.metric(space), self.cut(space.n)
        scores, weights = (0.5 * self.epsilon, min(cap, SCORE_CAP)), self.table(space).weights
        audit = certificates.exp_certificate(space, metric, weights, *scores, repr(self))
        proved, per_unit, _ = distance_guarantee(metric, self.epsilon, cap)
        if audit is None or per_unit is not None:
            return audit
        ldp = min(audit.epsilon_ldp, proved)
        return replace(audit, epsilon_ldp=ldp, epsilon_metric=None, metric=None)


def _coarse(metric: Metric) -> str:
    """Why no epsilon per unit is promised."""
    return (
        f"; no epsilon per unit of distance: a word lies so far out ({metric.diameter:.3g} across) "
        f"that distances are exact to {metric.error:.2g} only, too coarse for this epsilon"
    )
