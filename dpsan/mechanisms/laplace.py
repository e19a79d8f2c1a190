"""``laplace``: multivariate Laplace noise on the word's vector, then the nearest word.

Definition
    z = r·u with r ~ Gamma(d, 1/epsilon) and u uniform on the unit sphere, so the density of z is
    proportional to exp(-epsilon·|z|); the output is the word nearest to phi(w) + z.
Guarantee
    PROVED: epsilon·d_X for the Euclidean distance; LDP epsilon·diameter.  The density ratio of two
    shifted noises is exp(epsilon·(|y - x'| - |y - x|)), at most exp(epsilon·|x - x'|) by the
    triangle inequality.  Taking the nearest word reads only the noisy point: post-processing.
    Proved for real numbers; only a row number is released, and docs/proofs.md 1.9 bounds what
    float64 changes.
Proof
    docs/proofs.md 1.1
Source
    [CMP] §3; the baseline of [Curse] §3.  Directions come from the sphere, not from the ball.
Cost
    One exact search per word, 2·n·d operations.
Not to be confused with
    i.i.d. Laplace noise per coordinate (``clipped-laplace``), which has an L1 guarantee.

``rank-softmax``: a noisy pivot, then a word drawn by its rank among the pivot's neighbours.

Definition
    Pivot p = word nearest to phi(w) + z, z as in ``laplace``; the output is the word of rank r
    from p (p itself has r = 0, ties by row number) with P(r) proportional to exp(-c·epsilon·r),
    r = 0 ... n-1.
Guarantee
    PROVED: epsilon·d_X for the Euclidean distance; LDP epsilon·diameter, as for ``laplace``.  The
    pivot is a function of the noisy point, and the rank is drawn from a distribution without the
    input. So the output is a randomised function of the noisy point: post-processing.
Proof
    docs/proofs.md 1.2
Source
    [Curse] §7.  The published code ranks the whole vocabulary for every word; here r is drawn first
    (a geometric variable truncated at n, by its inverse) and one neighbour query finds the word.
Parameters
    c: per unit of epsilon, > 0; the authors use 0.04 (GloVe 300d) and 0.007 (word2vec).
Cost
    An exact search per word and one per distinct pivot of a batch; a rank in the thousands costs
    about a sort of the vocabulary.
Not to be confused with
    ranks or candidates taken from the true word after adding noise, which has no such guarantee.

``vickrey``: Laplace noise, then the first or the second nearest word.

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

``mahalanobis``: Laplace noise stretched along the directions in which the words vary.

Definition
    S = lambda·Sigma + (1-lambda)·I, Sigma the public covariance of the vectors scaled to mean
    variance 1 (trace d).  z = r·S^(1/2)·u, r ~ Gamma(d, 1/epsilon), u uniform on the unit sphere;
    the output is the word nearest (Euclidean) to phi(w) + z.
Guarantee
    PROVED: epsilon per unit of the regularised Mahalanobis distance |S^(-1/2)(x - x')|, since z has
    a density proportional to exp(-epsilon·|S^(-1/2) z|) and that norm has a triangle inequality.
    It is at most |x - x'|/sqrt(lambda_min) with lambda_min >= 1-lambda the least eigenvalue of S:
    Euclidean epsilon/sqrt(lambda_min).  LDP epsilon·(Mahalanobis diameter).
Proof
    docs/proofs.md 1.3
Source
    [Mahalanobis] Algorithm 1.  The stretched vector is not re-normalised: that is another
    distribution.
Parameters
    lam: lambda, 0 ... 1; 0 is ``laplace``.
Cost
    Eigenvectors of a d × d matrix once per vocabulary; per word d² more than ``laplace``.
Not to be confused with
    ``laplace`` at the same epsilon: the two count distance differently, compare the LDP epsilon.

``pte``: a fixed random projection to few dimensions, Laplace noise there, the nearest word.

Definition
    Phi is a public m × d matrix of independent N(0, 1/m) entries, the same for every run.  The
    output is the word u whose Phi·phi(u) is nearest to Phi·phi(w) + z, z multivariate Laplace
    noise in m dimensions with epsilon' = epsilon/F.
Guarantee
    PROVED: epsilon·d_X for the Euclidean distance of the original vectors.  F is at least
    |Phi s|/|s| for every difference s of two inputs (the exact maximum over all pairs, or the
    largest singular value of Phi), so epsilon'·|Phi s| <= epsilon·|s|.  LDP epsilon'·(diameter of
    the projected points).  F is that of the projected points as they are used, rounded to 32 bits;
    with the singular value, ``slack`` covers that rounding.
Proof
    docs/proofs.md 1.4
Source
    [PTE] §3.  Deviation: the published statement holds with high probability over Phi; here the
    factor of the one Phi that is used is computed, and the statement holds with certainty.
Parameters
    dimensions: m, at most d.
Cost
    All pairs of words once per vocabulary where that is cheap; then 2·n·m operations per word.
Not to be confused with
    a projection drawn afresh and kept secret, for which no such factor can be computed.
"""

