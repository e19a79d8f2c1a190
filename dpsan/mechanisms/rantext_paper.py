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
    max d/max scale + epsilon/2 + ln n.  Up to 200 words the exact loss is printed.  It exceeds
    epsilon even for two words on a line: 1.68 at epsilon 1.
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
from functools import cached_property
from typing import Final

import numpy as np

from dpsan.mechanisms.base import AuditedTable
from dpsan.mechanisms.samplers.base import QuadratureSampler
from dpsan.privacy.guarantee import Guarantee, Status
from dpsan.privacy.randomness import Streams
from dpsan.privacy.rounding import LaplaceCoordinates
from dpsan.space.arrays import Floats, Ids, by_word
from dpsan.space.metric_space import MetricSpace

# Distribution of the length of a vector of independent Laplace numbers.
#
# The square of a Laplace number of scale b has the Laplace transform psi(b²·s), psi(s) =
# sqrt(pi/s)/2·erfcx(1/(2·sqrt s)); that of a sum of squares is the product.  It is inverted along
# Talbot's contour, exact to about 1e-10, on a grid with a spline: about 1e-7.

_NODES: Final = 32
_GRID: Final = 1000
_TAIL: Final = 1e-10


class LaplaceNorm:
    """P(sqrt(sum of x_i²) > r) for independent x_i of density exp(-|x|/b_i)/(2·b_i).

    Args:
        scales: b_i, (d,), of which at least one is > 0.
    """

    def __init__(self, scales: Floats) -> None:
        from scipy.interpolate import CubicSpline  # heavy import

        self.scales = scales[scales > 0]
        self.largest = float(self.scales.max())
        self.end = 2 * float(np.sqrt(2 * (self.scales**2).sum()))
        while 1 - float(self._below(np.array([self.end]))[0]) > _TAIL:
            self.end *= 1.5
        grid = np.linspace(0.0, self.end, _GRID)
        self._spline = CubicSpline(grid, np.append(0.0, self._below(grid[1:])))

    def above(self, r: Floats) -> Floats:
        """P(length > r), for r >= 0: to about 1e-7, and never below a bound that is positive."""
        found = 1 - self._spline(np.minimum(r, self.end))
        # One coordinate alone is longer than r.
        return np.asarray(np.clip(found, np.exp(-r / self.largest), 1.0))

    def _below(self, r: Floats) -> Floats:
        """P(length <= r), for r > 0, by Talbot's contour."""
        from scipy.special import wofz  # heavy import

        angle = np.arange(1, _NODES) * np.pi / _NODES
        cot, first = 1 / np.tan(angle), 2 * _NODES / 5
        points = np.append(first + 0j, first * angle * (cot + 1j))
        factors = np.exp(points)
        factors[0] /= 2
        factors[1:] *= 1 + 1j * angle * (1 + cot**2) - 1j * cot
        out = np.empty(len(r))
        for at in range(0, len(r), 64):
            s = points / (r[at : at + 64, None] ** 2)
            value = 1 / s
            for scale in self.scales.tolist():
                root = np.sqrt(s) * scale
                value *= 0.5 * np.sqrt(np.pi) / root * wofz(0.5j / root)
            out[at : at + 64] = 0.4 / r[at : at + 64] ** 2 * (factors * value).real.sum(axis=1)
        return out


_AUDITED: Final = 200
"""Words up to which the distribution is computed, and all pairs are compared."""
_RADII: Final = 600
_ROWS: Final = 32


def divisor(epsilon: float) -> float:
    """Return the divisor of coordinate ranges: the constants of the authors' code."""
    if epsilon < 2:
        return epsilon
    inner = epsilon * 19.064721649556482 - 38.1294334077209
    return 0.01658160142016071 * math.log(inner) + 9.311083811697406


class RanTextSampler(QuadratureSampler):
    """Radius, candidates, word; float64."""

    makes_rows = True
    most_words = _AUDITED

    def __init__(self, space: MetricSpace, epsilon: float) -> None:
        self.space, self.epsilon = space, epsilon
        ranges = space.vectors.max(axis=0).astype(np.float64) - space.vectors.min(axis=0)
        self.scales = ranges / divisor(epsilon)

    @cached_property
    def _norm(self) -> LaplaceNorm:
        return LaplaceNorm(self.scales)

    def _pmf(self, apart: Floats, radii: Floats) -> Floats:
        """P(u|w, R) for distances (m, n), or (n,) of one word, and radii (m,)."""
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
        known = np.flatnonzero(ids < self.space.n)
        for words, indices, which in by_word(ids[known], _ROWS):
            apart = self.space.distances(words)
            for at in range(0, len(indices), _ROWS):
                rows, some = known[indices[at : at + _ROWS]], which[at : at + _ROWS]
                sums = np.cumsum(self._pmf(apart[some], radii[rows]), axis=1)
                index = (sums <= drawn[rows, None] * sums[:, -1:]).sum(axis=1)
                out[rows] = np.minimum(index, self.space.n - 1)
        return out

    def distribution(self, word: Ids) -> Floats:
        apart = self.space.distances(word)[0]
        radii, shares = self._radii(apart)
        pmf = self._pmf(np.broadcast_to(apart, (len(radii), len(apart))), radii)
        return np.asarray(shares @ pmf)

    def _radii(self, cuts: Floats) -> tuple[Floats, Floats]:
        """Radii and the shares of R that they stand for; no cut lies between those of one share."""
        if not (self.scales > 0).any():
            return np.zeros(1), np.ones(1)
        end = max(self._norm.end, 1.01 * float(cuts.max(initial=0.0)))
        edges = np.unique(np.concatenate([np.linspace(0.0, end, _RADII), cuts]))
        above = np.minimum.accumulate(self._norm.above(edges))
        radii = np.append((edges[1:] + edges[:-1]) / 2, 1.1 * end)
        return radii, np.append(-np.diff(above), above[-1])


class RanTextPaper(AuditedTable):
    """RANTEXT as published."""

    name = "rantext-paper"
    status = Status.NONE
    summary = "RANTEXT: exponential mechanism within a random distance of the word"
    epsilon_unit = "nats"
    source = "InferDPT RANTEXT, authors' code"
    method = "exact distribution matrix, quadrature over the radius"

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Return the exact loss for small vocabularies, else a bound; both are finite."""
        found, sampler = self.certificate(space), self.prepare(space)
        why = "the candidates are words near the true word, and the proof takes them as given; "
        if found is None:
            largest = float(sampler.scales.max())
            loss = space.diameter / largest if largest > 0 else 0.0
            loss += self.epsilon / 2 + math.log(space.n)
            why += f"the loss is a bound, up to {_AUDITED} words it is exact"
        else:
            loss = found.epsilon_ldp
            why += "with one radius for both, two words have different outputs; it is not released"
        return self.promise(loss, why=why)

    def prepare(self, space: MetricSpace) -> RanTextSampler:
        """Return the published sampler."""
        return RanTextSampler(space, self.epsilon)
