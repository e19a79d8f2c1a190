"""``bucket-exponential``: a bucket of words at like distances by the exponential mechanism.

Definition
    Distances from w, over the largest of them, are cut into N = ``buckets`` buckets of equal width;
    b = 0 ... N-1 counts from near to far.  A bucket that has words is drawn with probability
    proportional to exp(-epsilon·b/(2(N-1))), then one of its words, all equally likely:
    P(u|w) = exp(-epsilon·b/(2(N-1)))/(Z_w·size of the bucket).  ⊥ gives a uniform word.
Guarantee
    PROVED: LDP, but with an epsilon that is about ln n larger than the parameter.  Which words
    share a bucket, and how many, depends on w: an output that is alone in its bucket for one word
    is one of thousands for another.  The loss is at most
    ln(W_0·(n-1)·Z/((W_0+W_last)·W_last)), W the weights of buckets, Z their sum; the certificate
    has the exact one.  What the paper claims was not read here.
Proof
    docs/proofs.md 2.13
Source
    [Cape] Algorithm 1 (buckets of equal width) and the draw of Algorithm 2, on the distances of
    static vectors: without the language model that gives the paper's utility, and with the position
    of a bucket for its utility.  The paper's text was not at hand, only its summary.
Parameters
    buckets: N.
Cost
    One row of n distances per distinct word of a batch; certificate in O(n²·d).
Not to be confused with
    an exponential mechanism whose weights are rounded to N levels, which is epsilon-LDP and draws
    far words as often as they are many.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Final

import numpy as np

from dpsan.mechanisms.mechanism import (
    Floats,
    Guarantee,
    Ids,
    IntegerResponse,
    MetricSpace,
    parameter,
)
from dpsan.mechanisms.tables.dense import DenseTable
from dpsan.privacy.certificate import WEIGHT_ERROR

MOST_BUCKETS: Final = 64


class BucketExponential(IntegerResponse):
    """Bucket, then word."""

    buckets: int = parameter(
        50, "how many buckets of equal width", unit="buckets", low=2, high=MOST_BUCKETS
    )

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Return the bound of the proof, and what the rounding of weights adds."""
        # ln(W_0·(n - 1)·Z/((W_0 + W_last)·W_last)) with W_0 = 1
        last, total = -self.epsilon / 2, float(np.exp(-self._scores()).sum())
        bound = math.log(max(space.n - 1, 1)) + math.log(total) - math.log1p(math.exp(last)) - last
        return self.promise(bound + 4 * WEIGHT_ERROR if space.n > 1 else 0.0)

    def _scores(self) -> Floats:
        """Scores of the buckets, shape (buckets,)."""
        return self.epsilon / 2 * np.arange(self.buckets) / (self.buckets - 1)

    def table(self, space: MetricSpace) -> DenseTable:
        """Return the table: the score of a word's bucket, and ln of the words in it."""
        return DenseTable.of_scores(space, partial(self._rows, space))

    def _rows(self, space: MetricSpace, words: Ids) -> Floats:
        apart = space.distances(words)
        largest = apart.max(axis=1, keepdims=True)
        apart *= np.divide(self.buckets, largest, out=np.zeros_like(largest), where=largest > 0)
        buckets = np.minimum(apart.astype(np.int64), self.buckets - 1)
        sizes = np.array([np.bincount(row, minlength=self.buckets) for row in buckets])
        scores = self._scores() + np.log(np.maximum(sizes, 1))
        return np.take_along_axis(scores, buckets, axis=1)
