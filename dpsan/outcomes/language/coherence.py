"""Coherence of a word with the others of its unit, in whatever order they stand.

A word is the likelier, the nearer its vector is to the sum of the others' vectors.  Each vector has
the mean of running text taken off, and counts by the word's rarity a/(a + p), the weight of Arora,
Liang and Ma (A Simple but Tough-to-Beat Baseline for Sentence Embeddings, 2017).  They take off a
principal component instead, and compare sentences; a word beside its sentence is dpsan's own use.
An n-gram model sees two words to each side; this sees all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from dpsan.outcomes.language.lattice import unit_ends
from dpsan.outcomes.language.ngrams import Ngrams
from dpsan.space.arrays import Floats32, Ids

_RARE: Final = 0.0015
"""Probability of a word that has half of the weight of the rarest ones."""
_NUMBERS: Final = 1 << 18
"""Numbers of vectors that are gathered at once."""
_LEAST: Final = 1e-6
"""Length below which a sum says nothing."""


@dataclass(frozen=True, eq=False)
class Coherence:
    """Vectors of n words, as they are compared."""

    vectors: Floats32
    """Unit vectors, shape (n, d)."""
    rarity: Floats32
    """Weight of each word, shape (n,)."""
    centre: Floats32
    """Mean vector of running text, shape (d,)."""
    weight: float
    """Nats that a cosine of 1 is worth."""

    @classmethod
    def of(cls, vectors: Floats32, model: Ngrams, weight: float) -> Coherence:
        """Return the vectors of a vocabulary, with the frequencies of a model."""
        shares = np.exp(model.unigrams[: model.n])
        centre = shares @ vectors / shares.sum()
        rarity = _RARE / (_RARE + shares)
        return cls(vectors, rarity.astype(np.float32), centre.astype(np.float32), weight)

    def contexts(self, words: Ids, kinds: Ids) -> Floats32:
        """Return what stands beside each of m words, shape (m, d): vectors of length 1, or 0.

        Args:
            words: rows of the vocabulary, elsewhere a word that says nothing, shape (m,).
            kinds: of the gaps before each word and after the last, shape (m + 1,).
        """
        says = (words >= 0) & (words < len(self.vectors))
        rows = np.where(says, words, 0)
        weights = np.where(says, self.rarity[rows], 0)[:, None]
        each = weights * (self.vectors[rows] - self.centre)
        ends = unit_ends(kinds)
        sums = np.add.reduceat(each, np.append(0, ends[:-1]), axis=0) if len(words) else each
        others = np.repeat(sums, np.diff(ends, prepend=0), axis=0) - each
        lengths = np.sqrt(np.einsum("md,md->m", others, others))
        others /= np.maximum(lengths, _LEAST)[:, None]
        return np.asarray(others)

    def logs(self, states: Ids, contexts: Floats32) -> Floats32:
        """Return ln of the factor of each word that is considered, shape (m, s); 0 for others.

        Args:
            states: rows of the vocabulary, elsewhere no words, shape (m, s).
            contexts: of each position, shape (m, d).
        """
        words = (states >= 0) & (states < len(self.vectors))
        rows = np.where(words, states, 0)
        out = np.empty(rows.shape, dtype=np.float32)
        step = max(1, _NUMBERS // max(1, rows.shape[1] * self.vectors.shape[1]))
        for start in range(0, len(out), step):
            part = slice(start, start + step)
            near = np.matmul(self.vectors[rows[part]], contexts[part, :, None])[:, :, 0]
            out[part] = near - (contexts[part] @ self.centre)[:, None]
        out *= np.float32(self.weight) * self.rarity[rows]
        out[~words] = 0
        return out
