"""Make a trigram model from public text: interpolated Kneser-Ney, then pruned.

    p(w|h) = max(c(h,w) - D, 0)/c(h) + D·types(h)/c(h) · p(w|shorter h)

with c the counts of trigrams, and below them the number of different symbols before a word
(Kneser and Ney 1995; Chen and Goodman 1999, section 2.7).  Pruning keeps the n-grams with the
largest c·ln(p/p of the shorter history) (Seymore and Rosenfeld 1996).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.base import Embeddings
from dpsan.embeddings.public_texts import blocks_of_all
from dpsan.outcomes.distributions import Progress
from dpsan.outcomes.language.ngrams import Ngrams
from dpsan.outcomes.language.symbols import KINDS, Gap, gap_kinds, symbols_of
from dpsan.space.arrays import Floats, Ids
from dpsan.text.lookup import Lookup
from dpsan.text.tokens import TOKENIZERS

BIGRAMS: Final = 1_200_000
TRIGRAMS: Final = 830_000
"""N-grams that a model keeps, unless told otherwise: 5 MB."""
_DISCOUNT: Final = 0.75
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
        self.pair_counts = self.triple_counts = np.zeros(0, dtype=np.int32)

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
    sums = np.concatenate([counts, weight * times.astype(np.int32)])
    order = np.argsort(every, kind="stable")
    every = every[order]
    first = np.flatnonzero(np.diff(every, prepend=-1))
    total = np.add.reduceat(sums[order], first) if len(first) else sums
    return every[first], total.astype(np.int32)


def symbols_of_lines(lines: Iterable[str], lookup: Lookup, n: int) -> Iterator[Ids]:
    """Yield the symbols of lines, some at a time; each array begins and ends with LINE."""

    def found(some: list[str]) -> Ids:
        batch = lookup.batch(some)
        return symbols_of(batch.codes, gap_kinds(batch), n)

    held: list[str] = []
    size = 0
    for line in lines:
        held.append(line)
        size += len(line)
        if size > _CHARACTERS:
            yield found(held)
            held, size = [], 0
    if held:
        yield found(held)


def model_of(
    texts: Sequence[Path], embeddings: Embeddings, tokenizer: str, progress: Progress | None
) -> Ngrams:
    """Return the model of public text.

    Args:
        texts: UTF-8, compressed if their names end in .gz or .zst.
        progress: called with the share that was read.

    Raises:
        InputError: a file cannot be read.
    """
    counts = Counts(embeddings.n)
    lookup = Lookup(TOKENIZERS[tokenizer].split, embeddings.key_to_index, (), embeddings.n)
    lines = (line for block in blocks_of_all(texts, progress) for line in block)
    for symbols in symbols_of_lines(lines, lookup, embeddings.n):
        counts.add(symbols)
    return estimated(counts)


def estimated(counts: Counts, bigrams: int = BIGRAMS, trigrams: int = TRIGRAMS) -> Ngrams:
    """Return the model of a text.

    Args:
        bigrams: how many are kept at most; those that begin a kept trigram always are.
        trigrams: how many are kept at most.
    """
    size, pairs, triples = counts.size, counts.pairs, counts.triples
    first, second = np.divmod(pairs, size)
    seen = np.bincount(second, minlength=size) + _UNSEEN
    unigrams: Floats = np.asarray(seen / seen.sum(), dtype=np.float64)
    # Of bigrams that begin a unit nothing stands before: their counts are their own.
    suffix = np.searchsorted(pairs, triples % (size * size))
    before = np.bincount(suffix, minlength=len(pairs))
    before = np.where(before, before, counts.pair_counts)
    apart = np.isin(first, (counts.n + Gap.LINE, counts.n + Gap.END))
    before[apart] = counts.pair_counts[apart]
    two, left = _interpolated(first, before, size, unigrams[second])
    above = np.searchsorted(pairs, triples // size)
    three, left_above = _interpolated(above, counts.triple_counts, len(pairs), two[suffix])

    gain: Floats = np.log(three / (left_above[above] * two[suffix])) * counts.triple_counts
    kept = _largest(gain, trigrams)
    gain = np.log(two / (left[first] * unigrams[second])) * counts.pair_counts
    gain[above[kept]] = np.inf
    chosen = _largest(gain, max(bigrams, int(np.isinf(gain).sum())))
    pairs, two, first, second = pairs[chosen], two[chosen], first[chosen], second[chosen]
    three, third = three[kept], triples[kept] % size
    above = np.searchsorted(pairs, triples[kept] // size)

    weights = _weights(first, two, unigrams[second], size)
    middle = second[above]
    suffix = np.minimum(np.searchsorted(pairs, middle * size + third), len(pairs) - 1)
    lower = weights[middle] * unigrams[third]
    stored = pairs[suffix] == middle * size + third
    lower[stored] = two[suffix[stored]]
    return Ngrams(
        counts.n,
        int(counts.unigrams[: counts.n + 1].sum()),
        _logs(unigrams),
        _logs(weights),
        pairs,
        _logs(two).astype(np.float16),
        _logs(_weights(above, three, lower, len(pairs))).astype(np.float16),
        above * size + third,
        _logs(three).astype(np.float16),
    )


def _interpolated(
    history: Ids, counts: NDArray[np.integer], histories: int, below: Floats
) -> tuple[Floats, Floats]:
    """Return the probability of each n-gram, and what each history leaves to shorter ones."""
    total = np.bincount(history, weights=counts, minlength=histories)
    types = np.bincount(history, minlength=histories)
    left = np.divide(_DISCOUNT * types, total, out=np.ones(histories), where=total > 0)
    return (counts - _DISCOUNT) / total[history] + left[history] * below, left


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
