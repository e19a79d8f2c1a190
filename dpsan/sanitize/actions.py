"""The action on each word, by the code that the look-up gave it."""

from __future__ import annotations

from typing import Final

import numpy as np

from dpsan.embeddings.class_lists import FORMED
from dpsan.sanitize.result import ACTIONS, Action
from dpsan.text.batch import Ids
from dpsan.text.lookup import KEPT, MASKED, OUTSIDE

_ACTIONS: Final = {KEPT: Action.KEPT, MASKED: Action.MASKED, OUTSIDE: Action.OUTSIDE}
_INDICES: Final = np.array([ACTIONS.index(_ACTIONS[code]) for code in sorted(_ACTIONS)])
"""Index in ACTIONS of each negative code, indexed by the code."""
_DRAWN, _UNKNOWN, _NUMBER, _STRING = map(
    ACTIONS.index, (Action.DRAWN, Action.UNKNOWN, Action.NUMBER, Action.STRING)
)


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
