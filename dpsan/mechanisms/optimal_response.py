"""``optimal-response``: a public base distribution with a near set of equal mass for each word.

Definition
    P(u|w) = pi(u)·(1 + (e^epsilon - 1)·lambda_w(u))/Z with a public distribution pi over outputs,
    0 <= lambda <= 1 and sum_u pi(u)·lambda_w(u) = c for every word w, Z = 1 + (e^epsilon - 1)·c.
    lambda_w fills up with the outputs most similar to w until their mass is c; the last one counts
    in part, which keeps Z equal for all words.  Words with a public class, such as names of
    groups of people, take outputs by class first (``words.tiers``).  ⊥ draws from pi.  pi and c
    are those of (nearly) largest mean similarity sum_w p(w) sum_u P(u|w) s(w,u) under public word
    frequencies p, made softer by ``spread`` and ``even``.
Guarantee
    PROVED: pure epsilon-LDP.  Z is the same for every word, so P(u|w) is between pi(u)/Z and
    e^epsilon·pi(u)/Z, and so is pi(u).  Conversely every epsilon-LDP mechanism has this
    form, so the best pi gives the largest mean similarity that any of them can have.
    Sampled from integers, e^epsilon rounded down.  Any public pi and c give the guarantee.
Public words
    With public words N (``--public``) the base is restricted to the other words, and a word of N
    is its own output with probability 1 - 1/Z, else as a draw from pi.  For every protected x
    (any string but those words), every x' and output y: P(y|x) <= e^epsilon·P(y|x') (high-low LDP
    [Acharya20], utility-optimised LDP [Murakami19]).  Public words themselves are not protected:
    an output in N says what the input was.  The proof is docs/proofs.md 2.10.
Groups of words
    With groups (``--class``) all words of a group are one input.  Its near set, of the same mass,
    is filled with outputs of the group, then of its class: docs/proofs.md 4.7.  Epsilon stays, and
    between two words of a group it is 0.
Proof
    docs/proofs.md 2.9
Source
    This project.  The mixture of a base and a near part is the extremal form of
    Kairouz et al. for pure local privacy; knn-response is pi uniform on M words, c = K/M.
Parameters
    mass
        c in (0, 1), or ``auto``: chosen with pi.
    prior
        p is proportional to count^prior for the vocabulary's counts.  Below 1 rarer words matter
        more.
    similarity
        s is this power of the cosine: more than 2 asks for nearer words.  Above 1, s is 0 where the
        cosine is negative.
    spread
        Outputs of rank above 100 weigh so many times less than in the base of largest mean
        similarity, and near sets have the same mass: more outputs for each word, so that fewer
        words are read back.
    even
        Share of these outputs' mass that goes to the most frequent words (3,000 at most, and twice
        as many as the solver left) by the square root of their counts: more different words come
        out, so what is learnt from sanitized text knows more words of clean text.  Where more than
        1,000 words share it, words whose public class is a group of people do too.
    frequency
        s is a power of cos(w, u) + frequency·ln(count(u)/count of the 1,000th word), and near sets
        are ordered by it: of two words that are equally near the more usual one comes first.
        The text reads better, and more outputs are neighbours that are not the word itself.
    The defaults were chosen on training texts of news and film reviews; similarity=1, prior=1,
    spread=1, even=0 and frequency=0 give the largest mean cosine.
Cost
    pi is solved for once per vocabulary and epsilon of a grid of halves from 1 to 12 (seconds to
    half a minute, cached; the bundled vocabulary brings it) and serves every epsilon near it.
    Near sets once, cached; then O(1) per word.
Not to be confused with
    the exponential mechanism, whose normalisation differs between words and costs it half of
    epsilon.
"""

import math
import re
from dataclasses import field, replace

import numpy as np

from dpsan.embeddings.words import wanted_outputs
from dpsan.errors import UsageError, refuse
from dpsan.mechanisms.mechanism import BaseResponse, parameter
from dpsan.mechanisms.tables import near_sets, public_base
from dpsan.space.arrays import cosine_unit
from dpsan.space.metric_space import MetricSpace


class OptimalResponse(BaseResponse):
    """A public base distribution with near sets of equal mass."""

    mass: float | str = parameter(
        "auto", "base mass of each word's set of near words", convert=float, above=0, high=1
    )
    prior: str = parameter("0.83", "exponent of the word counts")
    similarity: int = parameter(2, "power of the cosine, whose mean is made large", low=1, high=8)
    spread: float = parameter(
        1.2, "how many times less outputs of rank above 100 weigh", low=1, high=100
    )
    even: float = parameter(0.3, "share of their mass that goes to frequent words", low=0, high=1)
    frequency: float = parameter(
        0.0125, "cosine by which each factor e of its count favours an output", low=0, high=0.05
    )
    public: tuple[int, ...] = field(default=(), repr=False)
    """Row numbers of public words."""
    groups: tuple[near_sets.Group, ...] = field(default=(), repr=False)
    """Words that are one input, for classes of words."""

    def __post_init__(self) -> None:
        super().__post_init__()
        # A string, as in the keys of memos that were made before it was a number alone.
        if not re.fullmatch(r"[0-3](\.\d*)?|4(\.0*)?|\.\d+", self.prior):
            raise UsageError(f"prior must be a number from 0 to 4 (got {self.prior})")

    def base(self, space: MetricSpace) -> near_sets.Base:
        """Outputs, their integer weights, and the mass of near sets.

        Raises:
            UsageError: no output is left beside the public words.
        """
        alone = replace(self, groups=())
        return space.once(("base", alone), lambda: alone._base(space))

    def _base(self, space: MetricSpace) -> near_sets.Base:
        solved, classes = public_base.solved_base(space, self.task(space)), space.classes
        named = None
        if classes is not None:
            named = wanted_outputs(classes, public_base.MOST_FREQUENT)
        given = space.counts, space.n, self.spread, self.even, named
        words, weights, mass = public_base.softened(solved, *given)
        # That of the grid point: pi was found for it, and another loses more than it gains.
        share = mass / int(weights.sum())
        protected = ~np.isin(words, self.public)
        words, weights = words[protected], weights[protected]
        refuse(not len(words), "no output is left beside the public words")
        total = int(weights.sum())
        wanted = share if isinstance(self.mass, str) else self.mass
        added, _ = public_base.favours(
            space.counts, space.n, int(words[-1]) + 1, self.frequency, cosine_unit(space.d)
        )
        mass = min(max(1, math.floor(wanted * total + 0.5)), total)
        return near_sets.Base(words, weights, mass, None if added is None else added[words])

    def task(self, space: MetricSpace) -> public_base.BaseTask:
        """Return the task of solving for its base."""
        point, prior = public_base.nearest_epsilon(self.epsilon), float(self.prior)
        return public_base.BaseTask(point, prior, self.similarity, self.frequency)

    def resolved(self, space: MetricSpace) -> "OptimalResponse":
        """With the mass that ``auto`` stands for."""
        base = self.base(space)
        return replace(self, mass=base.mass / base.total)
