"""Posterior of the hidden words of a text, given what is seen of each and a trigram model.

A hidden Markov model: the hidden words follow the model to the power tau (an n-gram model is too
sure of itself), and each shows its output with P(u|w).  Forward-backward gives q_i(w), in two
stages: with bigrams among all candidates of a position, then with trigrams among the likeliest of
these; the others keep the share of the first stage.

The same positions serve to choose words that fit each other (Viterbi 1967, with bigrams).

Positions are words and the gaps that are symbols.  A unit is what stands between two gaps after
which the model forgets; units are worked on side by side.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np

from dpsan.outcomes.ngrams import Gap, Logs, Ngrams
from dpsan.space.arrays import Floats32, Ids, Ints

LONGEST: Final = 256
"""Words of the longest unit; a longer one is cut, and what is after the cut begins a line."""
_CELLS: Final = 1 << 20
"""Probabilities of pairs or triples that are held at once."""
_LOW: Final = np.float32(-1e30)


class Candidates(NamedTuple):
    """Words that are considered at m positions."""

    states: Ids
    """Symbols, shape (m, s); -1 fills up."""
    scores: Floats32
    """ln P(what is seen|state), or what a choice is worth, shape (m, s)."""


def unit_ends(kinds: Ids) -> Ids:
    """Return the ends of the units of a text, ascending.

    Args:
        kinds: of the gaps before each word and after the last, shape (m + 1,).

    Returns:
        Indices of gaps: a unit is the words from one of them to the next.
    """
    ends = np.flatnonzero((kinds == Gap.LINE) | (kinds == Gap.END))
    ends = np.union1d(ends[ends > 0], [len(kinds) - 1] if len(kinds) > 1 else ends[:0])
    sizes = np.diff(ends, prepend=0)
    if not len(ends) or sizes.max() <= LONGEST:
        return ends
    out: list[int] = []
    for end, size in zip(ends.tolist(), sizes.tolist(), strict=True):
        out += [*range(end - size + LONGEST, end, LONGEST), end]
    return np.array(out, dtype=np.int64)


def posteriors(
    candidates: Candidates, kinds: Ids, model: Ngrams, taus: Sequence[float], second: int
) -> list[Floats32]:
    """Return q of each candidate of m words by each power of the model, shape (m, s) each.

    Args:
        kinds: of the gaps before each word and after the last, shape (m + 1,); what is after the
            last word ends a unit.
        taus: powers of the model's probabilities.
        second: candidates of the second stage; 0 leaves it out.
    """
    out = [np.zeros(candidates.scores.shape, dtype=np.float32) for _ in taus]
    width = candidates.states.shape[1]
    words = max(1, _CELLS // max(width**2, second**3))
    for part in parts(unit_ends(kinds), words):
        section = Candidates(candidates.states[part], candidates.scores[part])
        between = kinds[part.start : part.stop + 1]
        lattice = _Lattice(section, between, model)
        for powers, q in zip(out, lattice.read(taus, second), strict=True):
            powers[part] = q
    return out


def best_path(
    candidates: Candidates, kinds: Ids, model: Ngrams, weight: float, twice: float
) -> Ids:
    """Return the column of the word that is chosen at each position, shape (m,).

    The choice has the largest sum of scores and of ``weight`` times ln p of each bigram.

    Args:
        kinds: of the gaps before each word and after the last, shape (m + 1,).
        twice: what a word costs that follows itself.
    """
    if not len(candidates.scores):
        return np.zeros(0, dtype=np.int64)
    return _Lattice(candidates, kinds, model).best_path(weight, twice)


def parts(ends: Ids, words: int) -> Iterator[slice]:
    """Yield the words of whole units, about so many at a time.

    Args:
        ends: see :func:`unit_ends`.
    """
    first = at = 0
    while at < len(ends):
        beyond = max(at + 1, int(np.searchsorted(ends, first + words, side="right")))
        yield slice(first, int(ends[beyond - 1]))
        first, at = int(ends[beyond - 1]), beyond


class _Lattice:
    """Positions of some units, and which of them are worked on at once.

    Words, the gaps that are symbols and the ends of units have a position each.

    Args:
        found: of m words.
        kinds: of the gaps before each word and after the last, shape (m + 1,).
    """

    def __init__(self, candidates: Candidates, kinds: Ids, model: Ngrams) -> None:
        self.model = model
        m, width = candidates.states.shape
        ends = unit_ends(kinds)
        starts = np.append(0, ends[:-1])
        gaps = np.where(kinds > 0, model.n + kinds, -1)
        gaps[starts[1:]] = -1  # written below, once for each side
        # Where a long unit was cut, a line begins.
        opened, closed = (
            np.where(kinds[at] == Gap.END, Gap.END, Gap.LINE) for at in (starts, ends)
        )
        before = (gaps[:m] >= 0).astype(np.int64)
        before[starts] = 1
        closing = np.zeros(m, dtype=np.int64)
        closing[ends - 1] = 1
        self.words = words = np.arange(m) + np.cumsum(before) + np.cumsum(closing) - closing
        """Position of each word."""
        states = np.full((m + int(before.sum() + closing.sum()), width), -1, dtype=np.int64)
        scores = np.full(states.shape, _LOW, dtype=np.float32)
        states[words], scores[words] = candidates
        single = np.flatnonzero(gaps[:m] >= 0)
        single = single[~np.isin(single, starts)]
        firsts, lasts = words[starts] - 1, words[ends - 1] + 1
        positions = np.concatenate([words[single] - 1, firsts, lasts])
        symbols = np.concatenate([gaps[single], model.n + opened, model.n + closed])
        states[positions, 0], scores[positions, 0] = symbols, 0.0
        self.states, self.scores = states, scores
        """Shape (p, s) each, -1 fills up."""
        sizes = lasts + 1 - firsts
        order = np.argsort(-sizes, kind="stable")
        active = np.searchsorted(-sizes[order], -np.arange(1, int(sizes.max()) + 1), side="right")
        self.levels = [firsts[order[:count]] + at for at, count in enumerate(active.tolist())]
        """Positions by their distance from the beginning; those of longer units first."""
        self.inner = np.delete(np.arange(len(states)), firsts)
        """Positions that others of their unit stand before."""
        self.place = np.zeros(len(states), dtype=np.int64)
        """Index of each of these."""
        self.place[self.inner] = np.arange(len(self.inner))

    @cached_property
    def emitted(self) -> Floats32:
        """P(what is seen|state), scaled, shape (p, s)."""
        return np.asarray(np.exp(self.scores - self.scores.max(axis=1, keepdims=True)))

    def best_path(self, weight: float, twice: float) -> Ids:
        """Return the column of the chosen state of each word; see :func:`best_path`."""
        before, after = self.states[self.inner - 1][:, :, None], self.states[self.inner][:, None, :]
        steps = np.float32(weight) * self.model.pairs(before, after)[0]
        steps -= np.float32(twice) * (before == after)
        score, came = self.scores.copy(), np.zeros(self.states.shape, dtype=np.int64)
        for at in self.levels[1:]:
            arrived = score[at - 1][:, :, None] + steps[self.place[at]]
            came[at] = arrived.argmax(axis=1)
            score[at] += arrived.max(axis=1)
        out = score.argmax(axis=1)  # right for the last positions; the others follow from these
        for at in reversed(self.levels[1:]):
            out[at - 1] = came[at, out[at]]
        return np.asarray(out[self.words])

    def read(self, taus: Sequence[float], second: int) -> Iterator[Floats32]:
        """Yield q of each candidate of the words by each power, shape (words, s)."""
        ids, at = self.states, self.inner
        width = ids.shape[1]
        logs, index = self.model.pairs(ids[at - 1][:, :, None], ids[at][:, None, :])
        rows = np.arange(len(at))[:, None, None]
        for tau in taus:
            q = self._bigrams(tau * logs)
            if second:
                best = np.broadcast_to(np.arange(width), q.shape)
                if second < width:
                    best = np.argpartition(-q, second - 1, axis=1)[:, :second]
                kept = np.take_along_axis(q, best, axis=1)
                cells = rows, best[at - 1][:, :, None], best[at][:, None, :]
                again = self._trigrams(tau, best, logs[cells], index[cells])
                again *= kept.sum(axis=1, keepdims=True)
                np.put_along_axis(q, best, again, axis=1)
            yield q[self.words]

    def _bigrams(self, steps: Floats32) -> Floats32:
        """Return q by bigrams, shape (p, s).

        Args:
            steps: ln of the factor of each pair of states, of :attr:`inner` and the position
                before; it is overwritten.
        """
        np.exp(steps, out=steps)
        forward, backward = self.emitted.copy(), np.ones_like(self.emitted)
        for at in self.levels[1:]:
            arrived = np.matmul(forward[at - 1][:, None, :], steps[self.place[at]])[:, 0]
            forward[at] = _scaled(arrived * forward[at])
        for at in reversed(self.levels[1:]):
            weighted = (self.emitted[at] * backward[at])[:, :, None]
            backward[at - 1] = _scaled(np.matmul(steps[self.place[at]], weighted)[:, :, 0])
        return _scaled(forward * backward)

    def _trigrams(self, tau: float, best: Ids, logs: Logs, index: Ints) -> Floats32:
        """Return q among the best candidates by trigrams, shape (p, r).

        Args:
            best: their columns, shape (p, r).
            logs: ln p of each pair of :attr:`inner`, shape (i, r, r).
            index: of its bigram, -1 where it is not stored.
        """
        emitted = np.take_along_axis(self.emitted, best, axis=1)
        states = np.take_along_axis(self.states, best, axis=1)
        first, rest = self.levels[1], self.levels[2:]
        third = np.concatenate([first[:0], *rest])
        number = np.zeros(len(self.states), dtype=np.int64)
        number[third] = np.arange(len(third))
        below = logs[self.place[third]][:, None, :, :]
        stored = index[self.place[third - 1]][:, :, :, None]
        steps = self.model.triples(stored, states[third][:, None, None, :], below)
        np.exp(tau * steps, out=steps)
        forward = np.zeros((len(states), *logs.shape[1:]), dtype=np.float32)
        backward = np.ones_like(forward)
        begun = emitted[first - 1][:, :, None] * np.exp(tau * logs[self.place[first]])
        forward[first] = _scaled(begun * emitted[first][:, None, :])
        for at in rest:
            arrived = np.einsum("nab,nabc->nbc", forward[at - 1], steps[number[at]])
            forward[at] = _scaled(arrived * emitted[at][:, None, :])
        for at in reversed(rest):
            weighted = emitted[at][:, None, :] * backward[at]
            left = np.einsum("nabc,nbc->nab", steps[number[at]], weighted)
            backward[at - 1] = _scaled(left)
        q = _scaled((forward * backward).sum(axis=1))
        q[self.levels[0]] = emitted[self.levels[0]]
        return q


def _scaled(values: Floats32) -> Floats32:
    """Return the values of each position such that they sum to 1."""
    sums = values.sum(axis=tuple(range(1, values.ndim)), keepdims=True)
    return np.asarray(values / np.maximum(sums, 1e-35))
