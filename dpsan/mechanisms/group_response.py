"""``group-response``: a random word of the same public group, for ``--only``.

Definition
    Each token that is drawn has a public group and form.  The different words of a unit get
    different words of their group, by a uniformly random injection that reads no word.
Guarantee
    PROVED: the distribution of the output is a function of the groups, of which drawn words are
    equal, and of what passes.  None of these is protected.
Proof
    docs/proofs.md 4.8
Source
    This project.
"""

from __future__ import annotations

from dpsan.mechanisms.mechanism import Guarantee, IntegerResponse
from dpsan.space.metric_space import MetricSpace


class GroupResponse(IntegerResponse):
    """A random word of the group of a word; :mod:`dpsan.only` draws it."""

    name = "group-response"
    summary = "a random word of the public group of a word"
    source = "dpsan §group-response"

    epsilon: float = 0.0
    """LDP epsilon between two numbers of one form that are drawn by value, in nats; else 0."""

    def __post_init__(self) -> None:
        if self.epsilon:
            super().__post_init__()

    def guarantee(self, space: MetricSpace) -> Guarantee:
        return self.promise(
            epsilon_ldp=self.epsilon,
            only_groups=True,
            why="the output depends on the group of a drawn word, and on no word",
        )
