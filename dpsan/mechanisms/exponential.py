"""``exponential``: the exponential mechanism over the whole vocabulary (SanText).

Definition
    P(u|w) proportional to exp(-epsilon·d(w, u)/2) over all n words; ⊥ gives a uniform word.
    Sampled from integer weights, scores capped at 30 nats.
Guarantee
    PROVED: epsilon·d_X for the Euclidean distance d; LDP epsilon·diameter.  By the triangle
    inequality each weight changes by at most exp(epsilon·d/2) between two inputs, and so does
    their sum.  min(d, cap) is a metric, so the cap keeps both; ⊥ counts as a point at
    half a diameter from every word.  Rounding of distances and weights adds at most ``slack``
    nats.  Where one word lies so far out that it would add more than 0.01, LDP alone is promised.
Proof
    docs/proofs.md 2.1
Source
    [SanText] §3.1, over the whole vocabulary; without the ½ the loss is up to 2·epsilon.
Cost
    A row of n weights per distinct word of a batch; exact certificate in O(n²·d).
Not to be confused with
    exponential selection among the nearest few words only, whose supports differ (infinite loss).
"""

from __future__ import annotations

from dpsan.mechanisms.tables.dense import DistanceWeights


class Exponential(DistanceWeights):
    """Exponential mechanism with the Euclidean distance."""
