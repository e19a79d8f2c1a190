"""``group-response``: a uniform word of the same public group, for ``--only``.

Definition
    Each word has one public group, or none.  A word of a group gives each output of the group with
    the same probability, whatever word it is.  ⊥ belongs to one group.  A word of no group is
    written unchanged.
Guarantee
    PROVED: two words of one group have the same distribution, epsilon 0.  The group of a word is
    not protected, nor is any word of no group.
Proof
    docs/proofs.md 4.8
Source
    This project.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from dpsan.mechanisms.base import IntegerResponse
from dpsan.mechanisms.optimal.groups import Group
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.privacy.certificate import Certificate
from dpsan.privacy.guarantee import Guarantee
from dpsan.privacy.integer_weights import GroupWeights
from dpsan.privacy.randomness import Streams
from dpsan.space.arrays import Floats, Ids
from dpsan.space.metric_space import MetricSpace


@dataclass(frozen=True)
class GroupResponse(IntegerResponse):
    """A uniform word of the group of a word."""

    name: ClassVar[str] = "group-response"
    summary: ClassVar[str] = "a uniform word of the public group of a word"
    source: ClassVar[str] = "dpsan §group-response"
    reads_vectors: ClassVar[bool] = False

    epsilon: float = 0.0
    """LDP epsilon between two numbers of one form that are drawn by value, in nats; else 0."""
    groups: tuple[Group, ...] = field(default=(), repr=False)
    unknown: int = 0
    """Index of the group to which ⊥ belongs."""

    def __post_init__(self) -> None:
        if self.epsilon:
            super().__post_init__()

    def guarantee(self, space: MetricSpace) -> Guarantee:
        return self.promise(
            epsilon_ldp=self.epsilon,
            only_groups=True,
            why="all words of a group have the same distribution",
        )

    def certificate(self, space: MetricSpace) -> Certificate | None:
        """Return 0, for two words of any group; words of no group are not certified."""
        first = self.groups[0].rows[0]
        return Certificate(
            method="exact certificate, one row for each group",
            epsilon_ldp=0.0,
            pair=(first, first),
        )

    def prepare(self, space: MetricSpace) -> GroupSampler:
        return GroupSampler(space, self.groups, self.unknown)


class GroupSampler(Sampler):
    """Draws a uniform output of the group of each input; a word of no group is its own output."""

    batch_words = 1 << 16

    def __init__(self, space: MetricSpace, groups: tuple[Group, ...], unknown: int) -> None:
        self.space, self.groups, self.unknown = space, groups, unknown
        # A word of no group has a row of its own behind those of the groups.
        self._outputs = np.concatenate([*(group.outputs for group in groups), np.arange(space.n)])
        sizes = np.array([len(group.outputs) for group in groups], dtype=np.int64)
        self._sizes = np.ones(space.n + 1, dtype=np.int64)
        self._starts = int(sizes.sum()) + np.arange(space.n + 1, dtype=np.int64)
        starts = np.cumsum(sizes) - sizes
        inputs = [*(np.array(group.rows) for group in groups), np.array([space.n])]
        for rows, at in zip(inputs, [*range(len(groups)), unknown], strict=True):
            self._starts[rows], self._sizes[rows] = starts[at], sizes[at]

    def sample(self, ids: Ids, streams: Streams) -> Ids:
        drawn = streams.integers("response", self._sizes[ids].astype(np.uint64)).astype(np.int64)
        return np.asarray(self._outputs[self._starts[ids] + drawn])

    def probabilities(self, ids: Ids) -> Floats:
        out = np.zeros((len(ids), self.space.n))
        for row, (start, size) in enumerate(zip(self._starts[ids], self._sizes[ids], strict=True)):
            out[row, self._outputs[start : start + size]] = 1 / size
        return out

    def unchanged(self, ids: Ids) -> Floats:
        outputs = np.unique(self._outputs[: -self.space.n])
        alone = self._starts[ids] >= len(self._outputs) - self.space.n
        return np.where(alone | np.isin(ids, outputs), 1 / self._sizes[ids], 0.0)

    def integer_weights(self) -> GroupWeights:
        return GroupWeights(
            tuple((np.array(group.rows), np.array(group.outputs)) for group in self.groups),
            self.unknown,
        )
