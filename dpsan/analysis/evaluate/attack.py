"""The attacks on a sanitized text, from reading it to reading it with a model of the language.

Knows aligned words, the mechanism and a public text.  Must not know files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from dpsan.analysis.evaluate.context import BEST, decode
from dpsan.analysis.evaluate.language import learn
from dpsan.analysis.evaluate.pairs import Pairs
from dpsan.analysis.evaluate.vocabulary import OTHER, Vocabulary, WordClass
from dpsan.mechanisms.base import Mechanism
from dpsan.outcomes.emissions import Emissions
from dpsan.outcomes.intervals import Share
from dpsan.outcomes.likeliest import Likeliest
from dpsan.space.metric_space import MetricSpace

__all__ = ["Attack", "Attacks", "attacks"]

_IMPOSSIBLE: Final = -600.0
"""ln of a likelihood that only an output outside the law's support can have."""


@dataclass(frozen=True)
class Attack:
    """One way of reading, and how often it is right."""

    key: str
    """``verbatim``, ``one-word`` or ``context``."""
    name: str
    right: NDArray[np.bool_] = field(repr=False)
    """Whether each word was read right but for case, (m,)."""
    shares: dict[WordClass, Share]

    def as_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "attack": self.key,
            "name": self.name,
            "success": {str(kind): share.as_json() for kind, share in self.shares.items()},
        }


@dataclass(frozen=True)
class Attacks:
    """All attacks that could be made."""

    attacks: tuple[Attack, ...]
    public_words: int = 0
    impossible: int = 0


def attacks(
    pairs: Pairs,
    vocabulary: Vocabulary,
    space: MetricSpace,
    mechanism: Mechanism | None,
    public: Iterable[str] | None,
    progress: Callable[[float], None] = lambda _: None,
) -> Attacks:
    """Attack the output words.

    A guess is right if it is the original word but for case.  An unknown word is never guessed,
    unless it was passed through.  Of the readers of one word, who differ in how frequent they hold
    words to be, the one is given who is right more often.

    Args:
        pairs: outputs to attack, and inputs to compare the guesses with.
        vocabulary: public words and frequencies.
        space: of the same words.
        mechanism: resolved; None makes ``verbatim`` the only attack.
        public: lines of public text; None leaves out ``context``.
        progress: called with the share done.
    """
    verbatim = _attack(pairs, "verbatim", "the output itself", pairs.same)
    if mechanism is None:
        return Attacks((verbatim,))
    model = None if public is None else learn(public, vocabulary)
    progress(0.2)
    # A reader may hold either prior: which one fits the text better is not known beforehand.
    own = "vocabulary counts" if vocabulary.counted else "vocabulary ranks"
    priors = {} if model is None else {"public text": model.log_unigram[: space.n]}
    priors[own] = np.log(vocabulary.frequencies)
    emissions = Emissions(mechanism, space)
    seen = np.unique(pairs.outputs[pairs.outputs >= 0])
    if not len(seen):
        return Attacks((verbatim,), 0 if model is None else model.words)
    found = emissions.candidates(
        seen,
        list(priors.values()),
        1 if model is None else BEST,
        lambda share: progress(0.2 + 0.3 * share),
    )
    readable = pairs.outputs >= 0
    places = np.searchsorted(seen, pairs.outputs[readable])
    readers = []
    for name, each in zip(priors, found, strict=True):
        guesses = np.full(len(pairs.outputs), -1, dtype=np.int64)
        guesses[readable] = each.guesses()[places]
        right = _right(pairs, vocabulary, guesses)
        readers.append(_attack(pairs, "one-word", f"{emissions.name}; prior: {name}", right))
    made = [verbatim, max(readers, key=lambda each: int(each.right.sum()))]
    if model is not None:
        guesses = decode(
            pairs.text,
            pairs.outputs,
            emissions,
            found[0],
            model,
            lambda share: progress(0.5 + 0.5 * share),
        )
        name = "bigrams of public text, all outputs of the line: a lower bound"
        made.append(_attack(pairs, "context", name, _right(pairs, vocabulary, guesses)))
    impossible = _impossible(pairs, found[0], next(iter(priors.values())))
    return Attacks(tuple(made), 0 if model is None else model.words, impossible)


def _right(pairs: Pairs, vocabulary: Vocabulary, guesses: NDArray[np.int64]) -> NDArray[np.bool_]:
    fold = np.append(vocabulary.fold, -1)  # the last entry serves inputs that are unknown
    right = (guesses >= 0) & (pairs.inputs < vocabulary.n)
    right &= fold[guesses] == fold[np.minimum(pairs.inputs, vocabulary.n)]
    # What is no word of the vocabulary was passed through, and is read as it stands.
    return np.where(pairs.outputs == OTHER, pairs.same, right)


def _impossible(pairs: Pairs, candidates: Likeliest, log_prior: NDArray[np.float64]) -> int:
    likelihood = candidates.scores[:, 0] - log_prior[candidates.inputs[:, 0]]
    never = candidates.outputs[likelihood < _IMPOSSIBLE]
    return int(np.isin(pairs.outputs, never).sum())


def _attack(pairs: Pairs, key: str, name: str, right: NDArray[np.bool_]) -> Attack:
    shares = {}
    for kind in WordClass:
        of = pairs.of(kind)
        shares[kind] = Share(int(right[of].sum()), int(of.sum()))
    return Attack(key, name, right, shares)
