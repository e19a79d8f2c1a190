"""Measure the readability of a sanitized text: its perplexity beside that of the original.

Perplexity is e^(-mean of ln p(word|what is before it)) over all words of all texts, under a trigram
model of public text.  All words that the vocabulary lacks are one symbol, which favours the
original.  The anchor is the original with the words of each text in random order: what has the
right words and says nothing.

The model is that of the bundled vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.outcomes.language.ngrams import Ngrams
from dpsan.outcomes.language.symbols import Gap, gap_kinds, symbols_of
from dpsan.privacy import randomness
from dpsan.space.arrays import Ids

_SHUFFLED: Final = 20_000
"""Words of the shuffled text at least: a short text is shuffled again and again."""


@dataclass(frozen=True)
class Readability:
    """Perplexities; None of a text without words."""

    original: float | None
    sanitized: float | None
    shuffled: float | None
    """The words of each original text in random order."""
    public_words: int
    """Number of words that the model was trained on."""

    @property
    def rows(self) -> list[tuple[str, float | None, float | None]]:
        """Name, perplexity, and how many times the original's that is."""
        names = ("original", "sanitized", "original shuffled")
        values, of = (self.original, self.sanitized, self.shuffled), self.original
        times = (value / of if value is not None and of else None for value in values)
        return list(zip(names, values, times, strict=True))

    @property
    def verdict(self) -> str | None:
        """Return a warning if the sanitized text has no word order left, else None."""
        if self.sanitized is None or self.shuffled is None or self.sanitized < self.shuffled:
            return None
        return "no more readable than the original's words in random order"

    def as_json(self) -> dict[str, Any]:
        """Return JSON values."""
        model = {"model": "trigrams of public text", "public_words": self.public_words}
        perplexity = {name.replace(" ", "_"): value for name, value, _ in self.rows}
        return {**model, "perplexity": perplexity, "verdict": self.verdict}


def readability(
    original: Sequence[str], sanitized: Sequence[str], vocabulary: Vocabulary, model: Ngrams
) -> Readability:
    """Return the perplexities of two versions of a text and of the shuffled original."""
    batch = vocabulary.lookup.batch(original)
    kinds, words = gap_kinds(batch), batch.codes
    text = np.repeat(np.arange(len(batch.sizes)), batch.sizes)
    first = perplexity(words, kinds, model)
    other = vocabulary.lookup.batch(sanitized)
    second = perplexity(other.codes, gap_kinds(other), model)
    again = -(-_SHUFFLED // len(words)) if len(words) else 1
    size = int(text[-1]) + 1 if len(words) else 0
    text = (text + size * np.arange(again)[:, None]).ravel()
    words, kinds = np.tile(words, again), np.append(np.tile(kinds[:-1], again), kinds[-1])
    # A public key: the figure says nothing of the sanitizer, and is the same every time.
    key = randomness.seeded_key("dpsan evaluate readability")
    bits = randomness.streams_for(key, [0], [len(words)]).bits("order")[:, 0]
    shuffled = perplexity(words[np.lexsort((bits, text))], kinds, model)
    return Readability(first, second, shuffled, model.words)


def perplexity(words: Ids, kinds: Ids, model: Ngrams) -> float | None:
    """Return the perplexity of words (m,) with kinds of gaps (m + 1,); None without words."""
    if not len(words):
        return None
    symbols = np.append(model.n + Gap.LINE, symbols_of(words, kinds, model.n))
    below, _ = model.pairs(symbols[1:-1], symbols[2:])
    logs = model.triples(model.pairs(symbols[:-2], symbols[1:-1])[1], symbols[2:], below)
    return math.exp(-float(logs[symbols[2:] <= model.n].mean()))
