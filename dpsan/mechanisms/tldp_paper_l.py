"""``tldp-paper-l``: keep a coordinate or add Laplace noise; as published.

Definition
    On a tensor of I coordinates with range Delta each coordinate is kept with probability
    p = e^(epsilon(1-I)) / (2b + e^(epsilon(1-I))), b = Delta/epsilon, or gets Laplace noise of
    scale b.
    Then the nearest word.  One word has I = d; a line (``tensor=line``) I = words·d.
Guarantee
    REFUTED: the claim is epsilon-LDP.  A kept coordinate has an atom at the input, which excludes
    every other input: infinite loss with mass 1-(1-p)^I in the released tensor.
    Where nothing is kept, I Laplace densities each differ by up to e^epsilon (t = 0 in the
    paper's own line): the truth is (I·epsilon, 1-(1-p)^I)-LDP, and the claimed epsilon holds
    only with the delta that is printed.
    p divides a probability by a density: it changes with the unit of the data.
Proof
    docs/proofs.md 3.2
Source
    [TLDP] Algorithm 1, to the letter.  The nearest word is ours.
Parameters
    tensor
        ``word`` or ``line``.  The statement is for one word and covers every line; that of a line
        of ``words`` words is printed with it.
    range
        Delta; ``auto`` is the largest max - min of a coordinate over the vocabulary, and no less
        is accepted.
Cost
    2·d random numbers and one exact search per word.
Not to be confused with
    ``tldp``, which mixes the same two parts on a grid and certifies the table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dpsan.mechanisms.sampling.keep_or_noise import LAPLACE, Noise, PaperTensor

__all__ = ["TLDPPaperL"]


@dataclass(frozen=True)
class TLDPPaperL(PaperTensor):
    """Laplace form."""

    name: ClassVar[str] = "tldp-paper-l"
    summary: ClassVar[str] = "keep or add Laplace noise: as published, claim refuted"
    source: ClassVar[str] = "TLDP Algorithm 1"
    noise: ClassVar[Noise] = LAPLACE
