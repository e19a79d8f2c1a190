"""Groups of words that are read as one input, and the near set that all words of a group share.

The row of a group is public.  It is filled from inside out: outputs of the group get up to
e^epsilon times their base weight, then those of its class, then all, until the near set has the
mass of every other one.  So all ratios of the table stay within e^epsilon, and two words of a group
have the same distribution: docs/proofs.md 4.7.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from dpsan.mechanisms.tables.near_sets import Base
from dpsan.space.arrays import Ids


class Group(NamedTuple):
    """Words that are read as one input; row numbers, ascending."""

    rows: tuple[int, ...]
    outputs: tuple[int, ...]
    """Outputs of the group, all among ``rows``."""
    related: tuple[int, ...]
    """Outputs of the class of the group, those of the group among them."""


def with_floor(base: Base, groups: tuple[Group, ...], n: int) -> Base:
    """Return a base in which the outputs of each class have the mass of a near set or more.

    Then the near set of a group never leaves its class.  Any public base gives the guarantee.

    Args:
        n: words of the vocabulary.
    """
    weights = np.zeros(n, dtype=np.int64)
    weights[base.words] = base.weights
    for outputs in dict.fromkeys(group.related for group in groups):
        at = np.array(outputs)
        lacking = base.mass - int(weights[at].sum())
        weights[at] += max(0, -(-lacking // len(at)))
    words = np.flatnonzero(weights).astype(np.int32)
    return Base(words, weights[words], base.mass)


def near_set(group: Group, base: Base, n: int) -> dict[str, Any]:
    """Return the near set of a group, in the form of ``near_sets.fill``: mass 0 ... b_u each.

    A ring that has more than the missing mass gives each output its share of it, rounded down; what
    is missing then goes to the outputs of largest weight.

    Args:
        base: one that :func:`with_floor` returned.
    """
    left = np.zeros(n, dtype=np.int64)
    left[base.words] = base.weights
    masses = np.zeros(n, dtype=np.int64)
    missing = base.mass
    for ring in (np.array(group.outputs), np.array(group.related), base.words):
        total = int(left[ring].sum())
        given = left[ring].copy() if total <= missing else left[ring] * missing // total
        order = np.argsort(given - left[ring], kind="stable")  # most weight left first
        short = min(missing, total) - int(given.sum())
        given[order[:short]] += 1
        masses[ring] += given
        left[ring] -= given
        missing -= int(given.sum())
    words = np.flatnonzero(masses)
    return {
        "sizes": np.array([len(words)], dtype=np.int32),
        "words": words.astype(np.int32),
        "ends": np.cumsum(masses[words]).astype(np.int32),
    }


def words_in_groups(groups: tuple[Group, ...]) -> Ids:
    """Return the row numbers of the words of all groups."""
    return np.array([row for group in groups for row in group.rows], dtype=np.int64)
