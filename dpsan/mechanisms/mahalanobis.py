"""``mahalanobis``: Laplace noise stretched along the directions in which the words vary.

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
"""

from __future__ import annotations

import numpy as np

from dpsan.errors import UsageError
from dpsan.mechanisms.mechanism import Arithmetic, Claim, Guarantee, PointSampler, parameter
from dpsan.mechanisms.noise import LaplaceNoise
from dpsan.privacy.rounding import SphericalLaplace
from dpsan.space.arrays import Floats, largest_norm
from dpsan.space.metric_space import MetricSpace, diameter_bound

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
            why="density decays in a norm, so the triangle inequality gives epsilon per unit of "
            "regularised Mahalanobis distance, which is at most Euclidean / sqrt(least eigenvalue)",
        )

    def noise(self, space: MetricSpace) -> PointSampler:
        values, vectors = self.spectrum(space)
        root = (vectors * np.sqrt(values)) @ vectors.T
        return PointSampler(space, SphericalLaplace(self.epsilon, root))
