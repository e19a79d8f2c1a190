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
from itertools import count, islice, product
from typing import Any, Final, Protocol

import numpy as np

from common.words import share_of_draws, spread
from dpsan.analysis.compare.measure import Corpus
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.embeddings.words import Embeddings
from dpsan.mechanisms.mechanism import Mechanism
from dpsan.outcomes.distributions import Progress, draw
from dpsan.privacy import randomness
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import MetricSpace

ATTACKS: Final = ("random", "greedy", "genetic")

Words = list[str]
Score = Callable[[Sequence[Words]], Floats]
"""Probabilities of the true label of versions of one text, less the largest of another label: the
classifier is right where it is > 0."""
Numbers = Callable[[int], Floats]
"""Uniform random numbers in [0, 1), as many as are asked for."""


class Reader(Protocol):
    """A classifier."""

    classes_: Any

    def predict_proba(self, texts: Sequence[str]) -> Floats:
        """Probability of every label, (texts, labels)."""


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


_DRAWS: Final = 16
"""Draws of the mechanism that an attacker has for each word."""


def near_words(
    space: MetricSpace, embeddings: Embeddings, texts: Corpus, *, near: int, most: int | None = None
) -> list[list[Words]]:
    """Return for each word of the first ``most`` texts its ``near`` nearest other words."""
    sizes = texts.words.sizes[:most].tolist()
    ids = texts.words.ids[: sum(sizes)]
    known = np.unique(ids[ids < space.n])
    found = space.neighbors(known, min(near + 1, space.n))
    others = {
        int(row): [embeddings.index_to_key[each] for each in nearest.tolist() if each != row]
        for row, nearest in zip(known.tolist(), found, strict=True)
    }
    return _by_text([others.get(int(row), [])[:near] for row in ids], sizes)


def drawn_words(
    mechanism: Mechanism,
    space: MetricSpace,
    embeddings: Embeddings,
    texts: Corpus,
    most: int,
    key: bytes,
) -> list[list[Words]]:
    """Return for each word of the first texts what a mechanism drew for it, as often as it did."""
    sizes = texts.words.sizes[:most].tolist()
    ids = texts.words.ids[: sum(sizes)]
    own = randomness.derive_key(key, "drawn", mechanism.name, f"{mechanism.epsilon:g}")
    known = ids < space.n  # others are nobody's to replace
    outputs = draw(mechanism.prepare(space), np.repeat(ids[known], _DRAWS), own)
    names = embeddings.index_to_key
    rows = iter(outputs.reshape(-1, _DRAWS).tolist())
    words = [[names[each] for each in next(rows)] if one else [] for one in known.tolist()]
    return _by_text(words, sizes)


def _by_text(words: list[Words], sizes: Sequence[int]) -> list[list[Words]]:
    rest = iter(words)
    return [[*islice(rest, size)] for size in sizes]


