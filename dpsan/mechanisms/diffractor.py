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
"""

from __future__ import annotations

from dpsan.mechanisms.mechanism import Claim, Guarantee, IntegerResponse, MetricSpace
from dpsan.mechanisms.tables.orders import RankNoise, RankTable, word_order


class Diffractor(IntegerResponse):
    """Clamped geometric noise on positions."""

    name = "diffractor"
    summary = "geometric noise on the position in a public one-dimensional order"
    epsilon_unit = "1/distance"
    source = "Diffractor, geometric form"

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Epsilon per position, and what the integers allow between the two ends."""
        loss, _ = RankNoise(self.epsilon, space.n).losses
        return self.promise(
            epsilon_ldp=min(loss, self.epsilon * (space.n - 1)),
            metric="rank",
            epsilon_metric=self.epsilon,
            claimed=Claim(self.epsilon, metric="rank"),
            why="one place more changes the probability of each noise, and of each tail beyond an "
            "end, by at most e^epsilon",
        )

    def table(self, space: MetricSpace) -> RankTable:
        return RankTable(space, word_order(space), RankNoise(self.epsilon, space.n))
