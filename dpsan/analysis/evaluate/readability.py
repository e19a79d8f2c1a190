"""Measure the readability of a sanitized text: its perplexity beside that of the original.

Perplexity is e^(-mean of ln p(word|the word before it)) over all words of all texts, under a bigram
model of public text, without letter case.  The first word of a text stands after the end of a
line; all words that the vocabulary lacks are one symbol, which favours the original.  The anchor is
the original with the words of each text in random order: what has the right words and says nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from dpsan.analysis.evaluate.language import Bigrams, Counts
from dpsan.analysis.evaluate.vocabulary import Vocabulary
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
        named = {
            "original": self.original,
            "sanitized": self.sanitized,
            "original shuffled": self.shuffled,
        }
        of = self.original
        return [
            (name, value, value / of if value is not None and of else None)
            for name, value in named.items()
        ]

    @property
    def verdict(self) -> str | None:
        """Return a warning if the sanitized text has no word order left, else None."""
        if self.sanitized is None or self.shuffled is None or self.sanitized < self.shuffled:
            return None
        return "no more readable than the original's words in random order"

    def as_json(self) -> dict[str, Any]:
        """Return JSON values."""
        return {
            "model": "bigrams of public text",
            "public_words": self.public_words,
            "perplexity": {
                "original": self.original,
                "sanitized": self.sanitized,
                "original_shuffled": self.shuffled,
            },
            "verdict": self.verdict,
        }


def readability(
    original: Sequence[str],
    sanitized: Sequence[str],
    vocabulary: Vocabulary,
    counts: Counts,
    progress: Callable[[float], None] = lambda _: None,
) -> Readability:
    """Return the perplexities of two versions of a text and of the shuffled original."""
    model = counts.folded(vocabulary.fold).model(vocabulary.frequencies)
    fold = np.append(vocabulary.fold, vocabulary.n)

    def symbols(texts: Sequence[str]) -> tuple[Ids, Ids]:
        """Number of the text, and symbol, of each word, (m,)."""
        codes = [vocabulary.inputs(text)[1] for text in texts]
        text = np.repeat(np.arange(len(codes)), [len(each) for each in codes])
        return text, fold[np.array([code for each in codes for code in each], dtype=np.int64)]

    text, words = symbols(original)
    progress(0.3)
    first = _perplexity(text, words, model)
    second = _perplexity(*symbols(sanitized), model)
    progress(0.7)
    again = -(-_SHUFFLED // len(words)) if len(words) else 1
    size = int(text[-1]) + 1 if len(words) else 0
    text = (text + size * np.arange(again)[:, None]).ravel()
    words = np.tile(words, again)
    # A public key: the figure says nothing of the sanitizer, and is the same every time.
    key = randomness.seeded_key("dpsan evaluate readability")
    bits = randomness.streams_for(key, [0], [len(words)]).bits("order")[:, 0]
    shuffled = _perplexity(text, words[np.lexsort((bits, text))], model)
    progress(1.0)
    return Readability(first, second, shuffled, counts.words)


def _perplexity(text: Ids, words: Ids, model: Bigrams) -> float | None:
    """Return the perplexity of words, shape (m,), whose text numbers ascend, shape (m,)."""
    if not len(words):
        return None
    before = np.where(np.diff(text, prepend=-1) != 0, model.n + 1, np.roll(words, 1))
    return math.exp(-float(model.log(before, words).mean()))
