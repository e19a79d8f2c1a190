"""A bucket of words by its distance from the true word, then a word of it: two draws."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context, Decimal
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.samplers.base import Sampler
from dpsan.privacy.randomness import Streams
from dpsan.space.arrays import Floats, Ids, Integers, by_word
from dpsan.space.metric_space import MetricSpace

MOST_BUCKETS: Final = 64
_TOP: Final = 1 << 56
"""Weight of the first bucket; the sum of all is at most 2^62."""
_ROWS: Final = 32
_EXACT: Final = Context(prec=60)


def bucket_weights(epsilon: float, buckets: int) -> Integers:
    """Integer weights of buckets, (buckets,): 2^56·e^(-epsilon·b/(2(buckets-1))), rounded up."""
    rates = (-Decimal(epsilon) * b / (2 * (buckets - 1)) for b in range(buckets))
    shares = (_EXACT.multiply(_EXACT.exp(rate), _TOP) for rate in rates)
    # What // and int() do to a Decimal is rounding towards 0, whatever its sign.
    whole = (int(each.to_integral_value(ROUND_CEILING)) for each in shares)
    return np.array([max(each, 1) for each in whole], np.uint64)


class BucketResponseSampler(Sampler):
    """Distances over the largest one, cut into buckets of equal width; empty ones have no weight.

    Args:
        weights: of the buckets from near to far, see :func:`bucket_weights`; ⊥ is uniform.
    """

    makes_rows = True

    def __init__(self, space: MetricSpace, weights: Integers) -> None:
        self.space, self.bucket_weights = space, weights

    def buckets(self, ids: Ids) -> NDArray[np.int8]:
        """Return the bucket of every output for words (m,), shape (m, n)."""
        apart = self.space.distances(ids)
        largest = apart.max(axis=1, keepdims=True)
        count = len(self.bucket_weights)
        apart *= np.divide(count, largest, out=np.zeros_like(largest), where=largest > 0)
        return np.minimum(apart.astype(np.int8), np.int8(count - 1))

    def _sizes(self, buckets: NDArray[np.int8]) -> Ids:
        """Return the number of words of each bucket, shape (m, buckets)."""
        count = len(self.bucket_weights)
        each = [np.bincount(row, minlength=count) for row in buckets]
        return np.array(each, dtype=np.int64).reshape(-1, count)

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        out = streams.integers("unknown", self.space.n).astype(np.int64)
        numbers = _Numbers(streams)
        known = np.flatnonzero(ids < self.space.n)
        for words, indices, row in by_word(ids[known], _ROWS):
            tokens = known[indices]
            buckets = self.buckets(words)
            sizes = self._sizes(buckets)
            sums = np.cumsum(np.where(sizes > 0, self.bucket_weights, np.uint64(0)), axis=1)
            drawn = numbers.below("bucket", tokens, sums[row, -1])
            bucket = (sums[row] <= drawn[:, None]).sum(axis=1)
            index = numbers.below("member", tokens, sizes[row, bucket].astype(np.uint64))
            for one in range(len(words)):
                here = row == one
                order = np.argsort(buckets[one], kind="stable")
                first = np.cumsum(sizes[one]) - sizes[one]
                out[tokens[here]] = order[first[bucket[here]] + index[here].astype(np.int64)]
        return out

    def log_pmf(self, ids: Ids) -> Floats:
        """Logarithms of the probabilities of inputs (⊥ allowed) for all outputs, (m, n)."""
        n = self.space.n
        out = np.full((len(ids), n), -np.log(n))
        known = np.flatnonzero(ids < n)
        if len(known):
            buckets = self.buckets(ids[known])
            sizes = self._sizes(buckets)
            weights = np.where(sizes > 0, self.bucket_weights, np.uint64(0)).astype(np.float64)
            share = weights / weights.sum(axis=1, keepdims=True) / np.maximum(sizes, 1)
            with np.errstate(divide="ignore"):
                share = np.log(share)
            out[known] = np.take_along_axis(share, buckets.astype(np.int64), axis=1)
        return out

    def probabilities(self, ids: Ids) -> Floats:
        return np.exp(self.log_pmf(ids))


class _Numbers:
    """Uniform integers for some words of a batch at a time, each below a bound of its own."""

    def __init__(self, streams: Streams) -> None:
        self.streams = streams
        self._bits: dict[str, NDArray[Any]] = {}

    def below(self, label: str, tokens: Ids, bounds: Integers) -> Integers:
        """Exactly uniform integers below bounds (m,), for words (m,) of the batch."""
        out = np.zeros(len(tokens), dtype=np.uint64)
        # The largest accepted value is 2^64 - 1 - (2^64 mod bound), as in Streams.integers.
        largest = np.uint64(2**64 - 1) - (np.uint64(0) - bounds) % bounds
        pending, attempt = np.arange(len(tokens)), 0
        while len(pending):
            name = f"{label}/{attempt}"
            if name not in self._bits:
                self._bits[name] = self.streams.bits(name)[:, 0]
            bits = self._bits[name][tokens[pending]]
            out[pending] = bits % bounds[pending]
            pending, attempt = pending[bits > largest[pending]], attempt + 1
        return out
