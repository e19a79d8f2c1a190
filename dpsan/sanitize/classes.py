"""Classes of words of a request: its groups on a vocabulary, and the rules of look-up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.class_lists import (
    CONTACTS,
    NUMBERS,
    ClassRows,
    class_rows,
)
from dpsan.mechanisms.optimal.groups import Group
from dpsan.mechanisms.samplers.base import Sampler
from dpsan.outcomes.distributions import expected_share_of
from dpsan.privacy.guarantee import Guarantee, WordGroup
from dpsan.sanitize.numbers_by_value import NumberPolicy, StringPolicy
from dpsan.sanitize.request import RunSpec
from dpsan.space.metric_space import MetricSpace
from dpsan.text.batch import Ids
from dpsan.text.lookup import ClassRules
from dpsan.text.tokens import folded


@dataclass(frozen=True, eq=False)
class Grouping:
    """Groups of words on a vocabulary of n words, and the kind of each input code.

    Codes are 0 ... n - 1 for words, n for ⊥, n + 1 for numbers, n + 2 for made-up contacts, n + 3
    for other made-up strings, and n + 4 + g for listed words of group g that the vocabulary lacks.
    """

    rows: tuple[ClassRows, ...]
    unknown: int
    """Index of the group to which ⊥ belongs; -1: ⊥ is an input of its own."""

    @property
    def groups(self) -> tuple[Group, ...]:
        """Return the groups as inputs of a mechanism."""
        related: dict[str, set[int]] = {}
        for group in self.rows:
            related.setdefault(group.name, set()).update(group.outputs)
        return tuple(
            Group(group.rows, group.outputs, tuple(sorted(related[group.name])))
            for group in self.rows
        )

    @property
    def sizes(self) -> tuple[WordGroup, ...]:
        """Return the class and the number of words of each group."""
        return tuple(WordGroup(group.name, len(group.rows)) for group in self.rows)

    @property
    def classes(self) -> tuple[str | None, ...]:
        """Return the class of each kind: groups, numbers, contacts, other strings, other words."""
        names = [group.name for group in self.rows]
        return (*names, NUMBERS, CONTACTS, NUMBERS, None)

    @property
    def other(self) -> int:
        """Return the kind of words of no group."""
        return len(self.rows) + 3

    def kinds(self, n: int) -> NDArray[np.int64]:
        """Return the kind of each code, shape (n + 4 + groups,)."""
        many = len(self.rows)
        out = np.full(n + 4 + many, self.other, dtype=np.int64)
        for index, group in enumerate(self.rows):
            out[list(group.rows)] = index
        if self.unknown >= 0:
            out[n] = self.unknown
        out[n + 1 : n + 4] = many + np.arange(3)
        out[n + 4 :] = np.arange(many)
        return out

    def frequencies(self, space: MetricSpace) -> dict[int, float]:
        """Return the public frequency of each group."""
        found = (space.frequencies[list(group.rows)].sum() for group in self.rows)
        return dict(enumerate(map(float, found)))

    def expected_share(
        self,
        sampler: Sampler,
        space: MetricSpace,
        by_kind: Mapping[int, float],
        unchanged: float = 0.0,
    ) -> float:
        """Return the expected share of unchanged words among some.

        Each kind of words counts as often as it occurs; in it, public frequencies count.

        Args:
            by_kind: words of each kind.
            unchanged: expected number of unchanged strings among them.
        """
        kinds = self.kinds(space.n)[: space.n]
        for kind, words in by_kind.items():
            unchanged += words * expected_share_of(sampler, space, kinds == kind)
        return unchanged / sum(by_kind.values())


class Codes:
    """Inputs and kinds of the codes of :class:`Grouping`.

    Args:
        n: words of the vocabulary.
        grouping: groups of words; None without classes.
    """

    def __init__(self, n: int, grouping: Grouping | None) -> None:
        first = [] if grouping is None else [group.rows[0] for group in grouping.rows]
        self.inputs = np.append(np.minimum(np.arange(n + 4), n), np.array(first, dtype=np.int64))
        """The mechanism's input of each code: a row number, or n for ⊥."""
        self._kinds = None if grouping is None else grouping.kinds(n)
        self.number = n + 1
        """The code of numbers that are drawn by form: the mechanism takes them for ⊥."""

    def by_kind(self, codes: Ids) -> Counter[int]:
        """Return the number of drawn words of each kind; empty without groups."""
        if self._kinds is None:
            return Counter()
        return Counter(dict(enumerate(np.bincount(self._kinds[codes]).tolist())))

    def formed(self, codes: Ids) -> Ids:
        """Return the indices of the strings that are drawn by their form."""
        return np.flatnonzero((codes >= self.number) & (codes < self.number + 3))


def grouping(spec: RunSpec, rows: Mapping[str, int]) -> Grouping:
    """Return the groups of a request.

    Args:
        rows: row number of each word of the vocabulary.

    Raises:
        UsageError: classes that the vocabulary cannot have.
    """
    return Grouping(class_rows(spec.classes, rows), -1)


def number_epsilon(spec: RunSpec, guarantee: Guarantee, rules: ClassRules | None) -> float | None:
    """Return the LDP epsilon between two numbers of one form: 0 where they are drawn uniformly.

    None if numbers are drawn as words.
    """
    if spec.numbers == NumberPolicy.VALUE:
        return guarantee.epsilon_ldp
    return 0.0 if rules is not None and rules.numbers else None


def class_rules(spec: RunSpec, groups: Grouping | None, rows: Mapping[str, int]) -> ClassRules:
    """Return which words and strings are drawn.

    Args:
        groups: None where strings are drawn by their kind and words have no classes.
        rows: row number of each word of the vocabulary.
    """
    n = len(rows)
    chosen = {word_class.name for word_class in spec.classes}
    # Contacts never pass: a vocabulary has none of them.
    contacts = spec.strings == StringPolicy.KIND or CONTACTS in chosen
    numbers = spec.numbers == NumberPolicy.VALUE or NUMBERS in chosen
    lacking = {
        folded(word): n + 4 + index
        for index, group in reversed([*enumerate(() if groups is None else groups.rows)])
        for word in group.lacking  # a word has the first class
    }
    return ClassRules(contacts, numbers, n + 2, lacking)
