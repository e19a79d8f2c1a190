"""``diffractor``: geometric noise on the position of the word in a public one-dimensional order.

Definition
    The words stand in a public order: from the most frequent word on, each time the nearest word
    that has no place yet.  The output is the word at the position of w plus two-sided geometric
    noise,
    P(noise = k) = (1-alpha)/(1+alpha)·alpha^|k| with alpha = e^-epsilon; what leaves the order
    becomes its first or last word.  ⊥ stands in the middle.
Guarantee
    PROVED: epsilon per position between two words, and LDP epsilon·(n-1) or the least that the
    integers allow, which is about 43 nats. One position more or less changes the probability of
    each noise, and of each tail beyond an end, by at most the factor e^epsilon. Sampled from
    integer weights in which these ratios hold exactly.
Proof
    docs/proofs.md 2.11
Source
    [Diffractor], the geometric form, for every word: nothing is copied.  The noise is that of
    [Geometric]; clamping reads only the noisy position.
Parameters
    None besides epsilon.
Cost
    The order once per vocabulary (13 s for the bundled one, cached); then O(log n) per word.
Not to be confused with
    ``diffractor-paper``, which copies frequent words as the published code does.

``diffractor-paper``: geometric noise on the position in an order; stop words are copied.

Definition
    The ``kept`` share of most frequent words, at least one word, stands for the stop words, and
    each of them is its own output.  Every other word gets the noise of ``diffractor`` in the
    greedy order: P(noise = k) = (1-alpha)/(1+alpha)·alpha^|k| with alpha = e^-epsilon, clamped at
    both ends.  Copied words have a position too, and can be the output of other words.
    ⊥ stands in the middle; the published code copies unknown words.
Guarantee
    NONE between any two words of the list, as of ``santext-plus``, which copies words too: a copied
    word is certainly the output, and no other copied word ever gives it (infinite loss with mass 1;
    with one copied word, 1 less the smallest probability that it is the output of another word).
    Copying stop words is the code's default, not a claim of the paper, so nothing is refuted.
    Between words that are drawn epsilon per position holds, as for ``diffractor``: clamping and the
    noise are sound.
Proof
    docs/proofs.md 3.6
Source
    [Diffractor], geometric form, and the authors' code for stop words (copied by default), unknown
    words and clamping.  The code knows the stop words of a list; here frequent words stand for
    them.  It draws in one list for each of five embeddings and takes one of the five outputs at
    random; here there is one list.  With several the loss of two drawn words is at most epsilon
    times the largest of their distances in the lists.
Parameters
    kept: share of the vocabulary; 0.005 of the bundled words are 160, NLTK has 179 stop words.
Cost
    The order once per vocabulary (cached); then O(log n) per word.
Not to be confused with
    ``diffractor``, which draws every word and is proved.
"""

import math
from dataclasses import replace

import numpy as np

from dpsan.mechanisms.mechanism import IntegerResponse, parameter
from dpsan.mechanisms.tables.dense import DisjointSupports
from dpsan.mechanisms.tables.orders import RankNoise, RankTable, word_order
from dpsan.privacy.guarantee import Claim, Guarantee
from dpsan.privacy.randomness import Streams
from dpsan.space.arrays import Floats, Ids, Integers
from dpsan.space.metric_space import MetricSpace


class Diffractor(IntegerResponse):
    """Clamped geometric noise on positions."""

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Epsilon per position, and what the integers allow between the two ends."""
        loss, _ = RankNoise(self.epsilon, space.n).losses
        return self.promise(
            epsilon_ldp=min(loss, self.epsilon * (space.n - 1)),
            metric="rank",
            epsilon_metric=self.epsilon,
            claimed=Claim(self.epsilon, metric="rank"),
        )

    def table(self, space: MetricSpace) -> RankTable:
        return RankTable(space, word_order(space), RankNoise(self.epsilon, space.n))


class CopyingTable(RankTable):
    """Noise on positions for the words from ``first`` on; those before are copied.

    Args:
        order: rows in order of their position, shape (n,).
    """

    def __init__(self, space: MetricSpace, order: Ids, noise: RankNoise, first: int) -> None:
        super().__init__(space, order, noise)
        self.first = first

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        return np.where(ids < self.first, ids, super().sample(ids, streams))

    def weights(self, ids: Ids) -> Integers:
        out = super().weights(ids)
        copied = np.flatnonzero(ids < self.first)
        out[copied] = 0
        out[copied, ids[copied]] = 1
        return out


class DiffractorPaper(DisjointSupports):
    """1-Diffractor as published, with one list."""

    kept: float = parameter(
        0.005, "share of the vocabulary, most frequent words, that is copied", above=0, high=1
    )

    def first(self, n: int) -> int:
        """Return the first row that is drawn."""
        return max(1, math.ceil(self.kept * n - 1e-9))

    def excluded(self, space: MetricSpace) -> float:
        if self.first(space.n) > 1:
            return 1.0
        # One word is copied, the first of the order: the last position is the farthest from it.
        noise = RankNoise(self.epsilon, space.n)
        return 1 - int(noise.tails[-1]) / noise.total

    def excluding(self, space: MetricSpace) -> tuple[int, int]:
        if self.first(space.n) > 1:
            return 0, 1
        return int(word_order(space)[-1]), 0

    def claimed_metric(self) -> str:
        return "rank"

    def guarantee(self, space: MetricSpace) -> Guarantee:
        why = self.why.format(first=self.first(space.n))
        return replace(super().guarantee(space), why=why)

    def claim_distances(self, space: MetricSpace, ids: Ids) -> Floats | None:
        """Count distances in positions of the order."""
        indices = self.table(space).indices[ids]
        return np.asarray(np.abs(indices[:, None] - indices), dtype=np.float64)

    def table(self, space: MetricSpace) -> CopyingTable:
        """Return the published table."""
        noise = RankNoise(self.epsilon, space.n)
        return CopyingTable(space, word_order(space), noise, self.first(space.n))
