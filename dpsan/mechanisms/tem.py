"""``tem``: truncated exponential mechanism.

Definition
    P(u|w) proportional to exp(-epsilon·min(d(w, u), gamma)/2) over all n words, with
    gamma = (2/epsilon)·ln((1-beta)(n-1)/beta); ⊥ gives a uniform word.  This *is* the published
    form: the words within gamma of w, and one element of score
    -gamma + (2/epsilon)·ln(number of words beyond gamma) that stands for "uniform beyond gamma".
    Sampled from integer weights, scores capped at 30 nats.
Guarantee
    PROVED: epsilon·d_X for the Euclidean distance, *and* LDP epsilon·gamma =
    2·ln((1-beta)(n-1)/beta), whatever epsilon is.  min(d, gamma) is a metric, so by the triangle
    inequality each weight, and so their sum, changes by at most exp(epsilon·min(d, gamma)/2)
    between two inputs; that is at most exp(epsilon·d/2) and at most exp(epsilon·gamma/2).
Proof
    docs/proofs.md 2.2
Source
    [TEM] Algorithm 1, Theorem 1; gamma such that the words beyond it have mass at most beta.
Parameters
    beta: mass given up beyond gamma where every other word is that far, in (0, 0.5].
Cost
    A row of n weights per distinct word of a batch.
Not to be confused with
    leaving the words beyond gamma out, whose supports differ: infinite loss.
"""

from __future__ import annotations

import math

from dpsan.mechanisms.mechanism import parameter
from dpsan.mechanisms.tables.dense import DistanceWeights


class TEM(DistanceWeights):
    """Truncated exponential mechanism."""

    beta: float = parameter(
        0.001, "mass of the words beyond gamma where all others are that far", above=0, high=0.5
    )

    def cut(self, n: int) -> float:
        """Largest score epsilon·gamma/2, nats."""
        # log1p and not log(1 - beta): beta may be tiny.
        return max(math.log1p(-self.beta) + math.log(max(n - 1, 1)) - math.log(self.beta), 0.0)
