"""``clipped-laplace``: independent Laplace noise on clipped vectors, then the nearest word.

Definition
    Vectors longer than C are shortened to C.  Every coordinate gets independent noise with density
    exp(-|x|/b)/(2b), b = Delta_1/epsilon, Delta_1 the L1 diameter of the clipped vectors; the
    output is the word whose clipped vector is nearest.
Guarantee
    PROVED: pure epsilon-LDP.  The density ratio of two shifted noises is at most
    exp(|x - x'|_1/b), and |x - x'|_1 <= Delta_1 for every two inputs, the centroid ⊥ included
    because a norm is convex.  The nearest word reads only the noisy point.
Proof
    docs/proofs.md 1.5
Source
    [TrLap] Theorem 1, with the exact Delta_1 of the vocabulary (or the smallest sound bound) in
    position of 2·sqrt(d)·C.
Parameters
    clip: C, a length; auto is the largest norm, so that no vector changes.
Cost
    The L1 diameter once per vocabulary, then one exact search per word.
Not to be confused with
    ``laplace``, whose epsilon is per unit of distance.  ``clipped-laplace-paper`` has the published
    sensitivity and the nearest unclipped word.

``clipped-laplace-paper``: the Laplace baseline of [TrLap] as published.

Definition
    Vectors longer than C are shortened to C.  Every coordinate gets independent noise with density
    exp(-|x|/b)/(2b), b = 2·sqrt(d)·C/epsilon; the output is the word nearest to the result among
    the unclipped vectors.
Guarantee
    PROVED: pure epsilon-LDP.  Two vectors no longer than C differ by at most 2·C in L2 and so by
    2·sqrt(d)·C in L1: docs/proofs.md 1.5 with a larger sensitivity.  The nearest word, clipped or
    not, reads only the noisy point.
Proof
    docs/proofs.md 1.5
Source
    [TrLap] Theorem 1, to the letter.
Parameters
    clip: C, a length; auto is the largest norm, so that no vector changes.
Cost
    One exact search per word.
Not to be confused with
    ``clipped-laplace``, which has the vocabulary's own L1 diameter: a third less noise for the same
    guarantee.
"""

from __future__ import annotations

import math

from dpsan.mechanisms.mechanism import Arithmetic, MetricSpace
from dpsan.mechanisms.noise import ClippedNoise, clip_parameter
from dpsan.privacy.rounding import LaplaceCoordinates
from dpsan.space.diameters import l1_diameter


class ClippedLaplace(ClippedNoise):
    """Independent Laplace noise on clipped vectors, nearest word."""

    arithmetic = Arithmetic.ROUNDED

    clip: float | str = clip_parameter()

    def distribution(self, moved: MetricSpace, radius: float) -> LaplaceCoordinates:
        """B = Delta_1/epsilon."""
        return LaplaceCoordinates(l1_diameter(moved, radius) / self.epsilon)


_UP = 1 + 1e-12
"""Rounding of the square root and the product, safe side."""


class ClippedLaplacePaper(ClippedNoise):
    """Independent Laplace noise for the ball of radius C, nearest unclipped word."""

    unclipped = True

    clip: float | str = clip_parameter()

    def distribution(self, moved: MetricSpace, radius: float) -> LaplaceCoordinates:
        """B = 2·sqrt(d)·C/epsilon, rounded up."""
        return LaplaceCoordinates(2 * math.sqrt(moved.d) * radius * _UP / self.epsilon)
