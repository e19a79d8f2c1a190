"""A bigram model of public text: what a reader expects to stand beside a word.

Interpolated absolute discounting (Ney, Essen and Kneser 1994):

    p(v|w) = max(c(w,v) - D, 0)/c(w) + D·types(w)/c(w) · p(v),    p(v) = (c(v) + mu·q(v))/(N + mu),

with q the vocabulary's own frequencies, so that every word is possible.  Symbols are the rows, n
for every unknown word, and n + 1 for the end of a line.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.space.arrays import Floats, Ids

DISCOUNT: Final = 0.75
STORED: Final = 1 << 22
"""Symbols that are kept for longer segments: 4 million words, about."""
_CHUNK: Final = 1 << 20
"""Symbols counted at once."""


@dataclass
class Bigrams:
    """The model; n + 2 symbols."""

    n: int
    log_unigram: Floats
    """ln p(v), (n + 2,)."""
    log_backoff: Floats
    """ln of the weight of p(v) after each symbol, (n + 2,); 0 where it was never seen."""
    keys: Ids
    """``w·(n + 2) + v`` of every bigram seen, ascending, (b,)."""
    log_seen: NDArray[np.float32]
    """ln p(v|w) of those, (b,)."""

    def log(self, first: Ids, second: Ids) -> Floats:
        """Ln p(second|first), broadcast."""
        first, second = np.broadcast_arrays(first, second)
        out = np.asarray(self.log_backoff[first] + self.log_unigram[second])
        if not len(self.keys):  # a text without words
            return out
        keys = first * (self.n + 2) + second
        indices = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        seen = self.keys[indices] == keys
        out[seen] = self.log_seen[indices[seen]]
        return out

    def neighbours(self, count: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the likeliest words after and before each symbol, each (n + 2, count); -1 for
        none.
        """
        first, second = np.divmod(self.keys, self.n + 2)
        # Before v: the bigram's share among all that end in v orders like p(w)·p(v|w).
        joint = self.log_seen + self.log_unigram[first]
        known = (first < self.n) & (second < self.n)
        after = _best(first, second, self.log_seen, second < self.n, self.n + 2, count)
        before = _best(second, first, joint, known | (second == self.n + 1), self.n + 2, count)
        before[before >= self.n] = -1
        return after, before


def _best(
    of: Ids, what: Ids, score: NDArray[np.floating], keep: NDArray[np.bool_], size: int, count: int
) -> NDArray[np.int32]:
    out = np.full((size, count), -1, dtype=np.int32)
    of, what, score = of[keep], what[keep], score[keep]
    order = np.lexsort((what, -score, of))
    of, what = of[order], what[order]
    starts = np.searchsorted(of, of, side="left")
    rank = np.arange(len(of)) - starts
    top = rank < count
    out[of[top], rank[top]] = what[top]
    return out


@dataclass
class Counts:
    """Counts of symbols and of pairs of symbols in a public text; n + 2 symbols."""

    n: int
    words: int
    """Words of the text."""
    unigrams: Ids
    """Count of each symbol, shape (n + 2,)."""
    keys: Ids
    """``w·(n + 2) + v`` of every bigram seen, ascending, (b,)."""
    bigrams: Ids
    """Counts of those, (b,)."""
    symbols: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, dtype=np.int32))
    """The beginning of the text, at most :data:`STORED` symbols."""

    def folded(self, fold: Ids) -> Counts:
        """Return the counts of words that are the same but for letter case in one.

        Args:
            fold: the row that stands for each row, shape (n,).
        """
        if (fold == np.arange(self.n)).all():
            return self
        size = self.n + 2
        symbols = np.concatenate([fold, [self.n, self.n + 1]])
        first, second = np.divmod(self.keys, size)
        keys, indices = np.unique(symbols[first] * size + symbols[second], return_inverse=True)
        return Counts(
            self.n,
            self.words,
            _sums(symbols, self.unigrams, size),
            keys,
            _sums(indices, self.bigrams, len(keys)),
        )

    def model(self, frequencies: Floats) -> Bigrams:
        """Return the model.

        Args:
            frequencies: the vocabulary's own, shape (n,).
        """
        n, size = self.n, self.n + 2
        spread = np.zeros(size)
        spread[:n] = frequencies
        mass = float(n)
        unigram = (self.unigrams + mass * spread) / (self.unigrams.sum() + mass)
        first = self.keys // size
        total = np.bincount(first, weights=self.bigrams, minlength=size)
        types = np.bincount(first, minlength=size)
        seen = total > 0
        backoff = np.ones(size)
        backoff[seen] = DISCOUNT * types[seen] / total[seen]
        probability = (self.bigrams - DISCOUNT) / total[first]
        probability += backoff[first] * unigram[self.keys % size]
        return Bigrams(
            n,
            np.log(np.maximum(unigram, 1e-12)),
            np.log(backoff),
            self.keys,
            np.log(probability).astype(np.float32),
        )


def _sums(indices: Ids, weights: Ids, size: int) -> Ids:
    return np.bincount(indices, weights=weights, minlength=size).astype(np.int64)


def count(lines: Iterable[str], vocabulary: Vocabulary) -> Counts:
    """Count a public text.

    Args:
        vocabulary: whose rows are the symbols.
    """
    n = vocabulary.n
    size = n + 2
    keys, counts = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    unigrams = np.zeros(size, dtype=np.int64)
    held: list[int] = [n + 1]
    split = vocabulary.inputs
    words, stored = 0, [np.array([n + 1], dtype=np.int32)]

    def take() -> None:
        nonlocal keys, counts
        symbols = np.array(held, dtype=np.int64)
        unigrams[:] += np.bincount(symbols[1:], minlength=size)
        pairs = np.concatenate([symbols[:-1] * size + symbols[1:], keys])
        weights = np.concatenate([np.ones(len(symbols) - 1, dtype=np.int64), counts])
        keys, indices = np.unique(pairs, return_inverse=True)
        counts = _sums(indices, weights, len(keys))
        if len(stored) * _CHUNK <= STORED:
            stored.append(symbols[1:].astype(np.int32))
        del held[:-1]

    for line in lines:
        codes = split(line)[1]
        if codes:
            words += len(codes)
            held += codes
            held.append(n + 1)
            if len(held) > _CHUNK:
                take()
    take()
    return Counts(n, words, unigrams, keys, counts, np.concatenate(stored)[:STORED])
