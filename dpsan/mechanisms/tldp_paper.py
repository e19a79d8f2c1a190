"""``tldp-paper``: keep a coordinate or add noise to it, by weights or without; as published.

Definition
    On a tensor of I coordinates with range Delta each coordinate is kept with probability
    p = e^(epsilon(1-I)) / (c + e^(epsilon(1-I))), or gets noise.  ``tldp-paper-l``: Laplace noise
    of scale b = Delta/epsilon, c = 2b.  ``tldp-paper-g``: Gaussian noise of variance
    sigma² = Delta²/(2 epsilon), c = sigma·sqrt(2 pi).  The weighted forms keep a coordinate with
    probability q = p(1-w), w in [0, 1) the public weight of its word; else q = p.
    Then the nearest word.  One word has I = d; a line (``tensor=line``) I = words·d.
Guarantee
    REFUTED: the claim is epsilon-LDP.  A kept coordinate has an atom at the input, which excludes
    every other input: infinite loss with mass 1-(1-q)^I in the released tensor.  The delta at the
    claimed epsilon falls as (1-q)^I of either input grows, so the smallest weight is the worst
    case, also where the weight depends on the private word.
    Laplace: where nothing is kept, I densities each differ by up to e^epsilon (t = 0 in the paper's
    own line): the truth is (I·epsilon, 1-(1-q)^I)-LDP, and the claimed epsilon holds only with the
    delta that is printed.
    Gaussian: the loss is unbounded, so no pure epsilon holds even where nothing is kept; exactly,
    delta(epsilon) = 1-(1-q)^I·(1 - D(epsilon, sqrt(2 I epsilon))), D the analytic Gaussian delta of
    [BW18], is attained by inputs Delta apart everywhere, and printed.
    p divides a probability by a density: it changes with the unit of the data.
Proof
    docs/proofs.md 3.2
Source
    [TLDP] Algorithm 1 (Laplace and Gaussian) and Algorithm 2 (both, weighted; its claim is
    Theorem 3), to the letter.  The nearest word is ours.
Parameters
    tensor
        ``word`` or ``line``.  The statement is for one word and covers every line; that of a line
        of ``words`` words is printed with it.
    range
        Delta; ``auto`` is the largest max - min of a coordinate over the vocabulary, and no less
        is accepted.
    weights
        Of the weighted forms: ``frequency`` (rarer is more sensitive), ``none``, or a file of word
        TAB weight in [0, 1); ⊥ has the largest weight, unlisted words 0.
Cost
    2·d random numbers and one exact search per word.
Not to be confused with
    ``tldp``, which mixes the same two parts on a grid and certifies the table.
"""

from __future__ import annotations

from dpsan.mechanisms.keep_or_noise import (
    GAUSSIAN,
    LAPLACE,
    PaperTensor,
    WeightedTensor,
)


class TLDPPaperL(PaperTensor):
    """Laplace form."""

    name = "tldp-paper-l"
    summary = "keep or add Laplace noise: as published, claim refuted"
    source = "TLDP Algorithm 1"
    noise = LAPLACE


class TLDPPaperG(PaperTensor):
    """Gaussian form."""

    name = "tldp-paper-g"
    summary = "keep or add Gaussian noise: as published, claim refuted"
    source = "TLDP Algorithm 1"
    noise = GAUSSIAN


class TLDPPaperLWeighted(WeightedTensor):
    """Laplace form, weighted."""

    name = "tldp-paper-l-weighted"
    summary = "keep or add Laplace noise, by weights: as published, claim refuted"
    source = "TLDP Algorithm 2, Theorem 3"
    noise = LAPLACE


class TLDPPaperGWeighted(WeightedTensor):
    """Gaussian form, weighted."""

    name = "tldp-paper-g-weighted"
    summary = "keep or add Gaussian noise, by weights: as published, claim refuted"
    source = "TLDP Algorithm 2, Theorem 3"
    noise = GAUSSIAN
