"""``custext``: exponential mechanism within small groups of similar words.

Definition
    Groups of K = ``k`` words: the first word (in order of frequency) without a group and the K
    nearest words without a group, itself included, become one.  P(u|w) proportional to
    exp(epsilon·s(w, u)/2) for u in the group of w, 0 elsewhere, where
    s = -(d(w, u) - least)/(largest - least) in [-1, 0] over the group.
    ⊥ gives a uniform word.
Guarantee
    NONE between any two words: the groups are disjoint, so every output of one word is impossible
    for a word of another group (infinite loss with mass 1), and it names the group at any epsilon.
    Within a group the distribution is epsilon-LDP: scores differ by at most 1, so each weight and
    each sum changes by at most exp(epsilon/2).  What the paper claims between groups was not read
    here, so nothing is refuted.
Proof
    docs/proofs.md 3.4
Source
    [CusText] Algorithms 1 and 2 with Euclidean distances; words are taken in order of frequency
    where the paper takes them at random.
Parameters
    k: size of a group; the last may be smaller.
Cost
    n/K searches among n words once per vocabulary (cached), then O(1) per word.
Not to be confused with
    ``knn-response``, where words outside the near ones keep a small probability.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpsan.mechanisms.base import Mechanism
from dpsan.mechanisms.parameters import parameter
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.mechanisms.tables.groups import groups
from dpsan.privacy.certificate import Certificate, support_certificate
from dpsan.privacy.guarantee import Claim, Guarantee, Status
from dpsan.privacy.randomness import Streams
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import MetricSpace


class GroupSampler(Sampler):
    """The published distribution within each group, from float64 probabilities."""

    def __init__(self, space: MetricSpace, epsilon: float, members: NDArray[np.int32]) -> None:
        self.space, self.epsilon, self.members = space, epsilon, members
        indices = np.flatnonzero(members.ravel() >= 0)
        self.group = np.empty(space.n, dtype=np.int64)
        self.group[members.ravel()[indices]] = indices // members.shape[1]

    def pmf(self, words: Ids) -> Floats:
        """Probabilities of the members of each word's group, (m, k); 0 where a group is short."""
        members = self.members[self.group[words]]
        points = self.space.points(words)
        apart = self.space.vectors[members] - points[:, None, :]
        distances = np.sqrt(np.einsum("mkd,mkd->mk", apart, apart))
        real = members >= 0
        least = np.where(real, distances, np.inf).min(axis=1, keepdims=True)
        spread = np.where(real, distances, -np.inf).max(axis=1, keepdims=True) - least
        scores = (distances - least) / np.where(spread > 0, spread, 1)
        pmf = np.where(real, np.exp(-0.5 * self.epsilon * np.where(real, scores, 0)), 0.0)
        return np.asarray(pmf / pmf.sum(axis=1, keepdims=True))

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        out = streams.integers("unknown", self.space.n).astype(np.int64)
        known = np.flatnonzero(ids < self.space.n)
        drawn = streams.uniform("member")[known, 0]
        for at in range(0, len(known), 1024):
            rows = known[at : at + 1024]
            cumulative = np.cumsum(self.pmf(ids[rows]), axis=1)
            members = self.members[self.group[ids[rows]]]
            last = (members >= 0).sum(axis=1) - 1
            index = (cumulative <= drawn[at : at + 1024, None]).sum(axis=1)
            out[rows] = members[np.arange(len(rows)), np.minimum(index, last)]
        return out

    def probabilities(self, ids: Ids) -> Floats:
        out = np.full((len(ids), self.space.n), 1 / self.space.n)
        for row in np.flatnonzero(ids < self.space.n).tolist():
            members = self.members[self.group[ids[row]]]
            out[row] = 0.0
            out[row, members[members >= 0]] = self.pmf(ids[row : row + 1])[0, members >= 0]
        return out


@dataclass(frozen=True)
class CusText(Mechanism):
    """CusText as published."""

    name: ClassVar[str] = "custext"
    family: ClassVar[str] = "table"
    status: ClassVar[Status] = Status.NONE
    summary: ClassVar[str] = "CusText: exponential mechanism within groups of K words, as published"
    epsilon_unit: ClassVar[str] = "nats"
    source: ClassVar[str] = "CusText Algorithms 1, 2"

    k: int = parameter(20, "size of a group of words", unit="words", low=2)

    def guarantee(self, space: MetricSpace) -> Guarantee:
        """Infinite loss between groups, with mass 1."""
        apart = self.k < space.n
        return self.promise(
            # One group: epsilon between words, and the uniform distribution of ⊥ lies within.
            epsilon_ldp=math.inf if apart else self.epsilon,
            delta=1.0 if apart else 0.0,
            infinite_loss_mass=1.0 if apart else 0.0,
            claimed=Claim(self.epsilon),
            why="groups are disjoint: an output shows the group of the word for certain; epsilon "
            "holds within a group only",
        )

    def certificate(self, space: MetricSpace) -> Certificate | None:
        """In closed form: two words of different groups share no output."""
        if self.k >= space.n:
            return None
        first = groups(space, self.k)[:2, 0].tolist()
        return support_certificate(1.0, (first[0], first[1]), 1.0)

    def prepare(self, space: MetricSpace) -> GroupSampler:
        """Return the published sampler."""
        return GroupSampler(space, self.epsilon, groups(space, min(self.k, space.n)))
