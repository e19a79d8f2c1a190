"""``tldp-paper-g-weighted``: keep a coordinate or add Gaussian noise, by weights; as published.

Definition
    On a tensor of I coordinates with range Delta each coordinate is kept with probability
    p(1-w), w in [0, 1) the public weight of its word, where
    p = e^(epsilon(1-I)) / (sigma·sqrt(2 pi) + e^(epsilon(1-I))), or gets Gaussian noise of
    variance sigma² = Delta²/(2 epsilon).
    Then the nearest word.  One word has I = d; a line (``tensor=line``) I = words·d.
Guarantee
    REFUTED: the claim is epsilon-LDP.  A kept coordinate has an atom at the input, which excludes
    every other input: infinite loss with mass 1-(1-q)^I in the released tensor, q = p(1-w)
    for the smallest weight.
    Gaussian loss is unbounded, so no pure epsilon holds even where nothing is kept; exactly,
    delta(epsilon) = 1-(1-q)^I·(1 - D(epsilon, sqrt(2 I epsilon))), D the analytic Gaussian
    delta of [BW18], is attained by inputs Delta apart everywhere, and printed.
    It falls as (1-q)^I of either input grows, so the smallest weight is the worst case also
    where the weight depends on the private word.
Source
    [TLDP] Algorithm 2, weighted form, to the letter.  The nearest word is ours.
Parameters
    tensor
        ``word`` or ``line``.  The statement is for one word and covers every line; that of a line
        of ``words`` words is printed with it.
    range
        Delta; ``auto`` is the largest max - min of a coordinate over the vocabulary, and no less
        is accepted.
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
