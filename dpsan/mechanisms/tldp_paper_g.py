"""``tldp-paper-g``: keep a coordinate or add Gaussian noise; as published.

Definition
    On a tensor of I coordinates with range Delta each coordinate is kept with probability
    p = e^(epsilon(1-I)) / (sigma·sqrt(2 pi) + e^(epsilon(1-I))), or gets Gaussian noise of
    variance sigma² = Delta²/(2 epsilon).
    Then the nearest word.  One word has I = d; a line (``tensor=line``) I = words·d.
Guarantee
    REFUTED: the claim is epsilon-LDP.  A kept coordinate has an atom at the input, which excludes
    every other input: infinite loss with mass 1-(1-p)^I in the released tensor.
    Gaussian loss is unbounded, so no pure epsilon holds even where nothing is kept; exactly,
    delta(epsilon) = 1-(1-p)^I·(1 - D(epsilon, sqrt(2 I epsilon))), D the analytic Gaussian
    delta of [BW18], is attained by inputs Delta apart everywhere, and printed.
    p divides a probability by a density: it changes with the unit of the data.
Proof
    docs/proofs.md 3.2
Source
    [TLDP] Algorithm 2, to the letter.  The nearest word is ours.
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

from dpsan.mechanisms.sampling.keep_or_noise import GAUSSIAN, Noise, PaperTensor

__all__ = ["TLDPPaperG"]


@dataclass(frozen=True)
class TLDPPaperG(PaperTensor):
    """Gaussian form."""

    name: ClassVar[str] = "tldp-paper-g"
    summary: ClassVar[str] = "keep or add Gaussian noise: as published, claim refuted"
    source: ClassVar[str] = "TLDP Algorithm 2"
    noise: ClassVar[Noise] = GAUSSIAN
