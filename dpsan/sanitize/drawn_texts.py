"""Texts whose words are drawn, between the draw and the writing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpsan.embeddings.class_lists import FORMED
from dpsan.sanitize.result import ACTIONS, Action, Forms
from dpsan.text.batch import Batch, Ids
from dpsan.text.letter_case import REACH, agree
from dpsan.text.lookup import KEPT, MASKED, OUTSIDE

_ACTIONS: Final = {KEPT: Action.KEPT, MASKED: Action.MASKED, OUTSIDE: Action.OUTSIDE}
_INDICES: Final = np.array([ACTIONS.index(_ACTIONS[code]) for code in sorted(_ACTIONS)])
"""Index in ACTIONS of each negative code, indexed by the code."""
_DRAWN, _UNKNOWN, _NUMBER, _STRING = map(
    ACTIONS.index, (Action.DRAWN, Action.UNKNOWN, Action.NUMBER, Action.STRING)
)


@dataclass(frozen=True, slots=True)
class DrawnTexts:
    """Texts whose words are drawn, and not yet written into their positions."""

    batch: Batch
    rows: Ids
    """The row number of each drawn word, negative where nothing was drawn."""
    outputs: list[str]
    """The string that is written for each word."""
    drawn: list[int]
    charged: list[int]
    by_kind: Counter[int]
    forms: Forms
    """``drawn``, ``charged`` and these: see :class:`dpsan.sanitize.result.Sanitized`."""
    first: NDArray[np.bool_] | None
    """True for the first of equal words, where equal words share a draw."""
    marks: NDArray[np.uint64] | None
    public: int
    public_marks: NDArray[np.uint64] | None
    """``marks``, ``public`` and this: see :class:`dpsan.sanitize.result.Sanitized`."""
    decoded: Ids | None = None
    """The row number of each output where the drawn words were decoded, negative as ``rows``."""
    several: Ids | None = None
    """Indices of decoded outputs that are several words."""


class Outputs(NamedTuple):
    """The words of some texts as they are written."""

    rows: Ids
    """Rows of the drawn words; elsewhere negative.  Shape (m,)."""
    strings: list[str]
    """All words."""


class Decoded(NamedTuple):
    """Words of some texts after decoding."""

    rows: Ids
    """As those of :class:`Outputs`."""
    strings: list[str]
    several: Ids
    """Indices of outputs that are several words."""


def decoded(one: DrawnTexts, found: Decoded) -> DrawnTexts:
    """Return texts with what was decoded in place of their outputs."""
    return replace(one, outputs=found.strings, decoded=found.rows, several=found.several)


def articles(one: DrawnTexts, drawn: Sequence[int], *, passing: bool) -> Ids:
    """Return the positions of words that may be articles.

    Args:
        drawn: rows of the drawn ones.
        passing: whether those that pass count too.
    """
    rows = one.rows if one.decoded is None else one.decoded
    found = [np.flatnonzero(rows == row) for row in drawn]
    if passing:
        found.append(np.flatnonzero(one.batch.codes == OUTSIDE))
    return np.concatenate([*found, np.zeros(0, dtype=np.int64)])


def agree_within(one: DrawnTexts, at: Ids) -> None:
    """Let the articles at some positions agree with the words after them."""
    codes = one.batch.codes
    agree(one.outputs, one.batch.gaps, (codes >= 0) | (codes == MASKED), at.tolist())


def agree_across(one: DrawnTexts, other: DrawnTexts, at: tuple[Ids, Ids]) -> None:
    """Let the articles beside the seam of two segments agree with the words after them.

    Args:
        at: their positions in both.
    """
    size = min(REACH, len(one.outputs))
    outputs = [*one.outputs[-REACH:], *other.outputs[:REACH]]
    gaps = [*one.batch.gaps[-1 - size : -1], *other.batch.gaps[: REACH + 1]]
    codes = np.concatenate([one.batch.codes[-REACH:], other.batch.codes[:REACH]])
    before, after = at[0] - len(one.outputs) + size, at[1] + size
    near = [*before[before > 0].tolist(), *after[after < size + REACH // 2].tolist()]
    agree(outputs, gaps, (codes >= 0) | (codes == MASKED), near)
    one.outputs[len(one.outputs) - size :], other.outputs[:REACH] = outputs[:size], outputs[size:]


def sums_of_runs(values: NDArray[Any], sizes: Ids) -> Ids:
    """Sums of consecutive runs of values, of these sizes."""
    total = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    ends = np.cumsum(sizes)
    return np.asarray(total[ends] - total[ends - sizes], dtype=np.int64)


def actions_of(codes: Ids, n: int) -> Ids:
    """Return the action on each word, as indices of ACTIONS.

    Args:
        n: words of the vocabulary; codes from n on are those of
            :class:`dpsan.sanitize.classes.Grouping`.
    """
    which = [codes < n, (codes == n) | (codes > n + FORMED), codes == n + 1]
    kinds = np.select(which, [_DRAWN, _UNKNOWN, _NUMBER], _STRING)
    return np.asarray(np.where(codes >= 0, kinds, _INDICES[np.minimum(codes, -1)]), dtype=np.int64)


def counts_of(actions: Ids) -> dict[Action, int]:
    """Return the number of words of each action."""
    return dict(zip(Action, np.bincount(actions, minlength=len(Action)).tolist(), strict=True))
