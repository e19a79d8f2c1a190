"""The texts that every mechanism sanitizes: a user's records, or words at public frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

import numpy as np

from dpsan.analysis.evaluate.accuracy import read_labels
from dpsan.analysis.evaluate.pairs import Inputs, records
from dpsan.analysis.evaluate.vocabulary import Vocabulary
from dpsan.errors import InputError, UsageError
from dpsan.outcomes.text_likelihood import Texts
from dpsan.outcomes.word_statistics import UNKNOWN_PRIOR, words_at
from dpsan.privacy import randomness
from dpsan.space.arrays import Ids
from dpsan.space.metric_space import MetricSpace

LINKED: Final = 12
"""Words of the beginnings of texts that an attacker links to their originals."""
CANDIDATES: Final = 1000
"""Most texts that the attacker holds for possible originals."""
_EACH: Final = 100
"""Texts of the vocabulary that one seed sanitizes."""


@dataclass(frozen=True)
class Corpus:
    """Texts as row numbers, and the strings between their words if a classifier is to read them."""

    words: Texts
    fold: Ids = field(repr=False)
    """Row of the first word with the same spelling but for case, (n,); -1 for ⊥, the last one."""
    about: str
    """One phrase for captions."""
    each: int
    """Texts that one seed sanitizes."""
    pieces: Sequence[list[str]] = field(default=(), repr=False)
    """Gaps and words in turn, of each text; empty for words of the vocabulary."""
    labels: Sequence[str] = field(default=(), repr=False)

    def of_seed(self, seed: int) -> Ids:
        """Return the numbers of the texts that a seed sanitizes."""
        return np.asarray((seed * self.each + np.arange(self.each)) % len(self.words))

    def strings(self, words: Sequence[str]) -> list[str]:
        """Return all texts with other words, one for each word of all texts."""
        out, rest = [], iter(words)
        for pieces in self.pieces:
            line = list(pieces)
            line[1::2] = islice(rest, len(pieces) // 2)
            out.append("".join(line))
        return out

    @property
    def originals(self) -> list[str]:
        """Return the texts as they are."""
        return ["".join(pieces) for pieces in self.pieces]


def public_words(vocabulary: Vocabulary, space: MetricSpace) -> Corpus:
    """Return texts of words drawn independently by public frequency, 6 % of them ⊥.

    Each seed sanitizes other texts, so that intervals cover the choice of words.
    """
    key = randomness.seeded_key("dpsan compare words")
    streams = randomness.streams_for(key, range(CANDIDATES), [LINKED] * CANDIDATES)
    uniforms = streams.uniform("word")[:, 0]
    known = words_at(space, np.maximum(uniforms - UNKNOWN_PRIOR, 0) / (1 - UNKNOWN_PRIOR))
    ids = np.where(uniforms < UNKNOWN_PRIOR, space.n, known)
    texts = Texts(ids, np.arange(CANDIDATES + 1) * LINKED)
    about = f"words of the vocabulary by public frequency, {_EACH} texts of {LINKED} a seed"
    return Corpus(texts, vocabulary.fold, about, _EACH)


def read_corpus(path: Path, inputs: Inputs, labels: str | None, vocabulary: Vocabulary) -> Corpus:
    """Return the records of a file, their chosen fields joined by spaces.

    Args:
        path: of a container that rewrite reads.
        inputs: how it is read.
        labels: field with the label of each record; None: no labels.
        vocabulary: splits the texts as a sanitizer does.

    Raises:
        InputError: the file cannot be read, or has no words.
        UsageError: fewer than two labels.
    """
    texts = [" ".join(each.texts) for each in records(path, inputs)]
    found = [vocabulary.inputs(text) for text in texts]
    ids = np.array([row for _, rows in found for row in rows], dtype=np.int64)
    if not (ids < vocabulary.n).any():
        raise InputError(path, "no words of the vocabulary, so there is nothing to compare")
    held = [] if labels is None else read_labels(path, labels, inputs)
    if labels is not None:
        if len(held) != len(texts):
            raise InputError(path, f"{len(held)} labels for {len(texts)} records")
        if len(set(held)) < 2:
            raise UsageError("--labels needs two different labels: all records have the same")
    starts = np.append(0, np.cumsum([len(rows) for _, rows in found]))
    unknown = f"{(ids == vocabulary.n).mean():.1%}".replace("%", " %")
    about = f"{path.name}: {len(texts):,} records, {len(ids):,} words, {unknown} unknown"
    pieces = [pieces for pieces, _ in found]
    return Corpus(Texts(ids, starts), vocabulary.fold, about, len(texts), pieces, held)
