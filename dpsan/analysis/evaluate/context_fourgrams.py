"""The context attack with 4-grams: a model of public text, and attackers who know it.

Absolute discounting at every order, interpolated with the order below, the bigrams of
:mod:`dpsan.analysis.evaluate.language` at the bottom:

    p(w|h) = max(c(h,w) - D, 0)/c(h) + D·types(h)/c(h) · p(w|shorter h),    h of 3 and of 2 words.

It is counted on the first :data:`~dpsan.analysis.evaluate.language.STORED` symbols of the text, so
memory is bounded whatever its length.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.analysis.evaluate.language import DISCOUNT, Bigrams
from dpsan.space.arrays import Floats, Ids

BEAM: Final = 24
"""Beginnings of a line that are followed at once."""


@dataclass
class _Order:
    """N-grams of one length: each is the number of its history and a last symbol."""

    keys: Ids
    """``history·size + symbol``, ascending."""
    counts: Ids
    totals: Ids
    """Number of symbols counted after each history."""
    types: Ids
    """Number of different symbols after each history."""

    @classmethod
    def build(cls, keys: Ids, histories: int, size: int) -> tuple[_Order, Ids]:
        """From the keys of all positions; also the index of each position's own n-gram."""
        distinct, numbers, counts = np.unique(keys, return_inverse=True, return_counts=True)
        first = distinct // size
        totals = np.bincount(first, weights=counts, minlength=histories).astype(np.int64)
        types = np.bincount(first, minlength=histories)
        return cls(distinct, counts, totals, types), numbers

    def find(self, keys: Ids) -> Ids:
        """Return the number of each key, -1 where it was never seen or is negative."""
        if not len(self.keys):
            return np.full(keys.shape, -1, dtype=np.int64)
        indices = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[indices] == keys, indices, -1)

    def interpolated(self, history: Ids, second: Ids, size: int, below: Floats) -> Floats:
        """P(second|history) of m pairs, (m,); ``below`` where the history was never seen."""
        if not len(self.keys):
            return below
        total = np.where(history >= 0, self.totals[history], 0)
        seen = total > 0
        out = below.copy()
        history, total = history[seen], total[seen]
        index = self.find(history * size + second[seen])
        count = np.where(index >= 0, self.counts[index] - DISCOUNT, 0.0)
        out[seen] = (count + DISCOUNT * self.types[history] * below[seen]) / total
        return out


class FourGrams:
    """The model.

    Args:
        bigrams: of the same text, for the lowest orders.
        symbols: the text, (t,).
    """

    def __init__(self, bigrams: Bigrams, symbols: NDArray[np.int32]) -> None:
        self.bigrams, self.size = bigrams, bigrams.n + 2
        text = symbols.astype(np.int64)
        pairs = text[:-1] * self.size + text[1:]
        self._pairs, numbers = _Order.build(pairs, self.size, self.size)
        triples = numbers[:-1] * self.size + text[2:]
        self._triples, numbers = _Order.build(triples, len(self._pairs.keys), self.size)
        fours = numbers[:-1] * self.size + text[3:]
        self._fours, _ = _Order.build(fours, len(self._triples.keys), self.size)

    def log(self, first: Ids, second: Ids, third: Ids, last: Ids) -> Floats:
        """Ln p(last|first, second, third), broadcast."""
        first, second, third, last = np.broadcast_arrays(first, second, third, last)
        shape = last.shape
        first, second, third, last = (each.ravel() for each in (first, second, third, last))
        found = np.exp(self.bigrams.log(third, last))
        pair = self._pairs.find(second * self.size + third)
        found = self._triples.interpolated(pair, last, self.size, found)
        pair = self._pairs.find(first * self.size + second)
        triple = np.where(pair >= 0, self._triples.find(pair * self.size + third), -1)
        found = self._fours.interpolated(triple, last, self.size, found)
        return np.asarray(np.log(found)).reshape(shape)


def among_known(
    text: Ids, words: Ids, states: Ids, emitted: Floats, model: FourGrams, tau: float = 1.0
) -> Ids:
    """Return the likeliest of some inputs at each position, given the true words around it, (m,).

    Args:
        text: number of the line of each word, ascending, (m,).
        words: the true words, n for unknown ones, (m,).
        states: inputs to choose from, -1 fills up, (m, s).
        emitted: ln P(what is seen|state), (m, s).
        tau: power of the model's probabilities.

    Returns:
        -1 where there is nothing to choose from.
    """
    end = model.size - 1
    line = np.cumsum(np.diff(text, prepend=text[:1]) != 0)
    index = np.arange(len(text)) + 4 * line + 3  # three ends before each line, one after
    after = index[np.searchsorted(line, line, side="right") - 1] + 1
    around = np.full(int(after[-1]) + 1 if len(text) else 0, end, dtype=np.int64)
    around[index] = words
    ids, scores = np.maximum(states, 0), emitted.copy()
    for step in range(4):
        last = index + step
        inside = last <= after
        parts = [
            ids[inside] if at == step else around[last[inside] - at][:, None] for at in (3, 2, 1, 0)
        ]
        scores[inside] += tau * model.log(*parts)
    scores[states < 0] = -np.inf
    chosen = np.argmax(scores, axis=1)
    return np.asarray(states[np.arange(len(chosen)), chosen])


def likeliest_lines(
    text: Ids, states: Ids, emitted: Floats, model: FourGrams, tau: float = 1.0
) -> Ids:
    """Return the likeliest line of some inputs at each position, by a beam of :data:`BEAM`, (m,).

    Arguments and result as for :func:`among_known`.
    """
    end, width = model.size - 1, states.shape[1]
    starts = np.flatnonzero(np.diff(text, prepend=text[:1] - 1))
    sizes = np.diff(np.append(starts, len(text)))
    before = np.full((len(starts), BEAM, 3), end, dtype=np.int64)
    scores = np.full((len(starts), BEAM), -np.inf)
    scores[:, 0] = 0.0
    steps = []
    for at in range(int(sizes.max(initial=0))):
        lines = np.flatnonzero(sizes > at)
        own, seen = states[starts[lines] + at], emitted[starts[lines] + at].copy()
        nothing = own[:, 0] < 0  # left open: an unknown word
        seen[own < 0] = -np.inf
        seen[nothing, 0] = 0.0
        own = np.where(own < 0, end - 1, own)
        past = before[lines]
        a, b, c = (past[:, :, each, None] for each in range(3))
        total = tau * model.log(a, b, c, own[:, None, :])
        total += scores[lines][:, :, None] + seen[:, None, :]
        flat = total.reshape(len(lines), -1)
        best = np.argpartition(-flat, BEAM - 1, axis=1)[:, :BEAM]
        scores[lines] = np.take_along_axis(flat, best, axis=1)
        come_from, column = np.divmod(best, width)
        word = np.take_along_axis(own, column, axis=1)
        kept = np.take_along_axis(past, come_from[:, :, None], axis=1)[:, :, 1:]
        before[lines] = np.concatenate([kept, word[:, :, None]], axis=2)
        steps.append((lines, come_from, np.where(nothing[:, None], -1, word)))
    a, b, c = (before[:, :, each] for each in range(3))
    scores += tau * model.log(a, b, c, np.array(end))
    current = np.argmax(scores, axis=1)
    guesses = np.full(len(text), -1, dtype=np.int64)
    for at in range(len(steps) - 1, -1, -1):
        lines, come_from, word = steps[at]
        rows = np.arange(len(lines))
        guesses[starts[lines] + at] = word[rows, current[lines]]
        current[lines] = come_from[rows, current[lines]]
    return guesses
