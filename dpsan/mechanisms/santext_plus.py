"""``santext-plus``: exponential mechanism into the sensitive words; frequent words mostly kept.

Definition
    The ``sensitive`` share of least frequent words is V_S, the others are V_N.  A word of V_S
    becomes u in V_S with probability proportional to exp(-epsilon·d(w, u)/2).  A word of V_N is
    kept with probability 1-p and drawn in the same way, from V_S, with probability p.
    ⊥ gives a uniform word of the whole vocabulary.
    Scores are counted from the nearest word of V_S and capped at 30 nats.
Guarantee
    NONE for all strings: an output in V_N comes from that word or from ⊥ alone, so it is an
    infinite loss with mass 1-p.  Within V_S the distribution is the exponential mechanism and keeps
    epsilon·d_X; the paper's own claim is of this kind ("utility-optimized" metric privacy: V_N is
    declared harmless) and is not refuted.
Proof
    docs/proofs.md 3.5
Source
    [SanText] §3.2, Algorithm 2 (SanText+), and the authors' code for V_N and unknown words.
Parameters
    sensitive: share of the vocabulary, 0.9 in the paper.  p: 0.3 in the paper.
Cost
    A row of n weights per distinct word of a batch.
Not to be confused with
    ``exponential``, which is SanText and draws every word from the whole vocabulary.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from dpsan.mechanisms.mechanism import MetricSpace, parameter
from dpsan.mechanisms.tables.dense import (
    TOP,
    DenseTable,
    DisjointSupports,
    distance_guarantee,
    weights_of,
)
from dpsan.privacy.certificate import MATRIX_WORDS, Certificate, euclidean
from dpsan.space.arrays import Ids, Integers


class SanTextPlus(DisjointSupports):
    """SanText+ as published."""

    sensitive: float = parameter(
        0.9,
        "share of the vocabulary, least frequent words, that counts as sensitive",
        above=0,
        high=1,
    )
    p: float = parameter(
        0.3, "probability with which a word that is not sensitive is drawn anew", low=0, high=1
    )  # fmt: skip

    def first(self, n: int) -> int:
        """Return the first row of V_S."""
        return n - max(1, math.ceil(self.sensitive * n - 1e-9))

    def excluded(self, space: MetricSpace) -> float:
        """A word may be kept, and ⊥ gives words of V_N."""
        first = self.first(space.n)
        return max(1 - self.p, first / space.n) if first else 0.0

    def excluding(self, space: MetricSpace) -> tuple[int, int]:
        kept = 1 - self.p >= self.first(space.n) / space.n
        return 0 if kept else space.n, space.n - 1

    def loss_of_one_support(self, space: MetricSpace) -> float:
        return distance_guarantee(euclidean(space), self.epsilon)[0]

    def certificate(self, space: MetricSpace) -> Certificate | None:
        """None where the matrix is small enough, whose delta is exact."""
        return super().certificate(space) if space.n > MATRIX_WORDS else None

    def table(self, space: MetricSpace) -> DenseTable:
        """Return the published table."""
        return DenseTable(space, partial(self._rows, space))

    def _rows(self, space: MetricSpace, words: Ids) -> Integers:
        first = self.first(space.n)
        scores = space.distances(words)[:, first:] * (0.5 * self.epsilon)
        scores -= scores.min(axis=1, keepdims=True)
        weights, frequent = weights_of(scores), np.flatnonzero(words < first)
        anew = weights[frequent].astype(np.float64)
        weights[frequent] = anew / anew.sum(axis=1, keepdims=True) * (self.p * TOP)
        out = np.zeros((len(words), space.n), dtype=np.uint64)
        out[:, first:] = weights
        out[frequent, words[frequent]] = int((1 - self.p) * TOP)
        return out
