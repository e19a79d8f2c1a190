"""Draw from rows with one weight except for a few neighbours, without making the row.

The cumulative weight of a row after word u is ``base·(u + 1)`` and the excess of the neighbours up
to u.  It is kept at the neighbours only; between them the inverse is a division.  All of
it is integer arithmetic in two parts, of 32 bits and above, so the words drawn are those of
:class:`RowSampler` for the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.samplers.base import SCORE_CAP, RowSampler
from dpsan.mechanisms.samplers.wide_integers import (
    LOW,
    SHIFT,
    WideIntegers,
    less,
    minus,
    number_below,
)
from dpsan.space.arrays import Floats, Ids, Integers, by_word
from dpsan.space.metric_space import MetricSpace

_ENTRIES: Final = 1 << 20
"""Neighbours handled at once."""
_WORDS: Final = 2048
"""Words handled at once: their number and a high part fit 64 bits together."""


class NearRows(NamedTuple):
    """Neighbours of some words in sparse rows."""

    starts: Ids
    """Shape (m + 1,): row i is ``starts[i]`` ... ``starts[i + 1] - 1``."""
    words: NDArray[np.int32]
    """Ascending in each row."""
    levels: NDArray[np.uint8]
    """Score number of each word."""


class SparseRowSampler(RowSampler):
    """Integer weights of a few scores; see :class:`RowSampler`, whose outputs are the same.

    Args:
        near: words (m,) -> their neighbours.
        level_scores: the score of each level, ascending; the last is that of every other word.
        reach: approximate number of neighbours of a word.
    """

    batch_words = 1 << 14
    makes_rows = False

    def __init__(
        self,
        space: MetricSpace,
        scores: Callable[[Ids], Floats],
        near: Callable[[Ids], NearRows],
        level_scores: Floats,
        reach: float,
    ) -> None:
        super().__init__(space, scores)
        self._near = near
        weights = np.exp(-np.minimum(level_scores, SCORE_CAP)) * 2.0**62
        self._level_weights: Integers = weights.astype(np.uint64)
        self._step = int(np.clip(_ENTRIES // max(reach, 1), 16, _WORDS))

    def _round(self, ids: Ids, bits: Integers, out: Ids, indices: Ids) -> NDArray[np.bool_]:
        good = np.zeros(len(ids), dtype=np.bool_)
        for words, draws, rows in by_word(ids, self._step):
            good[draws], out[indices[draws]] = self._inverse(words, rows, bits[draws])
        return good

    def _inverse(self, words: Ids, rows: Ids, bits: Integers) -> tuple[NDArray[np.bool_], Ids]:
        """For draws from ``words[rows]``: whether each is accepted, and the word drawn."""
        n = self.space.n
        known = int(np.searchsorted(words, n))  # ⊥ comes last: uniform, no word is near
        near = self._near(words[:known])
        starts = np.append(near.starts, near.starts[-1:]) if known < len(words) else near.starts
        base = np.full(len(words), self._level_weights[-1])
        base[known:] = np.uint64(1 << 62)
        # Excess of the neighbours, summed over all rows: at most 2^22·2^32 in each part.
        more = self._level_weights - self._level_weights[-1]
        sums = [np.zeros(len(near.words) + 1, dtype=np.uint64) for _ in range(2)]
        np.cumsum((more >> SHIFT)[near.levels], out=sums[0][1:])
        np.cumsum((more & LOW)[near.levels], out=sums[1][1:])
        sizes = np.diff(starts)
        owner = np.repeat(np.arange(len(words)), sizes)

        def cumulative(row: Ids, count: NDArray[np.integer], upto: Ids) -> WideIntegers:
            """Return the weight of the first ``count`` words, of which ``upto`` are near."""
            first = starts[row]
            high, low = _times(base[row], count)
            low += sums[1][upto] - sums[1][first]
            high += sums[0][upto] - sums[0][first]
            return high + (low >> SHIFT), low & LOW

        every = np.arange(len(words))
        total = cumulative(every, np.full(len(words), n), starts[1:])
        good, high, low = number_below(total[0][rows], total[1][rows], bits)
        drawn = high * good, low * good
        # Return the first neighbour of the row whose cumulative weight exceeds the drawn number.
        ends = cumulative(owner, near.words.astype(np.int64) + 1, np.arange(1, len(owner) + 1))
        shift = np.uint64(int(total[0].max()).bit_length())
        line = rows.astype(np.uint64) << shift
        at = np.searchsorted((owner.astype(np.uint64) << shift) + ends[0], line + drawn[0])
        last = starts[rows + 1]
        todo = np.flatnonzero(at < last)
        while len(todo):
            here = at[todo]
            todo = todo[(ends[0][here] == drawn[0][todo]) & (ends[1][here] <= drawn[1][todo])]
            at[todo] += 1
            todo = todo[at[todo] < last[todo]]
        # From the neighbour before it every word weighs the same, up to that word.
        after, inside = at > starts[rows], at < last
        begin, rest, limit = np.zeros_like(at), drawn, np.full(len(at), n - 1)
        if len(owner):
            previous = np.maximum(at - 1, 0)
            begin = np.where(after, near.words[previous] + 1, 0)
            high, low = (np.where(after, each[previous], np.uint64(0)) for each in ends)
            rest = minus(drawn, (high, low))
            limit[inside] = near.words[at[inside]]
        return good, np.minimum(begin + _divided(rest, base[rows]), limit)


def _times(weight: Integers, count: NDArray[np.integer]) -> WideIntegers:
    """weight·count, for weights up to 2^62 and counts up to 2^31; the low part is not reduced."""
    number = count.astype(np.uint64)
    return (weight >> SHIFT) * number, (weight & LOW) * number


def _divided(number: WideIntegers, by: Integers) -> Ids:
    """Return the whole quotients, which are below 2^31."""
    # The float64 quotient is wrong by far less than 1/2: rounded, it is the whole one or one more.
    out = np.rint((number[0] * 2.0**32 + number[1]) / by).astype(np.int64)
    high, low = _times(by, out)
    return out - less(number, (high + (low >> SHIFT), low & LOW))
