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

from dataclasses import dataclass
from typing import ClassVar

from dpsan.mechanisms.base import IntegerResponse
from dpsan.mechanisms.parameters import parameter
from dpsan.mechanisms.samplers.bucket_response import (
    MOST_BUCKETS,
    BucketResponseSampler,
    bucket_weights,
)
from dpsan.privacy.certificate import Certificate, log_ratio
from dpsan.privacy.column_losses import column_certificate
from dpsan.privacy.guarantee import Claim, Guarantee
from dpsan.space.metric_space import MetricSpace


@dataclass(frozen=True)
class BucketExponential(IntegerResponse):
    """Bucket, then word."""

    name: ClassVar[str] = "bucket-exponential"
    summary: ClassVar[str] = "a bucket of like distances, then a word of it; costs ln n more"
    source: ClassVar[str] = "Cape Algorithms 1, 2"

    buckets: int = parameter(
        50, "how many buckets of equal width", unit="buckets", low=2, high=MOST_BUCKETS
    )

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Return the bound of the proof, from the integers."""
        weights = [int(each) for each in bucket_weights(self.epsilon, self.buckets)]
        first, last, total, others = weights[0], weights[-1], sum(weights), space.n - 1
        bound = log_ratio(first * others * total, (first + last) * last) if others else 0.0
        return self.promise(
            epsilon_ldp=bound,
            claimed=Claim(self.epsilon),
            why="which words share a bucket, and how many, depends on the true word: that costs up "
            "to about ln n besides epsilon",
        )

    def certificate(self, space: MetricSpace) -> Certificate | None:
        """Return the exact loss between any two inputs, in O(n²)."""
        return column_certificate(space, self.prepare(space).log_pmf, repr(self))

    def prepare(self, space: MetricSpace) -> BucketResponseSampler:
        """Return a sampler in two steps."""
        return BucketResponseSampler(space, bucket_weights(self.epsilon, self.buckets))
