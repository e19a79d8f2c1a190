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
    supports (infinite loss; its mass is in the reason that is printed for a small vocabulary).
    The list is not released, and R may be
    any length, so every word gives every output with some probability, and the loss of the output
    alone is finite: at most max d/max scale + epsilon/2 + ln n.  Up to 200 words the exact loss is
    printed.  It exceeds epsilon even for two words on a line: 1.68 at epsilon 1.
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
from dataclasses import replace
from typing import Any, Final

import numpy as np

from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.noise.vectors import independent_laplace
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.privacy.certificate import Certificate, kept_certificate, matrix_certificate
from dpsan.privacy.guarantee import Claim, Guarantee, Status
from dpsan.privacy.laplace_norm import LaplaceNorm
from dpsan.privacy.randomness import Streams
from dpsan.space.arrays import Floats, Ids, by_word
from dpsan.space.metric_space import MetricSpace

_AUDITED: Final = 200
"""Words up to which the distribution is computed, and all pairs are compared."""
_RADII: Final = 600
_FEW: Final = 20
_ROWS: Final = 32


def divisor(epsilon: float) -> float:
    """Return the divisor of coordinate ranges: the constants of the authors' code."""
    if epsilon < 2:
        return epsilon
    inner = epsilon * 19.064721649556482 - 38.1294334077209
    return 0.01658160142016071 * math.log(inner) + 9.311083811697406


class RanTextSampler(Sampler):
    """Radius, candidates, word; float64."""

    integrates = True
    makes_rows = True

    def __init__(self, space: MetricSpace, epsilon: float) -> None:
        self.space, self.epsilon = space, epsilon
        ranges = space.vectors.max(axis=0).astype(np.float64) - space.vectors.min(axis=0)
        self.scales = ranges / divisor(epsilon)
        self._norm: LaplaceNorm | None = None

    def _pmf(self, apart: Floats, radii: Floats) -> Floats:
        """P(u|w, R) for distances (m, n), or (n,) of one word, and radii (m,)."""
        ratio = apart / np.maximum(radii, 1e-300)[:, None]
        weights = np.where(apart < radii[:, None], np.exp(-0.5 * self.epsilon * ratio), 0.0)
        # All words at one point have no noise: then the word itself is left.
        weights[apart == 0] = 1.0
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        out = streams.integers("unknown", self.space.n).astype(np.int64)
        noise = independent_laplace(streams, self.space.d, 1.0) * self.scales
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

    def probabilities(self, ids: Ids) -> Floats | None:
        """Return None above 200 words."""
        n = self.space.n
        if n > _AUDITED:
            return None
        distinct, indices = np.unique(ids, return_inverse=True)
        rows = np.full((len(distinct), n), 1 / n)
        for row in np.flatnonzero(distinct < n).tolist():
            apart = self.space.distances(distinct[row : row + 1])[0]
            radii, shares = self._radii(apart)
            rows[row] = shares @ self._pmf(np.broadcast_to(apart, (len(radii), n)), radii)
        return rows[indices]

    def _radii(self, cuts: Floats) -> tuple[Floats, Floats]:
        """Radii and the shares of R that they stand for; no cut lies between those of one share."""
        if not (self.scales > 0).any():
            return np.zeros(1), np.ones(1)
        if self._norm is None:
            self._norm = LaplaceNorm(self.scales)
        end = max(self._norm.end, 1.01 * float(cuts.max(initial=0.0)))
        edges = np.unique(np.concatenate([np.linspace(0.0, end, _RADII), cuts]))
        above = np.minimum.accumulate(self._norm.above(edges))
        radii = np.append((edges[1:] + edges[:-1]) / 2, 1.1 * end)
        return radii, np.append(-np.diff(above), above[-1])

    def excluded(self) -> tuple[float, tuple[int, int]]:
        """Mean over R of the probability of words that another word has not in its list.

        The largest over all pairs of words, and the pair: O(n³) times some hundreds.  To about
        1e-3, for few words to 1e-5.
        """
        n = self.space.n
        apart = self.space.distances(np.arange(n))
        mass, cuts = np.zeros((n, n)), apart[apart > 0] if n <= _FEW else np.zeros(0)
        for radius, share in zip(*self._radii(cuts), strict=True):
            pmf = self._pmf(apart, np.full(n, radius))
            mass += share * (pmf @ (apart >= max(radius, 1e-300)).T)
        first, second = np.unravel_index(int(np.argmax(mass)), mass.shape)
        return float(mass[first, second]), (int(first), int(second))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_norm": None}


class RanTextPaper(Mechanism):
    """RANTEXT as published."""

    name = "rantext-paper"
    family = "table"
    status = Status.NONE
    summary = "RANTEXT: exponential mechanism within a random distance of the word"
    epsilon_unit = "nats"
    source = "InferDPT RANTEXT, authors' code"

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
            name = f"excluded-1-{self!r}"
            held = space.table(name, lambda: {"mass": np.array([sampler.excluded()[0]])})
            why += (
                f"with one radius for both, {float(held['mass'][0]):.3g} of the "
                "outputs of one word are impossible for another; the radius is not released"
            )
        return self.promise(epsilon_ldp=loss, claimed=Claim(self.epsilon), why=why)

    def certificate(self, space: MetricSpace) -> Certificate | None:
        """Exact audit of all pairs of a small vocabulary, to about 1e-5."""
        if space.n > _AUDITED:
            return None

        def build() -> Certificate:
            pmf = self.prepare(space).probabilities(np.arange(space.n + 1))
            # What rounding adds is nothing beside the quadrature's error.
            return replace(matrix_certificate(np.asarray(pmf), Claim(self.epsilon)), slack=0.0)

        method = "exact distribution matrix, quadrature over the radius"
        return kept_certificate(space, repr(self), method, build)

    def prepare(self, space: MetricSpace) -> RanTextSampler:
        """Return the published sampler."""
        return RanTextSampler(space, self.epsilon)
