"""Attackers who replace words of a text until a classifier is wrong: at random, greedy, genetic.

All three may replace the same words (at most ``most`` of them) by the same candidates.  Greedy
takes the replacement that lowers the probability of the true label most, again and again.  Genetic
(Alzantot et al. 2018) keeps a population of texts, crosses the better ones and mutates them.  A
random rewrite is what an attacker without a search gets: its accuracy is only an upper bound of
that under attack.  What no search finds may still exist: all are upper bounds of the worst case.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import count, pairwise
from typing import Any, Final

import numpy as np

from common.words import share_of_draws, spread
from dpsan.analysis.compare.measure import Corpus
from dpsan.analysis.evaluate.accuracy import Classifier
from dpsan.embeddings.base import Embeddings
from dpsan.outcomes.distributions import Progress
from dpsan.privacy import randomness
from dpsan.space.arrays import Floats
from dpsan.space.metric_space import MetricSpace

ATTACKS: Final = ("random", "greedy", "genetic")

Words = list[str]
Score = Callable[[Sequence[Words]], Floats]
"""Probabilities of the true label of versions of one text, less the largest of another label: the
classifier is right where it is > 0."""
Numbers = Callable[[int], Floats]
"""Uniform random numbers in [0, 1), as many as are asked for."""

_POPULATION: Final = 16
_GENERATIONS: Final = 8


def random_rewrite(words: Words, candidates: Sequence[Words], most: int, numbers: Numbers) -> Words:
    """``most`` random words replaced, each by one of its candidates."""
    out = list(words)
    open_ = [at for at, each in enumerate(candidates) if each]
    if not open_:
        return out
    picks = numbers(len(open_))
    for at in np.argsort(numbers(len(open_)), kind="stable")[:most].tolist():
        place = open_[at]
        out[place] = candidates[place][int(picks[at] * len(candidates[place]))]
    return out


def greedy(words: Words, candidates: Sequence[Words], most: int, score: Score) -> Words:
    """The best single replacement, up to ``most`` times or until the classifier is wrong."""
    best, value = list(words), float(score([words])[0])
    changed: set[int] = set()
    while value > 0 and len(changed) < most:
        moves = [
            (at, other)
            for at, others in enumerate(candidates)
            if at not in changed
            for other in others
        ]
        if not moves:
            break
        values = score([_with(best, at, other) for at, other in moves])
        at = int(values.argmin())
        if values[at] >= value:
            break
        best, value = _with(best, *moves[at]), float(values[at])
        changed.add(moves[at][0])
    return best


def genetic(
    words: Words, candidates: Sequence[Words], most: int, score: Score, numbers: Numbers
) -> Words:
    """The best text of a population after some generations; stops where the classifier is wrong."""
    population = [random_rewrite(words, candidates, 1, numbers) for _ in range(_POPULATION)]
    best, least = list(words), float(score([words])[0])
    for _ in range(_GENERATIONS):
        if least <= 0:
            break
        values = score(population)
        first = int(values.argmin())
        if values[first] < least:
            best, least = population[first], float(values[first])
        if least <= 0:
            break
        odds = np.cumsum(np.exp(8 * (values.min() - values)))
        chosen = np.searchsorted(odds, numbers(2 * _POPULATION) * odds[-1], side="right")
        pairs = chosen.clip(max=_POPULATION - 1).reshape(-1, 2)
        # The best one stays; the others are children of two parents, mutated once.
        population = [best] + [
            _child(words, population[a], population[b], candidates, most, numbers)
            for a, b in pairs[1:]
        ]
    return best


def _child(
    words: Words,
    one: Words,
    other: Words,
    candidates: Sequence[Words],
    most: int,
    numbers: Numbers,
) -> Words:
    """Each word of one parent or the other, one replaced, and no more than ``most`` in all."""
    coin = numbers(len(words))
    mixed = [a if toss < 0.5 else b for a, b, toss in zip(one, other, coin, strict=True)]
    changed = [at for at, word in enumerate(mixed) if word != words[at]]
    order = np.argsort(numbers(len(changed)), kind="stable")
    for at in order[max(most - 1, 0) :].tolist():
        mixed[changed[at]] = words[changed[at]]
    return random_rewrite(mixed, candidates, 1, numbers)


def _with(words: Words, at: int, other: str) -> Words:
    out = list(words)
    out[at] = other
    return out


class Attacks:
    """The texts that are attacked, and what may stand in for their words."""

    def __init__(
        self,
        space: MetricSpace,
        embeddings: Embeddings,
        test: Corpus,
        attacked: int,
        near: int,
        changed: float,
        key: bytes,
    ) -> None:
        self._key, self._labels = key, test.labels[:attacked]
        self._pieces = test.pieces[:attacked]
        sizes = test.words.sizes[:attacked].tolist()
        ids = test.words.ids[: sum(sizes)]
        known = np.unique(ids[ids < space.n])
        found = space.neighbors(known, min(near + 1, space.n))
        others = {
            int(row): [embeddings.index_to_key[each] for each in nearest.tolist() if each != row]
            for row, nearest in zip(known.tolist(), found, strict=True)
        }
        ends = np.cumsum([0, *sizes])
        self._candidates = [
            [others.get(int(row), [])[:near] for row in ids[begin:end]]
            for begin, end in pairwise(ends.tolist())
        ]
        self._most = [max(1, math.floor(changed * size)) for size in sizes]

    def judge(self, model: Classifier, progress: Progress) -> Mapping[str, Any]:
        """Shares of texts that are read right, as they are and under each attacker."""
        right = dict.fromkeys(("clean", *ATTACKS), 0)
        for at, label_ in enumerate(self._labels):
            words = self._pieces[at][1::2]
            score = _score(model, self._pieces[at], label_)
            keys = (f"text {at} {name}" for name in ("random", "genetic"))
            chance, numbers = (_numbers(randomness.derive_key(self._key, each)) for each in keys)
            most, candidates = self._most[at], self._candidates[at]
            versions = {
                "clean": words,
                "random": random_rewrite(words, candidates, most, chance),
                "greedy": greedy(words, candidates, most, score),
                "genetic": genetic(words, candidates, most, score, numbers),
            }
            for name, value in zip(versions, score(list(versions.values())), strict=True):
                right[name] += bool(value > 0)
            progress((at + 1) / len(self._labels))
        total = len(self._labels)
        return spread(**{name: share_of_draws(hits, total) for name, hits in right.items()})


def _text(pieces: list[str], words: Words) -> str:
    """A text in pieces, gaps and words in turn, with other words."""
    line = list(pieces)
    line[1::2] = words
    return "".join(line)


def _score(model: Classifier, pieces: list[str], label_: str) -> Score:
    """Probability of the true label less the largest of another."""

    def score(versions: Sequence[Words]) -> Floats:
        if label_ not in model.labels:  # it was never learnt
            return np.full(len(versions), -1.0)
        shares = model.shares([_text(pieces, words) for words in versions])
        own = model.labels.index(label_)
        others = np.delete(shares, own, axis=1).max(axis=1)
        return np.asarray(shares[:, own] - others)

    return score


def _numbers(key: bytes) -> Numbers:
    """Uniform numbers from a public stream, in order."""
    places = count(1)

    def take(size: int) -> Floats:
        stream = randomness.streams_for(key, [next(places)], [1])
        return np.asarray(stream.uniform("search", max(size, 1))[0][:size])

    return take
