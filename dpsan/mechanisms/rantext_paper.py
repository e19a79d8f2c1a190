"""``rantext-paper``: exponential mechanism within a random distance of the true word.

Definition
    The vector of w gets independent Laplace noise of scale Delta_i/epsilon in coordinate i, Delta_i
    the range of that coordinate over the vocabulary; from epsilon = 2 on the divisor is
    F(epsilon) = 0.0166·ln(19.06·epsilon - 38.13) + 9.311, the paper's fit.  R is the length of the
    noise.  Candidates are the words nearer to w than R, w among them, and
    P(u|w, R) is proportional to exp(epsilon·(1 - d(w, u)/R)/2) among these.
    ⊥ gives a uniform word.
Guarantee
    NONE: the paper's proof was not read here, so nothing is refuted; this is about the authors'
    code.  Its list is made of the true word: with one and the same R, two words have different
    supports (infinite loss).  The list is not released, and R may be any length, so every word
    gives every output with some probability, and the loss of the output alone is finite: at most
    max d/max scale + epsilon/2 + ln n, which is printed.  The exact loss exceeds epsilon even for
    two words on a line: 1.68 at epsilon 1.
Proof
    docs/proofs.md 3.7
Source
    [InferDPT] RANTEXT and the authors' code for the noise, F, candidates and draw.  The code drops
    tokens without a vector and writes a number from 1 to 1000 for every number: infinite loss as
    well, which is not in here.  Vectors are those of the vocabulary, not of a language model.
Cost
    One row of n distances per distinct word of a batch, and n weights per word.
Not to be confused with
    ``tem``, whose words beyond a fixed distance keep a small probability.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from dpsan.mechanisms.mechanism import Guarantee, Mechanism, MetricSpace, Sampler
from dpsan.privacy.randomness import Streams
from dpsan.privacy.rounding import LaplaceCoordinates
from dpsan.space.arrays import Floats, Ids, by_word

_ROWS: Final = 32


def divisor(epsilon: float) -> float:
    """Return the divisor of coordinate ranges: the constants of the authors' code."""
    if epsilon < 2:
        return epsilon
    inner = epsilon * 19.064721649556482 - 38.1294334077209
    return 0.01658160142016071 * math.log(inner) + 9.311083811697406


class RanTextSampler(Sampler):
    """Radius, candidates, word; float64."""

    makes_rows = True

    def __init__(self, space: MetricSpace, epsilon: float) -> None:
        self.space, self.epsilon = space, epsilon
        ranges = space.vectors.max(axis=0).astype(np.float64) - space.vectors.min(axis=0)
        self.scales = ranges / divisor(epsilon)

    def pmf(self, apart: Floats, radii: Floats) -> Floats:
        """P(u|w, R) for distances (m, n) and radii (m,)."""
        ratio = apart / np.maximum(radii, 1e-300)[:, None]
        weights = np.where(apart < radii[:, None], np.exp(-0.5 * self.epsilon * ratio), 0.0)
        # All words at one point have no noise: then the word itself is left.
        weights[apart == 0] = 1.0
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        out = streams.integers("unknown", self.space.n).astype(np.int64)
        noise = LaplaceCoordinates(1.0)(streams, self.space.d) * self.scales
        radii = np.linalg.norm(noise, axis=1)
        drawn = streams.uniform("word")[:, 0]
        listed = np.flatnonzero(ids < self.space.n)
        for words, indices, which in by_word(ids[listed], _ROWS):
            apart = self.space.distances(words)
            for at in range(0, len(indices), _ROWS):
                rows, groups = listed[indices[at : at + _ROWS]], which[at : at + _ROWS]
                sums = np.cumsum(self.pmf(apart[groups], radii[rows]), axis=1)
                index = (sums <= drawn[rows, None] * sums[:, -1:]).sum(axis=1)
                out[rows] = np.minimum(index, self.space.n - 1)
        return out


class RanTextPaper(Mechanism):
    """RANTEXT as published."""

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Return a bound on the loss, which is finite."""
        largest = float(self.prepare(space).scales.max())
        loss = space.diameter / largest if largest > 0 else 0.0
        return self.promise(loss + self.epsilon / 2 + math.log(space.n))

    def prepare(self, space: MetricSpace) -> RanTextSampler:
        """Return the published sampler."""
        return RanTextSampler(space, self.epsilon)