class IntervalClassifier:
    """Logistic regression on counts of words, trained on the worst of its words' substitutions.

    A score is a sum over words, so that the bounds of interval propagation (Jia et al. 2019) are
    exact: each word stands by itself, and the worst of its set is taken.  The loss is the mean of
    that on the texts and that on their worst versions.

    Args:
        texts: with labels.
        candidates: for each word of each text what may stand in its place.
        embeddings: the vocabulary; other words count as nothing.
    """

    _TURNS = 40
    _RATE = 20.0

    def __init__(
        self, texts: Corpus, candidates: Sequence[Sequence[Words]], embeddings: Embeddings
    ) -> None:
        self._vocabulary, self._rows = Vocabulary(embeddings, "unicode"), embeddings.key_to_index
        self.classes_ = sorted(set(texts.labels))
        self._weights = np.zeros((len(self.classes_), embeddings.n + 1))
        sets = self._sets(texts, candidates)
        truth = [self.classes_.index(each) for each in texts.labels]
        for _, worst in product(range(self._TURNS), (False, True)):
            step = np.zeros_like(self._weights)
            for ids, own in zip(sets, truth, strict=True):
                scores, chosen = self._scores(ids, own, worst=worst)
                shares = np.exp(scores - scores.max())
                shares /= shares.sum() * max(len(ids), 1)
                for row, share in enumerate(shares.tolist()):
                    if row != own:
                        np.add.at(step[row], chosen[row], share)
                        np.add.at(step[own], chosen[row], -share)
            self._weights -= self._RATE * step / len(sets)
            self._weights[:, -1] = 0

    def _sets(self, texts: Corpus, candidates: Sequence[Sequence[Words]]) -> list[Ids]:
        """Rows of each word and its substitutes, padded with the word itself, for each text."""
        out, starts = [], texts.words.starts.tolist()
        for begin, others in zip(starts, candidates, strict=False):
            own = texts.words.ids[begin : begin + len(others)]
            ids = np.repeat(own[:, None], 1 + max(map(len, others), default=0), axis=1)
            for at, some in enumerate(others):
                ids[at, 1 : len(some) + 1] = [self._rows[each] for each in some]
            out.append(ids)
        return out

    def _scores(self, ids: Ids, own: int, *, worst: bool) -> tuple[Floats, list[Ids]]:
        """Scores of the labels less that of the true one, and the words that give them."""
        length, scores, chosen = max(len(ids), 1), np.zeros(len(self.classes_)), []
        for row, weights in enumerate(self._weights):
            gains = (weights - self._weights[own])[ids]
            at = gains.argmax(axis=1) if worst and row != own else np.zeros(len(ids), int)
            places = np.arange(len(ids))
            scores[row] = 10 * gains[places, at].sum() / length
            chosen.append(ids[places, at])
        return scores, chosen

    def predict_proba(self, texts: Sequence[str]) -> Floats:
        """Probability of every label, (texts, labels)."""
        out = np.empty((len(texts), len(self.classes_)))
        for at, text in enumerate(texts):
            ids = self._vocabulary.inputs(text)[1]
            out[at] = 10 * self._weights[:, ids].sum(axis=1) / max(len(ids), 1)
        out = np.exp(out - out.max(axis=1)[:, None])
        return np.asarray(out / out.sum(axis=1)[:, None])

    def certified(self, texts: Corpus, candidates: Sequence[Sequence[Words]]) -> float:
        """Share of the first texts that are read right whatever is put in place of their words."""
        sets = self._sets(texts, candidates)
        right = 0
        for ids, name in zip(sets, texts.labels, strict=False):
            if name in self.classes_:
                own = self.classes_.index(name)
                scores = np.delete(self._scores(ids, own, worst=True)[0], own)
                right += bool(scores.max(initial=-math.inf) < 0)
        return right / max(len(sets), 1)


class Attacks:
    """The texts that are attacked, and what may stand in for their words.

    Args:
        candidates: for each word of the first texts, as many as are attacked.
        changed: share of the words that may be replaced.
    """

    def __init__(
        self, candidates: list[list[Words]], test: Corpus, changed: float, key: bytes
    ) -> None:
        attacked = len(candidates)
        self._key, self._labels = key, test.labels[:attacked]
        self._pieces, self._candidates = test.pieces[:attacked], candidates
        sizes = test.words.sizes[:attacked].tolist()
        self._most = [max(1, math.floor(changed * size)) for size in sizes]

    def judge(self, model: Reader, progress: Progress) -> Mapping[str, Any]:
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


def _score(model: Reader, pieces: list[str], label_: str) -> Score:
    """Probability of the true label less the largest of another."""

    def score(versions: Sequence[Words]) -> Floats:
        if label_ not in model.classes_:  # it was never learnt
            return np.full(len(versions), -1.0)
        shares = model.predict_proba([_text(pieces, words) for words in versions])
        own = [*model.classes_].index(label_)
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
