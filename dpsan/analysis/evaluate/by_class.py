"""Words read back per class: by what the group of each and the words around it give away.

Which word of its group was drawn says nothing, as all words of a group are one input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpsan.analysis.evaluate.attack import Attack
from dpsan.analysis.evaluate.pairs import Pairs
from dpsan.analysis.evaluate.vocabulary import OTHER
from dpsan.only.alone import alone
from dpsan.outcomes.intervals import Share
from dpsan.outcomes.language.ngrams import Ngrams
from dpsan.sanitize.classes import Grouping


@dataclass(frozen=True)
class ClassShares:
    """Shares of the words of one class."""

    name: str
    unchanged: Share
    read: Share
    """Words read back by the best attack that knows no word of the text."""

    def as_json(self) -> dict[str, Any]:
        """Return JSON values."""
        shares = {"unchanged": self.unchanged, "read_back": self.read}
        return {"class": self.name, **{name: each.as_json() for name, each in shares.items()}}


def by_class(
    pairs: Pairs,
    n: int,
    grouping: Grouping,
    model: Ngrams | None,
    made: Sequence[Attack],
) -> tuple[ClassShares, ...]:
    """Return the shares of each class that the text has.

    Args:
        n: words of the vocabulary.
        grouping: groups of words of the run.
        made: the attacks on the text.
    """
    key = "context" if model is not None else "one-word"
    read = {attack.key: attack.right for attack in made}[key]
    names = grouping.classes
    # An output that is no word was not drawn in a class: it passed, or is a made-up string.
    kinds = np.where(pairs.noisings[0] == OTHER, -1, grouping.kinds(n)[pairs.inputs])
    for at in np.flatnonzero((pairs.inputs == n) & (kinds >= 0)).tolist():
        start, end = pairs.spans[at]
        if alone().kind(pairs.original[pairs.text[at]][start:end]) is not None:
            kinds[at] = -1  # as 7th is, which is a word too
    out = []
    for name in dict.fromkeys(filter(None, names)):
        of = np.isin(kinds, [kind for kind, other in enumerate(names) if other == name])
        if of.any():
            size = int(of.sum())
            shares = (Share(int(right[of].sum()), size) for right in (pairs.same, read))
            out.append(ClassShares(name, *shares))
    return tuple(out)
