"""Attackers who replace words of a text until a classifier is wrong: at random, greedy, genetic.

Knows words, candidates and a score.  Must not know files or mechanisms.

All three may replace the same words (at most ``most`` of them) by the same candidates.  Greedy
takes the replacement that lowers the probability of the true label most, again and again.  Genetic
(Alzantot et al. 2018) keeps a population of texts, crosses the better ones and mutates them.  A
random rewrite is what an attacker without a search gets: its accuracy is only an upper bound of
that under attack.  What no search finds may still exist: all are upper bounds of the worst case.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from dpsan.space.arrays import Floats

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
