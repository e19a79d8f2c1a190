"""``tldp-paper-g-weighted``: keep a coordinate or add Gaussian noise, by weights; as published.

Definition
    As ``tldp-paper-g``, but each coordinate is kept with probability q = p(1-w), w in [0, 1) the
    public weight of its word.
Guarantee
    REFUTED: the claim is epsilon-LDP.  What is true of ``tldp-paper-g`` is true here with q for p,
    q that of the smallest weight: infinite loss with mass 1-(1-q)^I in the released tensor.
    The delta at the claimed epsilon falls as (1-q)^I of either input grows, so the smallest weight
    is the worst case also where the weight depends on the private word.
Proof
    docs/proofs.md 3.2
Source
    [TLDP] Algorithm 2, weighted form, to the letter.  The nearest word is ours.
Parameters
    tensor, range
        As for ``tldp-paper-g``.
    weights
        ``frequency`` (rarer is more sensitive), ``none``, or a file of word TAB weight in [0, 1);
        ⊥ has the largest weight, unlisted words 0.
Cost
    2·d random numbers and one exact search per word.
Not to be confused with
    ``tldp-paper-g``, the same without weights; ``tldp``, whose table is certified.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpsan.mechanisms.sampling.keep_or_noise import GAUSSIAN, Noise, WeightedTensor

__all__ = ["TLDPPaperGWeighted"]


@dataclass(frozen=True)
class TLDPPaperGWeighted(WeightedTensor):
    """Gaussian form, weighted."""

    name: ClassVar[str] = "tldp-paper-g-weighted"
    summary: ClassVar[str] = "keep or add Gaussian noise, by weights: as published, claim refuted"
    source: ClassVar[str] = "TLDP Algorithm 2, weighted"
    noise: ClassVar[Noise] = GAUSSIAN
