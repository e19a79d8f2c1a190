"""``tldp-paper-l-weighted``: keep a coordinate or add Laplace noise, by weights; as published.

Definition
    As ``tldp-paper-l``, but each coordinate is kept with probability q = p(1-w), w in [0, 1) the
    public weight of its word.
Guarantee
    REFUTED: the claim is epsilon-LDP.  What is true of ``tldp-paper-l`` is true here with q for p,
    q that of the smallest weight: infinite loss with mass 1-(1-q)^I in the released tensor.
    That q depends on the private word costs nothing more: e^(I epsilon)·(1-q')^I g >=
    (1-q_max)^I f for all weights, so the mass beyond the bound stays below 1-(1-q_max)^I.
Proof
    docs/proofs.md 3.2
Source
    [TLDP] Algorithm 1, weighted form, to the letter.  The nearest word is ours.
Parameters
    tensor, range
        As for ``tldp-paper-l``.
    weights
        ``frequency`` (rarer is more sensitive), ``none``, or a file of word TAB weight in [0, 1);
        ⊥ has the largest weight, unlisted words 0.
Cost
    2·d random numbers and one exact search per word.
Not to be confused with
    ``tldp-paper-l``, the same without weights; ``tldp``, whose table is certified.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpsan.mechanisms.sampling.keep_or_noise import LAPLACE, Noise, WeightedTensor

__all__ = ["TLDPPaperLWeighted"]


@dataclass(frozen=True)
class TLDPPaperLWeighted(WeightedTensor):
    """Laplace form, weighted."""

    name: ClassVar[str] = "tldp-paper-l-weighted"
    summary: ClassVar[str] = "keep or add Laplace noise, by weights: as published, claim refuted"
    source: ClassVar[str] = "TLDP Algorithm 1, weighted"
    noise: ClassVar[Noise] = LAPLACE