from functools import partial
from typing import Final

import numpy as np

from dpsan.errors import UsageError, refuse
from dpsan.mechanisms.mechanism import parameter
from dpsan.mechanisms.noise import LaplaceNoise
from dpsan.mechanisms.tables import PointSampler, Projection, nearest
from dpsan.privacy.guarantee import Arithmetic, Claim, Guarantee
from dpsan.privacy.randomness import Streams, seeded_key, streams_for
from dpsan.privacy.rounding import SphericalLaplace
from dpsan.space.arrays import Floats, Ids, largest_norm
from dpsan.space.diameters import largest_stretch
from dpsan.space.metric_space import MetricSpace, diameter_bound


class Laplace(LaplaceNoise):
    """Multivariate Laplace noise, nearest word."""


_FIRST: Final = 8
"""Neighbours of a pivot that are searched at first: so few are found fast (dpsan/space)."""
_GROWTH: Final = 2
_HELD: Final = 1 << 22
"""Neighbours held at a time (batch · k)."""


def by_rank(space: MetricSpace, points: Floats, streams: Streams, *, rate: float) -> Ids:
    """Projection of points (m, d): a neighbour of the nearest word by rank, (m,).

    Args:
        rate: by which the logarithm of the weight falls per rank.
    """
    ranks = draw_ranks(streams.uniform("rank")[:, 0], rate, space.n)
    return words_of_rank(space, nearest(space, points, streams), ranks)


