"""``vickrey``: Laplace noise, then the first or the second nearest word.

Definition
    y = phi(w) + z with z as in ``laplace``; u1, u2 are the two words nearest to y, at distances
    d1 <= d2.  The output is u1 with probability (1-t)·d2 / (t·d1 + (1-t)·d2), else u2.
Guarantee
    PROVED: epsilon·d_X for the Euclidean distance; LDP epsilon·diameter, as for ``laplace``.  The
    two words, their distances and so the coin are functions of the noisy point y alone.
    The input is not read after the noise: post-processing.
Proof
    docs/proofs.md 1.2
Source
    [Vickrey] Algorithm 1.  Deviation: u1 may be the input word.  Leaving it out, as published code
    does, reads the input: the output then excludes it, an infinite loss.
Parameters
    t: 0 ... 1; 0 is ``laplace``, 0.5 weighs by distance alone, 1 always takes the second word.
Cost
    One exact search per word, 2·n·d operations.
Not to be confused with
    the second nearest word of the input, which is no randomisation at all.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from dpsan.mechanisms.mechanism import Arithmetic, Floats, Ids, MetricSpace, parameter
from dpsan.mechanisms.noise import LaplaceNoise
from dpsan.mechanisms.tables import Projection
from dpsan.privacy.randomness import Streams


def first_or_second(space: MetricSpace, points: Floats, streams: Streams, *, t: float) -> Ids:
    """Projection of points (m, d): one of the two nearest words, by their distances, (m,)."""
    nearest, distances = space.search(points, min(2, space.n))
    first = (1 - t) * distances[:, -1]
    total = t * distances[:, 0] + first
    # P(first) = first / total; where both are 0 the first is taken.
    second = streams.uniform("vickrey")[:, 0] * total > first
    return np.where(second, nearest[:, -1], nearest[:, 0])


class Vickrey(LaplaceNoise):
    """Multivariate Laplace noise, first or second nearest word."""

    arithmetic = Arithmetic.REALS  # its coin reads distances

    t: float = parameter(0.75, "weight of the second nearest word", low=0, high=1)

    def projection(self, space: MetricSpace) -> Projection:
        """By the distances of the two nearest words."""
        return partial(first_or_second, t=self.t)
