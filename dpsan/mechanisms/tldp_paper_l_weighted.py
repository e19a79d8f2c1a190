"""``tldp-paper-l-weighted``: keep a coordinate or add Laplace noise, by weights; as published.

Definition
    On a tensor of I coordinates with range Delta each coordinate is kept with probability
    p(1-w), w in [0, 1) the public weight of its word, where
    p = e^(epsilon(1-I)) / (2b + e^(epsilon(1-I))), b = Delta/epsilon, or gets Laplace noise of
    scale b.
    Then the nearest word.  One word has I = d; a line (``tensor=line``) I = words·d.
Guarantee
    REFUTED: the claim is epsilon-LDP.  A kept coordinate has an atom at the input, which excludes
    every other input: infinite loss with mass 1-(1-q)^I in the released tensor, q = p(1-w)
    for the smallest weight.
    Where nothing is kept, I Laplace densities each differ by up to e^epsilon (t = 0 in the
    paper's own line): the truth is (I·epsilon, 1-(1-q)^I)-LDP, and the claimed epsilon holds
    only with the delta that is printed.
    That q depends on the private word costs nothing more: e^(I epsilon)·(1-q')^I g >=
    (1-q_max)^I f for all weights, so the mass beyond the bound stays below 1-(1-q_max)^I.
Source
    [TLDP] Algorithm 1, weighted form, to the letter.  The nearest word is ours.
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
