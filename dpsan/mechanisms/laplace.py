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
"""

from __future__ import annotations

from dpsan.mechanisms.noise import LaplaceNoise


class Laplace(LaplaceNoise):
    """Multivariate Laplace noise, nearest word."""