def words_of_rank(space: MetricSpace, pivots: Ids, ranks: Ids) -> Ids:
    """Return the word of each rank from each pivot, shape (m,).

    Each pivot is searched once, as far as the next power of two above its highest rank.

    Args:
        pivots: words, not ⊥, shape (m,).
        ranks: 0 ... n - 1, shape (m,).
    """
    out = pivots.copy()
    words, inverse = np.unique(pivots, return_inverse=True)
    highest = np.zeros(len(words), dtype=np.int64)
    np.maximum.at(highest, inverse, ranks)
    low, k = 1, min(_FIRST, space.n)
    while low < space.n:
        group = np.flatnonzero((highest >= low) & (highest < k))
        step = max(1, _HELD // k)
        for at in range(0, len(group), step):
            pivots_now = group[at : at + step]
            near = space.neighbors(words[pivots_now], k)
            tokens = np.flatnonzero(np.isin(inverse, pivots_now))
            out[tokens] = near[np.searchsorted(pivots_now, inverse[tokens]), ranks[tokens]]
        low, k = k, min(_GROWTH * k, space.n)
    return out


def draw_ranks(uniform: Floats, rate: float, n: int) -> Ids:
    """Ranks 0 ... n-1 with P(r) ~ e^(-rate·r), by the inverse of their distribution function."""
    # P(rank < r) = (1 - e^(-rate r)) / (1 - e^(-rate n))
    ranks = np.floor(-np.log1p(-uniform * -np.expm1(-rate * n)) / rate)
    return np.asarray(np.minimum(ranks, n - 1), dtype=np.int64)


class RankSoftmax(LaplaceNoise):
    """Multivariate Laplace noise, nearest word, then a softmax over its neighbour ranks."""

    c: float = parameter(0.04, "decay of the weight per rank", unit="1/epsilon", above=0)

    def projection(self, space: MetricSpace) -> Projection:
        """By the rank among the neighbours of the nearest word."""
        return partial(by_rank, rate=self.c * self.epsilon)


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


_UP = 1 + 1e-9


class Mahalanobis(LaplaceNoise):
    """Elliptical Laplace noise, nearest word.

    Its standard deviation per coordinate is a root mean square: S has trace d.
    """

    arithmetic = Arithmetic.REALS

    lam: float = parameter(0.2, "lambda, the share of the covariance in the metric", low=0, high=1)

    def spectrum(self, space: MetricSpace) -> tuple[Floats, Floats]:
        """Eigenvalues and eigenvectors of S, (d,) and (d, d).  Raises UsageError if singular."""
        variances, axes = space.variance()
        values = self.lam * variances + (1 - self.lam)
        if values.min() <= 1e-9 * values.max():
            raise UsageError("the covariance of this vocabulary is singular", "-p lam=0.99")
        return values, axes

    def factor(self, space: MetricSpace) -> float:
        """Largest Mahalanobis distance per unit of Euclidean distance, rounded up."""
        return float(1 / np.sqrt(self.spectrum(space)[0].min())) * _UP

    def diameter(self, space: MetricSpace) -> float:
        """Largest Mahalanobis distance between two inputs, exact or bounded, rounded up."""
        values, vectors = self.spectrum(space)

        def build() -> float:
            moved = space.moved(vectors / np.sqrt(values), space.centroid)
            if not np.isfinite(moved).all():
                return np.inf
            bound, _ = diameter_bound(moved)
            # Rounding to float32 moves each point by at most 2^-24 of its norm, and each of its
            # denormal coordinates by 2^-150.
            rounding = 4 * 2.0**-24 * largest_norm(moved) + space.d * 2.0**-149
            return bound + rounding

        bound = space.number(f"mahalanobis-diameter-{self.lam!r}", build)
        return min(bound, self.factor(space) * space.diameter)

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Both metrics; the Euclidean one is the main one, as distances elsewhere are Euclidean."""
        return self.promise(
            epsilon_ldp=self.epsilon * self.diameter(space),
            metric="euclidean",
            epsilon_metric=self.epsilon * self.factor(space),
            also=(("mahalanobis", self.epsilon),),
            claimed=Claim(self.epsilon, metric="mahalanobis"),
        )

    def noise(self, space: MetricSpace) -> PointSampler:
        values, vectors = self.spectrum(space)
        root = (vectors * np.sqrt(values)) @ vectors.T
        return PointSampler(space, SphericalLaplace(self.epsilon, root))


_ROUNDED_UP: Final = 1 + 1e-6


def projection(d: int, m: int) -> Floats:
    """Return the public matrix Phi, transposed: shape (d, m), entries N(0, 1/m)."""
    streams = streams_for(seeded_key("dpsan pte 1"), [0], [d])
    return np.asarray(streams.normal("projection", m) / np.sqrt(m), dtype=np.float64)


class ProjectedLaplace(LaplaceNoise):
    """Multivariate Laplace noise after a public random projection, nearest projected word."""

    dimensions: int = parameter(
        16, "dimensions after the projection (at most those of the vectors)", low=1
    )

    def _stretch(self, space: MetricSpace) -> tuple[float, float]:
        """F, and a bound on what rounding moves a projected point by beyond that.

        F is the largest factor of a difference of two inputs, ⊥ included, to the projected points
        as they are used: rounding is in it.  Where that takes too long, or equal vectors have
        different images, it is the largest singular value of Phi, and rounding comes on top.
        """
        moved, inputs = self.projected(space), np.arange(space.n + 1)
        if space.eager(space.n):
            exact = space.number(
                f"pte-factor-2-{moved.d}",
                lambda: largest_stretch(space.points(inputs), moved.points(inputs)),
            )
            if 0 < exact < np.inf:  # 0: all words at one point
                return exact, 0.0
        sound = float(np.linalg.norm(projection(space.d, moved.d), 2)) * _ROUNDED_UP
        # Half a unit of float32 in each coordinate, relative or of the denormal numbers.
        return sound, 2.0**-23 * largest_norm(moved.vectors) + moved.d * 2.0**-149

    def factor(self, space: MetricSpace) -> float:
        """F: the largest stretch of a difference of two inputs, ⊥ included; rounded up."""
        return self._stretch(space)[0]

    def projected(self, space: MetricSpace) -> MetricSpace:
        """Noise in m dimensions."""
        m = min(self.dimensions, space.d)
        moved = space.moved(projection(space.d, m))
        refuse(not np.isfinite(moved).all(), "pte: vectors too long to be projected in 32 bits")
        return space.transformed(f"pte-{m}", moved)

    def noise(self, space: MetricSpace) -> PointSampler:
        """Noise of rate epsilon' on the projected points."""
        noise = SphericalLaplace(self.epsilon / self.factor(space))
        return PointSampler(self.projected(space), noise)

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """epsilon·d_X on the original distances, and LDP from the projected diameter."""
        factor, rounding = self._stretch(space)
        inner = self.epsilon / factor
        slack = 2 * inner * rounding
        return self.promise(
            epsilon_ldp=min(
                inner * self.projected(space).diameter, self.epsilon * space.diameter + slack
            ),
            metric="euclidean",
            epsilon_metric=self.epsilon,
            slack=slack,
        )
