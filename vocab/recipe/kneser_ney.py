"""Make a trigram model from public text: modified Kneser-Ney, pruned as it is made.

    p(w|h) = (c(h,w) - D)/c(h) + b(h)·p(w|shorter h)

with b(h) such that the sum is 1.  D depends on how often the text has the n-gram: once, twice or
more (Chen and Goodman 1999, section 3.4).  Trigrams are pruned first: those with the largest
c·ln(p/p of the shorter history) stay (Seymore and Rosenfeld 1996).  The count of a bigram is then
what the trigrams that stay leave of it, which is D for each: where all of them stay, these are the
counts of Kneser and Ney (1995), and where none does, those of the text.  Bigrams are pruned
likewise, and leave their counts to the words.  A model that is pruned after it was made has for
its bigrams the counts of Kneser and Ney, which are right only beside all trigrams (Siivola,
Hirsimäki and Virpioja 2007, section III).
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.files import blocks_of_all
from dpsan.embeddings.words import Embeddings
from dpsan.outcomes.distributions import Progress
from dpsan.outcomes.ngrams import FORMAT, KINDS, STEP, WEIGHT, Gap, Ngrams, gap_kinds, symbols_of
from dpsan.space.arrays import Floats, Ids
from dpsan.text.lookup import Lookup
from dpsan.text.tokens import TOKENIZERS

BIGRAMS: Final = 1_300_000
TRIGRAMS: Final = 1_150_000
"""N-grams that a model keeps, unless told otherwise: 5 MB."""
_DISCOUNT: Final = 0.75
"""Discount of each count, where a text is too short to estimate one."""
_MOST: Final = 0.95
"""Largest share of a count that is taken."""
_LEAST: Final = 1e-3
"""Count that trigrams leave a bigram at least."""
_UNSEEN: Final = 0.5
"""Count of a word that the text lacks."""
_CHUNK: Final = 1 << 23
"""Symbols counted at once: 0.4 GB."""
_CHARACTERS: Final = 1 << 20
"""Characters of lines that are looked up at once."""


class Counts:
    """Counts of the n-grams of a text.

    Args:
        n: words of the vocabulary.
    """

    def __init__(self, n: int) -> None:
        self.n, self.size = n, n + KINDS
        self.unigrams = np.zeros(self.size, dtype=np.int64)
        self.pairs = self.triples = np.zeros(0, dtype=np.int64)
        """``v·S + w`` and ``(u·S + v)·S + w``, ascending."""
        self.pair_counts = self.triple_counts = np.zeros((2, 0), dtype=np.int32)
        """Counts by the weights of the sources, and occurrences."""

    def add(self, symbols: Ids, weight: int = 1) -> None:
        """Count some symbols, each ``weight`` times."""
        size = self.size
        self.unigrams += weight * np.bincount(symbols[1:], minlength=size)
        for at in range(0, len(symbols) - 1, _CHUNK):
            part = symbols[at : at + _CHUNK + 2].astype(np.int64)
            pairs = part[: _CHUNK + 1][:-1] * size + part[1 : _CHUNK + 1]
            self.pairs, self.pair_counts = _added(self.pairs, self.pair_counts, pairs, weight)
            inside = ~np.isin(part[1:-1], (self.n + Gap.LINE, self.n + Gap.END))
            triples = (part[:-2] * size + part[1:-1])[inside] * size + part[2:][inside]
            held = self.triples, self.triple_counts
            self.triples, self.triple_counts = _added(*held, triples, weight)


def _added(
    keys: Ids, counts: NDArray[np.int32], new: Ids, weight: int
) -> tuple[Ids, NDArray[np.int32]]:
    """Return keys with counts, and those of more occurrences."""
    distinct, times = np.unique(new, return_counts=True)
    every = np.concatenate([keys, distinct])
    more = times.astype(np.int32) * np.array([[weight], [1]], dtype=np.int32)
    sums = np.concatenate([counts, more], axis=1)
    order = np.argsort(every, kind="stable")
    every = every[order]
    first = np.flatnonzero(np.diff(every, prepend=-1))
    total = np.add.reduceat(sums[:, order], first, axis=1) if len(first) else sums
    return every[first], total.astype(np.int32)


def symbols_of_lines(lines: Iterable[str], lookup: Lookup, n: int) -> Iterator[Ids]:
    """Yield the symbols of lines, some at a time; each array begins and ends with LINE."""

    def found(part: list[str]) -> Ids:
        batch = lookup.batch(part)
        return symbols_of(batch.codes, gap_kinds(batch), n)

    waiting: list[str] = []
    size = 0
    for line in lines:
        waiting.append(line)
        size += len(line)
        if size > _CHARACTERS:
            yield found(waiting)
            waiting, size = [], 0
    if waiting:
        yield found(waiting)


def model_of(
    texts: Sequence[Path], embeddings: Embeddings, tokenizer: str, progress: Progress
) -> Ngrams:
    """Return the model of public text.

    Args:
        texts: UTF-8, compressed if their names end in .gz or .zst.
        progress: called with the share that was read.

    Raises:
        InputError: a file cannot be read.
    """
    counts = Counts(embeddings.n)
    lookup = Lookup(TOKENIZERS[tokenizer], embeddings.key_to_index, (), embeddings.n)
    lines = (line for block in blocks_of_all(texts, progress) for line in block)
    for symbols in symbols_of_lines(lines, lookup, embeddings.n):
        counts.add(symbols)
    return estimated(counts)


class _Order:
    """Probabilities of the n-grams of one length, given those of the next shorter one.

    Args:
        history: number of the history of each n-gram.
        counts: of the n-grams.
        seen: how often the text has them.
        histories: how many there are.
    """

    def __init__(
        self, history: Ids, counts: NDArray[Any], seen: NDArray[Any], histories: int
    ) -> None:
        self._history, self._counts = history, counts
        least = np.minimum(_discounts(seen) / np.maximum(seen, _LEAST), _MOST)
        self.own: Floats = counts * (1 - least)
        """Counts of the n-grams, less the discounts."""
        self._total = np.bincount(history, counts, histories)
        mass = np.bincount(history, self.own, histories)
        self._left = 1 - np.divide(mass, self._total, out=np.zeros(histories), where=mass > 0)
        """Share of each history that is left to the shorter one."""

    def given(self, below: Floats, at: Ids | slice = slice(None)) -> Floats:
        """Return the probabilities of some n-grams, with those by the shorter history."""
        history = self._history[at]
        probabilities = self.own[at] / self._total[history] + self._left[history] * below
        return np.asarray(probabilities)

    def gain(self, below: Floats) -> Floats:
        """Return the nats that the text gains by each n-gram."""
        return np.asarray(
            np.log(self.given(below) / (self._left[self._history] * below)) * self._counts
        )


def estimated(counts: Counts, bigrams: int = BIGRAMS, trigrams: int = TRIGRAMS) -> Ngrams:
    """Return the model of a text.

    Args:
        bigrams: how many are kept at most; those that begin a kept trigram always are.
        trigrams: how many are kept at most.
    """
    size, pairs, triples = counts.size, counts.pairs, counts.triples
    first, second = np.divmod(pairs, size)
    above = np.searchsorted(pairs, triples // size)
    suffix = np.searchsorted(pairs, triples % (size * size))
    whole, seen = counts.pair_counts
    unigrams = _shares(np.bincount(second, whole, size))
    two = _Order(first, whole, seen, size).given(unigrams[second])
    often, times = counts.triple_counts
    order = _Order(above, often, times, len(pairs))
    kept = _largest(order.gain(two[suffix]), trigrams)
    above, suffix, third = above[kept], suffix[kept], triples[kept] % size

    rest = np.maximum(whole - np.bincount(suffix, order.own[kept], len(pairs)), _LEAST)
    lower = _Order(first, rest.copy(), rest / whole * seen, size)
    gain = lower.gain(unigrams[second])
    gain[above] = np.inf
    chosen = _largest(gain, max(bigrams, int(np.isinf(gain).sum())))
    rest[chosen] -= lower.own[chosen]
    unigrams = _shares(np.bincount(second, rest, size))
    two = lower.given(unigrams[second])
    three = order.given(two[suffix], kept)

    above = np.searchsorted(chosen, above)
    pairs, two, first, second = pairs[chosen], two[chosen], first[chosen], second[chosen]
    weights = _weights(first, two, unigrams[second], size)
    middle = second[above]
    suffix = np.minimum(np.searchsorted(pairs, middle * size + third), len(pairs) - 1)
    below = weights[middle] * unigrams[third]
    stored = pairs[suffix] == middle * size + third
    below[stored] = two[suffix[stored]]
    return Ngrams(
        counts.n,
        int(counts.unigrams[: counts.n + 1].sum()),
        _logs(unigrams),
        _logs(weights),
        pairs,
        _logs(two).astype(np.float16),
        _logs(_weights(above, three, below, len(pairs))).astype(np.float16),
        above * size + third,
        _logs(three).astype(np.float16),
    )


def _shares(counts: NDArray[Any]) -> Floats:
    """Return the probabilities of symbols."""
    counted = counts + _UNSEEN
    return np.asarray(counted / counted.sum())


def _discounts(counts: NDArray[Any]) -> Floats:
    """Return the discount of each n-gram, by how often it was seen."""
    times = np.minimum(np.rint(counts), 5).astype(np.int8)
    many = np.bincount(times, minlength=5)[1:5].astype(np.float64)
    by_times = np.full(6, _DISCOUNT)
    if many.all():
        share = many[0] / (many[0] + 2 * many[1])
        discounts = [k - (k + 1) * share * many[k] / many[k - 1] for k in (1, 2, 3)]
        if all(0 < discounts[k - 1] < k for k in (1, 2, 3)):
            by_times[:2], by_times[2], by_times[3:] = discounts
    return np.asarray(by_times[times])


def _weights(history: Ids, stored: Floats, below: Floats, histories: int) -> Floats:
    """Return for each history the factor of the shorter one that makes the sum 1."""
    left = 1 - np.bincount(history, weights=stored, minlength=histories)
    under = 1 - np.bincount(history, weights=below, minlength=histories)
    return np.maximum(left, 1e-6) / np.maximum(under, 1e-6)


def _largest(values: Floats, count: int) -> Ids:
    """Return the indices of the largest values, ascending."""
    if count >= len(values):
        return np.arange(len(values))
    return np.sort(np.argpartition(-values, count)[:count])


def _logs(values: Floats) -> NDArray[np.float32]:
    return np.log(np.maximum(values, 1e-30)).astype(np.float32)


def to_bytes(model: Ngrams, vocabulary: str) -> bytes:
    """Return the file of a model.

    Args:
        vocabulary: digest of the embeddings.
    """
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        format=np.array([FORMAT, model.n, model.words]),
        vocabulary=np.frombuffer(vocabulary.encode(), dtype=np.uint8),
        unigrams=_in_steps(model.unigrams),
        weights=_in_steps(model.weights, *WEIGHT),
        bigrams=_rises(model.bigrams),
        log_bigrams=_in_steps(model.log_bigrams),
        bigram_weights=_in_steps(model.bigram_weights, *WEIGHT),
        trigrams=_rises(model.trigrams),
        log_trigrams=_in_steps(model.log_trigrams),
    )
    return buffer.getvalue()


def _in_steps(logs: NDArray[Any], step: int = STEP, largest: float = 0.0) -> NDArray[np.uint8]:
    if logs.dtype == np.uint8:
        return logs
    steps = np.rint(step * (largest - logs.astype(np.float32)))
    return np.asarray(np.clip(steps, 0, 255), dtype=np.uint8)


def _rises(keys: Ids) -> NDArray[np.uint8]:
    """Return how far each key is above the one before, byte by byte: equal high bytes stand
    together, which makes files small.
    """
    rises = np.diff(keys, prepend=0)
    size = 4 if rises.max(initial=0) < 1 << 32 else 8
    return np.ascontiguousarray(rises.astype(f"<u{size}").view(np.uint8).reshape(-1, size).T)
