"""Words read back per class, beside the floor: what the context and the class alone give away.

The floor is the same attack by a reader who ignores which word of its class was drawn, as if the
epsilon within each class were 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dpsan.analysis.evaluate.attack import Attack, attacks
from dpsan.analysis.evaluate.pairs import Pairs
from dpsan.analysis.evaluate.vocabulary import OTHER, Vocabulary
from dpsan.outcomes.distributions import Progress
from dpsan.outcomes.intervals import Share
from dpsan.outcomes.language.ngrams import Ngrams
from dpsan.sanitize.classes import ByClass, class_codes
from dpsan.space.metric_space import MetricSpace
from dpsan.text.made_up import recognized


@dataclass(frozen=True)
class ClassShares:
    """Shares of the words of one class."""

    name: str
    unchanged: Share
    read: Share
    """Words read back by the best attack that knows no word of the text."""
    floor: Share
    """The same without the drawn words of classes."""

    def as_json(self) -> dict[str, Any]:
        """Return JSON values."""
        shares = {"unchanged": self.unchanged, "read_back": self.read, "floor": self.floor}
        return {"class": self.name, **{name: each.as_json() for name, each in shares.items()}}


def without_words(mechanism: ByClass) -> ByClass:
    """Return the mechanism with epsilon 0 within each class."""
    return replace(mechanism, parts=tuple(each._replace(epsilon=0.0) for each in mechanism.parts))


def by_class(
    pairs: Pairs,
    vocabulary: Vocabulary,
    space: MetricSpace,
    mechanism: ByClass,
    model: Ngrams | None,
    found: Sequence[Attack],
    progress: Progress = lambda _: None,
) -> tuple[ClassShares, ...]:
    """Return the shares of each class that the text has.

    Args:
        found: the attacks of readers who use the drawn words too.
    """
    floor = attacks(pairs, vocabulary, space, without_words(mechanism), model, progress).attacks
    key = "context" if model is not None else "one-word"
    best = {each.key: each.right for each in found}
    least = {each.key: each.right for each in floor}
    codes = class_codes(mechanism, space.n)
    # An output that is no word was not drawn in a class: it passed, or is a made-up string.
    kinds = np.where(pairs.noisings[0] == OTHER, -1, codes.kind[pairs.inputs])
    for at in np.flatnonzero((pairs.inputs == space.n) & (kinds >= 0)).tolist():
        start, end = pairs.spans[at]
        if recognized(pairs.original[pairs.text[at]][start:end]) is not None:
            kinds[at] = -1  # as 7th is, which is a word too
    out = []
    for name in dict.fromkeys(name for name, _ in codes.kinds if name is not None):
        numbers = [at for at, (other, _) in enumerate(codes.kinds) if other == name]
        of = np.isin(kinds, numbers)
        if of.any():
            size = int(of.sum())
            shares = (pairs.same, best[key], least[key])
            out.append(ClassShares(name, *(Share(int(each[of].sum()), size) for each in shares)))
    return tuple(out)
